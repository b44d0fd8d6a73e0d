package consumer

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/muster-discovery/muster/internal/model"
)

// Stream is one open stream. Its methods may be called from any goroutine.
type Stream struct {
	registry *Registry
	id       string
	info     Info
	since    time.Time
	counts   *counts
	whole    atomic.Uint64 // everything up to here was sent on all watches

	mu      sync.Mutex
	closed  bool
	watches map[uint64]*Watch
}

// Watch is one watch of a stream.
type Watch struct {
	topic           model.Topic
	sent, confirmed atomic.Uint64
}

// ID names the stream for confirmations.
func (s *Stream) ID() string { return s.id }

// SetInfo replaces what is known about the consumer, for protocols in which it says
// so only later; address and protocol stay.
func (s *Stream) SetInfo(node, agent string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.info.Node, s.info.Agent = node, agent
}

// Add adds a watch. The error's kind is Limit if there are too many, or Conflict if
// the id is in use.
func (s *Stream) Add(id uint64, t model.Topic) (*Watch, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, model.Errorf(model.KindUnavailable, "the stream has ended")
	}
	if s.watches[id] != nil {
		return nil, model.Errorf(model.KindConflict, "watch %d is in use on this stream", id)
	}
	if limit := s.registry.config.MaxWatches; len(s.watches) >= limit {
		return nil, model.Errorf(model.KindLimit, "A stream has at most %d watches: open another one", limit)
	}
	w := &Watch{topic: t}
	s.watches[id] = w
	s.counts.watches.Inc()
	return w, nil
}

// Remove ends a watch, if there is one.
func (s *Stream) Remove(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watches[id] != nil {
		delete(s.watches, id)
		s.counts.watches.Dec()
	}
}

// Sent notes that everything of the watch up to the index was sent. A lower index than
// before comes with a reset: what was confirmed then says nothing any more.
func (w *Watch) Sent(index uint64) {
	if index < w.sent.Swap(index) {
		w.confirmed.Store(0)
	}
}

// SentAll notes that everything up to the index was sent on all watches.
func (s *Stream) SentAll(index uint64) { s.whole.Store(index) }

// Confirm notes what the consumer of one watch has, or with 0 of all watches. The
// error's kind is Invalid for what was never sent, or NotFound without such a watch.
func (s *Stream) Confirm(id, index uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id == 0 {
		return s.confirmAllLocked(index)
	}
	w := s.watches[id]
	if w == nil {
		return model.Errorf(model.KindNotFound, "There is no watch %d on this stream", id)
	}
	return s.confirmLocked(w, index)
}

func (s *Stream) confirmService(service string, index uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if service == "" {
		return s.confirmAllLocked(index)
	}
	found := false
	for _, w := range s.watches {
		if w.topic.Name == model.Fold(service) {
			found = true
			if err := s.confirmLocked(w, index); err != nil {
				return err
			}
		}
	}
	if !found {
		return model.Errorf(model.KindNotFound, "The stream does not watch %q", service)
	}
	return nil
}

func (s *Stream) confirmAllLocked(index uint64) error {
	// The only watch's events are for all of them.
	whole := s.whole.Load()
	if len(s.watches) == 1 {
		for _, w := range s.watches {
			whole = max(whole, w.sent.Load())
		}
	}
	if index == 0 || index > whole {
		return model.Errorf(model.KindInvalid, "Index %d was not sent on all watches: the highest one that was is %d; "+
			"confirm an event's id, or one watch's index under its service", index, whole)
	}
	for _, w := range s.watches {
		w.confirm(index)
	}
	return nil
}

func (s *Stream) confirmLocked(w *Watch, index uint64) error {
	if sent := max(w.sent.Load(), s.whole.Load()); index == 0 || index > sent {
		return model.Errorf(model.KindInvalid, "Index %d was not sent for %q: the highest one that was is %d", index, w.topic.Name, sent)
	}
	w.confirm(index)
	return nil
}

// confirm is called with the stream's mutex held.
func (w *Watch) confirm(index uint64) { w.confirmed.Store(max(w.confirmed.Load(), index)) }

func (s *Stream) entry(t model.Topic) Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := Entry{ID: s.id, Info: s.info, Since: s.since}
	for _, w := range s.watches {
		if t.Kind == 0 || w.topic == t {
			e.Watches = append(e.Watches, WatchEntry{Topic: w.topic, Sent: w.sent.Load(), Confirmed: w.confirmed.Load()})
		}
	}
	slices.SortFunc(e.Watches, func(a, b WatchEntry) int {
		return cmp.Or(cmp.Compare(a.Topic.Kind, b.Topic.Kind), cmp.Compare(a.Topic.Name, b.Topic.Name))
	})
	return e
}

// Close ends the stream.
func (s *Stream) Close() {
	s.mu.Lock()
	closed, watches := s.closed, len(s.watches)
	s.closed = true
	s.watches = nil
	s.mu.Unlock()
	if closed {
		return
	}
	s.counts.watches.Sub(float64(watches))
	s.counts.open.Dec()
	s.registry.mu.Lock()
	delete(s.registry.streams, s.id)
	s.registry.mu.Unlock()
}
