package check

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	probes  *prometheus.CounterVec
	seconds prometheus.Histogram
	running prometheus.Gauge
	queued  prometheus.Gauge
	skipped prometheus.Counter
}

// newMetrics registers with r unless it is nil.
func newMetrics(r prometheus.Registerer) *metrics {
	m := &metrics{
		probes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_check_probes_total",
			Help: "Probes that ran, by kind of check and result.",
		}, []string{"kind", "status"}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "muster_check_probe_duration_seconds",
			Help:    "How long probes took.",
			Buckets: []float64{.001, .005, .02, .1, .5, 1, 5, 10, 30},
		}),
		running: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "muster_check_probes_running",
			Help: "Probes that run at the moment.",
		}),
		queued: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "muster_check_probes_queued",
			Help: "Probes that are due and wait because too many others run.",
		}),
		skipped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "muster_check_probes_skipped_total",
			Help: "Runs left out because the check's previous run had not ended.",
		}),
	}
	if r != nil {
		r.MustRegister(m.probes, m.seconds, m.running, m.queued, m.skipped)
	}
	return m
}

func (m *metrics) observe(kind, status string, took time.Duration) {
	m.probes.WithLabelValues(kind, status).Inc()
	m.seconds.Observe(took.Seconds())
}
