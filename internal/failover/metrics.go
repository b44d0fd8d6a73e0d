package failover

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type metrics struct {
	failover *prometheus.CounterVec
	detect   *prometheus.CounterVec
	election prometheus.Histogram
}

func newMetrics(reg prometheus.Registerer) *metrics {
	auto := promauto.With(reg)
	return &metrics{
		failover: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_failover_hints_total",
			Help: "Rounds of the guard after the connection to another server ended, by result: acted is an election that this server began.",
		}, []string{"result"}),
		detect: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_detect_hints_total",
			Help: "Hints that an agent died, by what this server and the others found.",
		}, []string{"verdict"}),
		election: auto.NewHistogram(prometheus.HistogramOpts{
			Name: "muster_failover_duration_seconds", Buckets: prometheus.ExponentialBuckets(0.002, 2, 12), // up to 4 s
			Help: "Time from the end of the connection to the leader until another leader was known.",
		}),
	}
}
