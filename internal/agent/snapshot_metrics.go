package agent

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// snapshotMetrics are about the archives that operators save and restore. Those that
// Raft takes for itself are counted in consensus.
type snapshotMetrics struct {
	seconds *prometheus.HistogramVec
	failed  *prometheus.CounterVec
	bytes   *prometheus.CounterVec
	last    *prometheus.GaugeVec
}

func newSnapshotMetrics(reg prometheus.Registerer) *snapshotMetrics {
	auto := promauto.With(reg)
	kind := []string{"kind"} // save or restore
	return &snapshotMetrics{
		seconds: auto.NewHistogramVec(prometheus.HistogramOpts{
			Name: "muster_snapshot_seconds", Buckets: prometheus.ExponentialBuckets(5e-3, 2, 15), // up to 82 s
			Help: "Time to save or restore an archive of the state, its check included.",
		}, kind),
		failed: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_snapshot_failures_total",
			Help: "Archives that could not be saved or restored.",
		}, kind),
		bytes: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_snapshot_bytes_total",
			Help: "Size of the archives saved and of the states restored.",
		}, kind),
		last: auto.NewGaugeVec(prometheus.GaugeOpts{
			Name: "muster_snapshot_last_timestamp_seconds",
			Help: "When an archive was last saved or restored through this server, in Unix time.",
		}, kind),
	}
}

func (m *snapshotMetrics) save(start time.Time, err error)    { m.done("save", start, err) }
func (m *snapshotMetrics) restore(start time.Time, err error) { m.done("restore", start, err) }

func (m *snapshotMetrics) done(kind string, start time.Time, err error) {
	if err != nil {
		m.failed.WithLabelValues(kind).Inc()
		return
	}
	m.seconds.WithLabelValues(kind).Observe(time.Since(start).Seconds())
	m.last.WithLabelValues(kind).SetToCurrentTime()
}
