package consensus

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics are the log's figures. Seconds start at 50 µs: an fsync of a good disk
// takes 100 to 300.
type metrics struct {
	commit        prometheus.Histogram
	entryCommands prometheus.Histogram
	fsync         prometheus.Histogram
	appends       prometheus.Histogram
	appendBytes   prometheus.Counter
	applied       prometheus.Histogram
	failed        prometheus.Counter
	slowness      *slowness
	leader        prometheus.Gauge

	snapshot      prometheus.Histogram
	snapshotBytes prometheus.Gauge
	snapshotTime  prometheus.Gauge
}

func newMetrics(reg prometheus.Registerer) *metrics {
	auto := promauto.With(reg)
	seconds := prometheus.ExponentialBuckets(50e-6, 2, 18) // up to 6.5 s
	return &metrics{
		commit: auto.NewHistogram(prometheus.HistogramOpts{
			Name: "muster_raft_commit_seconds", Buckets: seconds,
			Help: "Time from a command's arrival at the leader to its result.",
		}),
		entryCommands: auto.NewHistogram(prometheus.HistogramOpts{
			Name: "muster_raft_entry_commands", Buckets: prometheus.ExponentialBuckets(1, 2, 12),
			Help: "Commands packed into one log entry.",
		}),
		fsync: auto.NewHistogram(prometheus.HistogramOpts{
			Name: "muster_raft_fsync_seconds", Buckets: seconds,
			Help: "Time of one fsync of the log.",
		}),
		appends: auto.NewHistogram(prometheus.HistogramOpts{
			Name: "muster_raft_append_seconds", Buckets: seconds,
			Help: "Time of one append to the log: write and fsync.",
		}),
		appendBytes: auto.NewCounter(prometheus.CounterOpts{
			Name: "muster_raft_append_bytes_total",
			Help: "Bytes that were appended to the log.",
		}),
		applied: auto.NewHistogram(prometheus.HistogramOpts{
			Name: "muster_raft_apply_seconds", Buckets: seconds,
			Help: "Time to apply one log entry to the state.",
		}),
		failed: auto.NewCounter(prometheus.CounterOpts{
			Name: "muster_raft_append_failures_total",
			Help: "Appends to the log that failed; a leader steps down after each.",
		}),
		leader: auto.NewGauge(prometheus.GaugeOpts{
			Name: "muster_raft_leader",
			Help: "Whether this server leads: 1 or 0.",
		}),
		snapshot: auto.NewHistogram(prometheus.HistogramOpts{
			Name: "muster_raft_snapshot_seconds", Buckets: prometheus.ExponentialBuckets(1e-3, 2, 16), // up to 33 s
			Help: "Time to write a snapshot of the state, behind which the log is cut.",
		}),
		snapshotBytes: auto.NewGauge(prometheus.GaugeOpts{
			Name: "muster_raft_snapshot_bytes",
			Help: "Size of the last snapshot that this process has written.",
		}),
		snapshotTime: auto.NewGauge(prometheus.GaugeOpts{
			Name: "muster_raft_last_snapshot_timestamp_seconds",
			Help: "When this process has written its last snapshot, in Unix time; 0: it has not yet.",
		}),
	}
}

// watchQueue exports how many commands wait for their entry.
func watchQueue(reg prometheus.Registerer, b *batcher) {
	promauto.With(reg).NewGaugeFunc(prometheus.GaugeOpts{
		Name: "muster_raft_queue_commands",
		Help: "Commands that wait to be packed into a log entry.",
	}, func() float64 { return float64(len(b.queue)) })
}

// watchDisk exports whether the log's disk is slow.
func (m *metrics) watchDisk(reg prometheus.Registerer, s *slowness) {
	m.slowness = s
	auto := promauto.With(reg)
	auto.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "muster_raft_slow_disk",
		Help: "Whether appends to the log are so slow that a leader may be lost: 1 or 0.",
	}, func() float64 { return boolGauge(s.slow(time.Now())) })
	auto.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "muster_raft_append_p99_seconds",
		Help: "What one in a hundred appends of the last 30 s took at least, with the one under way.",
	}, func() float64 { return s.p99(time.Now()).Seconds() })
}

func (m *metrics) appendFailed(error) { m.failed.Inc() }

// appending and appended are told by the log store; they don't overlap.
func (m *metrics) appending(bytes int) {
	m.appendBytes.Add(float64(bytes))
	m.slowness.begin(time.Now())
}

func (m *metrics) appended(synced time.Duration) {
	m.appends.Observe(m.slowness.end(time.Now()).Seconds())
	if synced >= 0 {
		m.fsync.Observe(synced.Seconds())
	}
}

func (m *metrics) snapshotted(bytes int64, start time.Time) {
	m.snapshot.Observe(time.Since(start).Seconds())
	m.snapshotBytes.Set(float64(bytes))
	m.snapshotTime.SetToCurrentTime()
}
