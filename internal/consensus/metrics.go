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
	leader        prometheus.Gauge
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
		leader: auto.NewGauge(prometheus.GaugeOpts{
			Name: "muster_raft_leader",
			Help: "Whether this server leads: 1 or 0.",
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

func (m *metrics) synced(took time.Duration) { m.fsync.Observe(took.Seconds()) }
