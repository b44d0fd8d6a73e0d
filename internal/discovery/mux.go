package discovery

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"

	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/retry"
)

// Query says what a watch asks for.
type Query struct {
	Service    string
	Connect    bool     // the instances that speak the mesh's protocol for the service
	Passing    bool     // only instances whose checks all pass
	Tags       []string // only instances with all of them
	Filter     string   // only instances that the expression accepts
	Datacenter string   // empty: the server's
	// Stale accepts the state of any server as it is. Otherwise a server that is not
	// the leader asks that first whether its own is current.
	Stale bool
}

// Update is the state of a watch after a change.
type Update struct {
	// Instances are all that the query asks for, by node and id. The list and what
	// it holds are shared and must not be modified. An instance that did not change
	// keeps its address over any number of updates and reconnections with resumption.
	Instances []*model.Instance
	// Index is the server's for the list. It rises with every update but one that
	// follows a reset, and may stay the same with that.
	Index uint64
	// Err, if not nil, says that the server refused the watch (denied, invalid
	// filter, not ready); Instances and Index are then those of the last update. The
	// watch goes on trying, with growing pauses.
	Err error
}

// Config is what a Mux needs. Dial is necessary; zero values stand for the defaults.
type Config struct {
	// Dial returns a connection to a server. It is called for every attempt, so that
	// each may go to another server; after a stream broke it should not return the
	// same server if there are others. The Mux does not close what it returns.
	Dial func(ctx context.Context) (grpc.ClientConnInterface, error)

	Node  string        // of the caller, told to the server
	Agent string        // name and version of the caller's program
	Token func() string // the caller's secret, asked for each stream; nil: none

	// Heartbeat is how often the server shall say that it lives. A stream on which
	// nothing came for three times as long is given up.
	Heartbeat time.Duration
	// MinBackoff and MaxBackoff bound the pause between streams; half of it is random.
	MinBackoff, MaxBackoff time.Duration
	// MaxWatches and MaxInstances bound the watches at a time, and what one may hold.
	MaxWatches, MaxInstances int
	// ManualAcks leaves it to Watch.Ack to confirm indexes; otherwise an update is
	// confirmed once its callback has returned.
	ManualAcks bool

	Logger   *slog.Logger
	Registry prometheus.Registerer // nil: no metrics
}

// DefaultConfig notices a silent server after 15 s, which is longer than a busy one
// pauses, and comes back to a restarted one over up to 10 s, so that thousands of
// agents don't come at once.
func DefaultConfig() Config {
	return Config{
		Heartbeat: 5 * time.Second, MinBackoff: 100 * time.Millisecond, MaxBackoff: 10 * time.Second,
		MaxWatches: 16384, MaxInstances: 200_000,
	}
}

// Mux keeps watches up to date over one stream to one server at a time. What a watch
// knows outlives the stream: it is resumed at the next server from its index. All
// methods may be called from any goroutine.
type Mux struct {
	cfg     Config
	metrics *metrics
	heard   atomic.Int64  // unix nanoseconds, 0: never
	wake    chan struct{} // there is something to send; holds one signal

	mu      sync.Mutex
	last    uint64            // the last watch's number
	watches map[uint64]*Watch // open ones
	dirty   map[uint64]*Watch // those for which there may be something to send
	gone    []uint64          // closed ones that the stream's server still sends
	up      bool              // a server has answered on the stream
	server  string            // its node
}

// NewMux makes a Mux without watches. Run connects it.
func NewMux(c Config) (*Mux, error) {
	if c.Dial == nil {
		return nil, errors.New("discovery: no Dial")
	}
	d := DefaultConfig()
	for _, p := range []struct{ set, otherwise *time.Duration }{
		{&c.Heartbeat, &d.Heartbeat}, {&c.MinBackoff, &d.MinBackoff}, {&c.MaxBackoff, &d.MaxBackoff},
	} {
		if *p.set <= 0 {
			*p.set = *p.otherwise
		}
	}
	if c.MaxWatches <= 0 {
		c.MaxWatches = d.MaxWatches
	}
	if c.MaxInstances <= 0 {
		c.MaxInstances = d.MaxInstances
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	m := &Mux{cfg: c, wake: make(chan struct{}, 1), watches: make(map[uint64]*Watch), dirty: make(map[uint64]*Watch)}
	var err error
	m.metrics, err = newMetrics(c.Registry, m)
	return m, err
}

// Run keeps a stream open until ctx ends. It is called once. While no stream is
// open, watches keep what they have.
func (m *Mux) Run(ctx context.Context) error {
	defer m.metrics.Unregister()
	backoff := retry.Backoff{Min: m.cfg.MinBackoff, Max: m.cfg.MaxBackoff, Jitter: 0.5}
	troubled := false
	for {
		answered, err := m.stream(ctx)
		m.ended()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if answered {
			backoff.Reset()
			troubled = false
		}
		if !troubled { // trouble that goes on is told once
			m.cfg.Logger.Warn("no stream of changes; known instances stay as they are", "err", err)
			troubled = true
		}
		if !backoff.Wait(ctx) {
			return ctx.Err()
		}
	}
}

// Watch begins to follow a query. The callback gets every new state, the first one
// once the server has sent it, and errors. Calls for all watches come one after the
// other from Run, so they should be short and must not wait for the Mux; one that is
// under way when the watch is closed is not waited for. The error is of kind Limit
// if there are too many watches, or Invalid.
func (m *Mux) Watch(q Query, onChange func(Update)) (*Watch, error) {
	if q.Service == "" {
		return nil, model.Errorf(model.KindInvalid, "a watch needs a service")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.watches) >= m.cfg.MaxWatches {
		return nil, model.Errorf(model.KindLimit, "more than %d watches at a time", m.cfg.MaxWatches)
	}
	m.last++
	w := &Watch{mux: m, id: m.last, query: q, onChange: onChange}
	m.watches[w.id] = w
	m.signal(w)
	return w, nil
}

// Healthy reports whether a stream is open and every watch has what was current when
// it began on it, refused ones aside.
func (m *Mux) Healthy() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.up {
		return false
	}
	for _, w := range m.watches {
		if !w.current && w.refused == nil {
			return false
		}
	}
	return true
}

// LastHeard is when something last came from a server: the age of all that watches
// hold. The zero time if nothing ever did.
func (m *Mux) LastHeard() time.Time {
	if ns := m.heard.Load(); ns != 0 {
		return time.Unix(0, ns)
	}
	return time.Time{}
}

// Server is the node whose stream is open, empty if none is.
func (m *Mux) Server() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.server
}

// signal tells the sender that there is something to send for a watch, with the mutex
// held.
func (m *Mux) signal(w *Watch) {
	m.dirty[w.id] = w
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// ended forgets what belonged to the stream.
func (m *Mux) ended() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.up, m.server, m.gone = false, "", nil
	for _, w := range m.watches {
		w.leave()
		m.dirty[w.id] = w
	}
}
