package view

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/muster-discovery/muster/internal/model"
)

// Config holds a hub's bounds.
type Config struct {
	// MaxViews is how many topics are kept ready. Above it the ones not used lately
	// make room; only views that somebody waits on may exceed it.
	MaxViews int
	// Idle is how long a view and a variant's frame are kept without being asked
	// for, up to twice that.
	Idle time.Duration
}

// DefaultConfig has room for the services and nodes of a large cluster. An idle
// view costs its encoded fragments, so it does not stay for hours.
func DefaultConfig() Config {
	return Config{MaxViews: 32768, Idle: 5 * time.Minute}
}

// Hub holds the views of one source.
type Hub struct {
	source   Source
	config   Config
	views    *table
	prefixes *prefixes
	epoch    atomic.Uint64 // restores so far
	builds   atomic.Uint64
	progress progress

	mu   sync.Mutex // guards changes of views, and the fields below
	all  []*live
	hand int // where the search for a view to evict goes on
}

// NewHub makes a hub. Zero fields of the config stand for the defaults.
func NewHub(src Source, c Config) *Hub {
	d := DefaultConfig()
	if c.MaxViews <= 0 {
		c.MaxViews = d.MaxViews
	}
	if c.Idle <= 0 {
		c.Idle = d.Idle
	}
	h := &Hub{source: src, config: c, views: newTable(c.MaxViews / 2), prefixes: newPrefixes()}
	h.progress.end(h.progress.begin(src)) // there is nobody yet to be told of what is there
	return h
}

// Content returns the topic's content, with everything that was published before
// the call. The topic's name is not kept, so it may live in a buffer of the
// caller's. A topic without items gets no view, unless somebody waits for it.
func (h *Hub) Content(t model.Topic) *Content {
	if v := h.views.find(t); v != nil {
		v.markUsed()
		return v.current(h).content
	}
	return h.first(t)
}

// first looks before it adds, since most names without a view don't exist. What it
// found is thrown away then, see live.
func (h *Hub) first(t model.Topic) *Content {
	t.Name = strings.Clone(t.Name)
	epoch := h.epoch.Load()
	values, index := h.source.Items(t)
	if len(values) > 0 {
		if v := h.add(t, false); v != nil {
			return v.current(h).content
		}
	}
	items, _ := reuse(nil, values)
	return newContent(t, items, index, epoch)
}

// Refresh is Content that looks at the source even if nothing was published. It
// is for indexes that rise without a change, which wake nobody.
func (h *Hub) Refresh(t model.Topic) *Content {
	if v := h.views.find(t); v != nil {
		return v.refresh(h)
	}
	return h.first(t)
}

// Publish tells that the topics changed in the source; nil stands for all of them
// after a restore. A key stands for all its prefixes too. It marks views and leaves the
// work to others: its cost is a map look-up for each topic, for keys a short search,
// however many wait.
//
// Where the source is Ordered, calls must come in the order of the changes, and also,
// without topics, for changes that touch none.
func (h *Hub) Publish(topics []model.Topic) {
	defer h.progress.end(h.progress.begin(h.source))
	if topics != nil {
		for _, t := range topics {
			if v := h.views.find(t); v != nil {
				v.touch(h)
			}
			if t.Kind == model.TopicKVKey {
				h.prefixes.above(t.Name, func(v *live) { v.touch(h) })
			}
		}
		return
	}
	h.epoch.Add(1)
	h.mu.Lock()
	all := append([]*live(nil), h.all...)
	h.mu.Unlock()
	for _, v := range all {
		v.touch(h)
	}
}

// Run expires what nobody uses, until ctx ends.
func (h *Hub) Run(ctx context.Context) error {
	ticker := time.NewTicker(h.config.Idle)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
			h.sweep()
		}
	}
}

// Stats are figures for metrics.
type Stats struct {
	Views   int    // topics kept ready
	Waiters int    // callers that wait for a change
	Builds  uint64 // how often a view was built
}

// Stats counts; it looks at every view.
func (h *Hub) Stats() Stats {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := Stats{Views: len(h.all), Builds: h.builds.Load()}
	for _, v := range h.all {
		s.Waiters += int(max(v.waiters.Load(), 0))
	}
	return s
}
