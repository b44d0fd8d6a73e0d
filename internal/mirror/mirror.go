package mirror

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/muster-discovery/muster/internal/discovery"
	"github.com/muster-discovery/muster/internal/model"
)

// Config is what a Mirror needs; zero durations stand for the defaults.
type Config struct {
	// Watch begins to follow a query at a server, as discovery.Mux does.
	Watch func(q discovery.Query, onChange func(discovery.Update)) (Watch, error)
	// Connected reports whether a server tells of changes at the moment, and Heard when
	// one last did.
	Connected func() bool
	Heard     func() time.Time
	// Publish is told of each topic that changed, after Items shows it.
	Publish func(topics []model.Topic)
	// Idle is how long a topic is kept current that nobody asks for. It must be
	// longer than the longest blocking query, which asks once.
	Idle time.Duration
	// First bounds the wait for a topic's first content.
	First    time.Duration
	Registry prometheus.Registerer
}

// Watch is one followed query.
type Watch interface{ Close() }

// DefaultConfig outlasts blocking queries of ten minutes. A server on the same LAN
// sends a first content within a few milliseconds.
func DefaultConfig() Config {
	return Config{Idle: 15 * time.Minute, First: time.Second}
}

// Mirror is a view.Source of instance topics. Its methods may be called from any
// goroutine.
type Mirror struct {
	cfg     Config
	metrics *metrics

	mu     sync.RWMutex
	topics map[model.Topic]*topic
}

// topic is one followed topic.
type topic struct {
	watch Watch         // guarded by Mirror.mu
	used  atomic.Int64  // unix nanoseconds of the last question
	first chan struct{} // closed by the first update, also one that refuses
	once  sync.Once
	state atomic.Pointer[state]
}

// state is a topic's content; nil until a server has sent one.
type state struct {
	items []any
	index uint64
}

// New makes a Mirror that follows nothing yet.
func New(c Config) (*Mirror, error) {
	d := DefaultConfig()
	if c.Idle <= 0 {
		c.Idle = d.Idle
	}
	if c.First <= 0 {
		c.First = d.First
	}
	m := &Mirror{cfg: c, topics: make(map[model.Topic]*topic)}
	var err error
	m.metrics, err = newMetrics(c.Registry, m)
	return m, err
}

// Items implements view.Source. A topic that is not followed is empty.
func (m *Mirror) Items(t model.Topic) ([]any, uint64) {
	if s := m.state(t); s != nil {
		return s.items, s.index
	}
	return nil, 0
}

func (m *Mirror) state(t model.Topic) *state {
	m.mu.RLock()
	f := m.topics[t]
	m.mu.RUnlock()
	if f == nil {
		return nil
	}
	return f.state.Load()
}

// Follow keeps a topic current from now on and reports whether its content is there;
// it waits for the first one until ctx ends, at most Config.First, and not at all
// while no server is connected. The topic's name is not kept.
func (m *Mirror) Follow(ctx context.Context, t model.Topic) bool {
	if t.Kind != model.TopicService && t.Kind != model.TopicConnect {
		return false
	}
	m.mu.RLock()
	f := m.topics[t]
	m.mu.RUnlock()
	if f == nil {
		if f = m.open(t); f == nil {
			return false
		}
	}
	f.used.Store(time.Now().UnixNano())
	if f.state.Load() == nil && (!m.cfg.Connected() || !f.await(ctx, m.cfg.First)) {
		m.metrics.misses.Inc()
		return false
	}
	m.metrics.hits.Inc()
	return true
}

// await reports whether the first content has come.
func (f *topic) await(ctx context.Context, limit time.Duration) bool {
	if ctx.Err() != nil {
		return false
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-f.first:
	case <-timer.C:
	case <-ctx.Done():
	}
	return f.state.Load() != nil
}

// Age tells how old the content of a topic may be, and whether servers answer. While
// the stream lives that is nothing: a change would have been told.
func (m *Mirror) Age(model.Topic) (age time.Duration, known bool) {
	if m.cfg.Connected() {
		return 0, true
	}
	heard := m.cfg.Heard()
	if heard.IsZero() {
		return 0, false
	}
	return time.Since(heard), false
}

// open begins to follow a topic; nil if there are too many.
func (m *Mirror) open(t model.Topic) *topic {
	t = model.NewTopic(t.Kind, string([]byte(t.Name))) // the name may live in a caller's buffer
	m.mu.Lock()
	defer m.mu.Unlock()
	if f := m.topics[t]; f != nil {
		return f
	}
	f := &topic{first: make(chan struct{})}
	f.used.Store(time.Now().UnixNano())
	w, err := m.cfg.Watch(
		discovery.Query{Service: t.Name, Connect: t.Kind == model.TopicConnect, Stale: true},
		func(u discovery.Update) { m.update(t, f, u) })
	if err != nil {
		m.metrics.refused.Inc()
		return nil
	}
	f.watch = w
	m.topics[t] = f
	return f
}

func (m *Mirror) update(t model.Topic, f *topic, u discovery.Update) {
	if u.Err == nil {
		items := make([]any, len(u.Instances))
		for i, v := range u.Instances {
			items[i] = v
		}
		f.state.Store(&state{items: items, index: u.Index})
		m.cfg.Publish([]model.Topic{t})
	}
	f.once.Do(func() { close(f.first) })
}

// Run stops following what nobody asks for, until ctx ends.
func (m *Mirror) Run(ctx context.Context) error {
	defer m.metrics.Unregister()
	tick := time.NewTicker(m.cfg.Idle / 4)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			m.expire(time.Now().Add(-m.cfg.Idle).UnixNano())
		case <-ctx.Done():
			return nil
		}
	}
}

func (m *Mirror) expire(before int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for t, f := range m.topics {
		if f.used.Load() < before {
			f.watch.Close()
			delete(m.topics, t)
		}
	}
}

// followed is how many topics are kept current.
func (m *Mirror) followed() int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return len(m.topics)
}
