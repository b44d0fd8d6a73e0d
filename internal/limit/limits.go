package limit

import (
	"log/slog"
	"net/netip"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Config are the settings of an agent's limits, under the names that they have in its
// files. Rates below 0 and numbers of 0 are no limit.
type Config struct {
	RPCRate             float64
	RPCMaxBurst         int
	Mode                Mode
	ReadRate, WriteRate float64
	HTTPMaxConns        int
	RPCMaxConns         int
}

// Limits are the limits of one agent.
type Limits struct {
	// RPC bounds what a client agent asks of servers.
	RPC *Rate
	// Reads and Writes bound what a server is asked.
	Reads, Writes *Rate
	// HTTPConns and RPCConns bound a client's connections to the public ports and to
	// the server port.
	HTTPConns, RPCConns *Conns
	// Snapshots is where streams wait for their first content.
	Snapshots *Gate
}

// New makes limits with their metrics. A nil logger or registry is none.
func New(c Config, logger *slog.Logger, reg prometheus.Registerer) *Limits {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	m := newMeters(logger, reg)
	l := &Limits{
		RPC: &Rate{meter: m.of("rpc_rate"), key: "limits.rpc_rate", text: "requests of this agent to the servers are more than",
			remedy: "ask less often"},
		Reads: &Rate{meter: m.of("read_rate"), key: "limits.request_limits.read_rate", text: "reads of this server are more than",
			remedy: "ask another server or later"},
		Writes: &Rate{meter: m.of("write_rate"), key: "limits.request_limits.write_rate", text: "writes to this server are more than",
			remedy: "try again later"},
		HTTPConns: newConns(m.of("http_max_conns_per_client"), "limits.http_max_conns_per_client"),
		RPCConns:  newConns(m.of("rpc_max_conns_per_client"), "limits.rpc_max_conns_per_client"),
		Snapshots: newGate(m.of("snapshots"), DefaultGateConfig(runtime.GOMAXPROCS(0)), reg),
	}
	l.Reload(c)
	return l
}

// Reload changes the limits. What is under way is not affected.
func (l *Limits) Reload(c Config) {
	l.RPC.set(Enforcing, c.RPCRate, c.RPCMaxBurst)
	l.Reads.set(c.Mode, c.ReadRate, 0)
	l.Writes.set(c.Mode, c.WriteRate, 0)
	l.HTTPConns.set(c.HTTPMaxConns)
	l.RPCConns.set(c.RPCMaxConns)
}

// NewGate makes a gate of its own, without metrics.
func NewGate(c GateConfig) *Gate {
	return newGate(newMeters(slog.New(slog.DiscardHandler), nil).of("gate"), c, nil)
}

type meters struct {
	refused, exceeded *prometheus.CounterVec
	log               *slog.Logger
}

func newMeters(logger *slog.Logger, reg prometheus.Registerer) *meters {
	auto := promauto.With(reg)
	return &meters{
		refused: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_limit_refused_total",
			Help: "Requests and connections that were refused, by the limit that they met.",
		}, []string{"limit"}),
		exceeded: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_limit_exceeded_total",
			Help: "Requests and connections over a limit, refused or, where its mode is permissive, let in.",
		}, []string{"limit"}),
		log: logger,
	}
}

// of makes a limit's series there from the start, so that their rise can be seen.
func (m *meters) of(limit string) *meter {
	return &meter{name: limit, refused: m.refused.WithLabelValues(limit), exceeded: m.exceeded.WithLabelValues(limit), log: m.log}
}

func newConns(m *meter, key string) *Conns {
	return &Conns{meter: m, key: key, open: map[netip.Addr]int{}}
}

func newGate(m *meter, c GateConfig, reg prometheus.Registerer) *Gate {
	g := &Gate{meter: m, cfg: c}
	auto := promauto.With(reg)
	waited := auto.NewHistogram(prometheus.HistogramOpts{
		Name: "muster_limit_snapshot_wait_seconds", Buckets: prometheus.ExponentialBuckets(1e-3, 4, 8), // up to 16 s
		Help: "Time that streams waited until their snapshot was begun.",
	})
	auto.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "muster_limit_snapshots_running",
		Help: "Snapshots that are sent to streams at the moment.",
	}, func() float64 { return float64(g.busy()) })
	auto.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "muster_limit_snapshots_waiting",
		Help: "Streams that wait for their snapshot.",
	}, func() float64 { return float64(g.len()) })
	g.waits = func(d time.Duration) { waited.Observe(d.Seconds()) }
	return g
}
