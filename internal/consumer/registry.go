package consumer

import (
	"crypto/rand"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/muster-discovery/muster/internal/model"
)

// Config bounds a registry. Zero fields stand for the defaults.
type Config struct {
	MaxStreams int
	// MaxWatches is how many watches one stream may have.
	MaxWatches int
	Registry   prometheus.Registerer // nil: no metrics
}

// DefaultConfig has room for the streams of a large cluster on one server; one takes
// some hundred bytes here and more at its edge.
func DefaultConfig() Config {
	return Config{MaxStreams: 65536, MaxWatches: 16384}
}

// Info is who opened a stream, as far as is known.
type Info struct {
	Protocol string // "sse" or "grpc"
	Address  string // remote
	Node     string
	Agent    string // user agent, or name and version
}

// Registry is the list of streams. Its methods may be called from any goroutine.
type Registry struct {
	config  Config
	metrics *metrics

	mu      sync.RWMutex
	streams map[string]*Stream
}

// New makes an empty registry.
func New(c Config) (*Registry, error) {
	d := DefaultConfig()
	if c.MaxStreams <= 0 {
		c.MaxStreams = d.MaxStreams
	}
	if c.MaxWatches <= 0 {
		c.MaxWatches = d.MaxWatches
	}
	r := &Registry{config: c, streams: make(map[string]*Stream)}
	var err error
	r.metrics, err = newMetrics(c.Registry)
	return r, err
}

// Open adds a stream under a new id. The caller closes it.
func (r *Registry) Open(i Info) (*Stream, error) {
	s := &Stream{
		registry: r, id: strings.ToLower(rand.Text()), info: i, since: time.Now(), watches: make(map[uint64]*Watch),
		counts: r.metrics.of(i.Protocol),
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.streams) >= r.config.MaxStreams {
		return nil, model.Errorf(model.KindLimit, "This agent serves %d streams already, the most it will: ask another, or watch several services on one stream", len(r.streams))
	}
	r.streams[s.id] = s
	s.counts.open.Inc()
	return s, nil
}

// Confirm notes what a consumer says it has: of the named service, or of all watches
// if that is empty. The error's kind is NotFound for a stream that is not here, and
// Invalid for what was never sent.
func (r *Registry) Confirm(stream, service string, index uint64) error {
	r.mu.RLock()
	s := r.streams[stream]
	r.mu.RUnlock()
	if s == nil {
		return model.Errorf(model.KindNotFound, "There is no stream %q on this agent: it has ended, or it is another agent's; "+
			"confirm at the agent that serves it, under the id of its X-Muster-Stream header", stream)
	}
	return s.confirmService(service, index)
}

// Entry is a stream as others see it.
type Entry struct {
	ID string
	Info
	Since   time.Time
	Watches []WatchEntry
}

// WatchEntry is a watch as others see it.
type WatchEntry struct {
	Topic     model.Topic
	Sent      uint64 // index of the last event
	Confirmed uint64
}

// Streams lists all streams by id, with those of their watches that are of the topic;
// streams without one are left out. A topic without a kind stands for all.
func (r *Registry) Streams(t model.Topic) []Entry {
	r.mu.RLock()
	streams := make([]*Stream, 0, len(r.streams))
	for _, s := range r.streams {
		streams = append(streams, s)
	}
	r.mu.RUnlock()
	var list []Entry
	for _, s := range streams {
		if e := s.entry(t); t.Kind == 0 || len(e.Watches) > 0 {
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b Entry) int { return strings.Compare(a.ID, b.ID) })
	return list
}
