package lookup

import (
	"cmp"
	"context"
	"reflect"
	"slices"

	"github.com/muster-discovery/muster/internal/acl"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/view"
)

// StreamRequest is one watch of a stream.
type StreamRequest struct {
	Topic      model.Topic   // of instances: TopicService or TopicConnect
	Variant    *view.Variant // from Prepare; nil: all items
	Encoder    *view.Encoder // with Changes
	Datacenter string        // empty: the own one
	Mode       Mode
	// Resume is the index of what the caller has from an earlier stream, 0: nothing.
	Resume uint64
}

// Stream is the read path for callers that stay: any number of watches, each a
// snapshot and then what changes. It keeps no events: Collect tells what is new since
// the last call, however much that is, as at most one step for each watch. All
// methods are for one goroutine; who waits does so on Changed.
type Stream struct {
	lookup *Lookup
	token  string
	auth   acl.Authorizer
	wake   chan struct{}

	list     []*streamWatch
	place    map[uint64]int // of a watch in list
	whole    uint64
	exact    bool // the caller has nothing that is later than whole
	verified freshness
}

type streamWatch struct {
	id      uint64
	request StreamRequest
	follow  *view.Follow
	shared  bool // the caller may see everything of the topic
	resumed bool // and nothing was told yet
	lost    bool // it can't be resumed; the same
}

// EventKind is what an event does to what the caller has.
type EventKind uint8

const (
	EventReset    EventKind = iota + 1 // a snapshot follows that replaces it
	EventSnapshot                      // this is all there is
	EventDelta                         // this changed
	EventCurrent                       // nothing changed since the index that was resumed from
)

// Event is a change of one watch.
type Event struct {
	Watch uint64
	Kind  EventKind
	Index uint64 // of the watch after the event
	// ID is an index from which all watches of the stream can be resumed once the
	// caller has this event: it has all that was up to there, and nothing later. It is
	// the event's own index, or above it on the last one of several; 0 if there is none.
	ID uint64
	// Steps is how many changes a delta is made of: above 1 the caller was behind.
	Steps  int
	Reason string // of a reset

	watch *streamWatch
	news  view.News
}

// OpenStream begins a stream without watches.
func (l *Lookup) OpenStream(token string) (*Stream, error) {
	auth, err := l.config.Resolve(token)
	if err != nil {
		return nil, err
	}
	return &Stream{lookup: l, token: token, auth: auth, wake: make(chan struct{}, 1), place: make(map[uint64]int)}, nil
}

// Watch adds a watch under an id that is not in use. It may wait for the leader, as
// lookups do.
func (s *Stream) Watch(ctx context.Context, id uint64, r StreamRequest) error {
	l := s.lookup
	switch {
	case r.Datacenter != "" && r.Datacenter != l.config.Datacenter:
		return model.Errorf(model.KindNoPath, "No path to datacenter")
	case r.Encoder.Changes == nil:
		return model.Errorf(model.KindInvalid, "%s can't be streamed", r.Encoder.Name)
	case r.Variant != nil && r.Variant.Sort != nil:
		return model.Errorf(model.KindInvalid, "Streams have no order: leave out near")
	}
	if err := s.ready(ctx, &r); err != nil {
		return err
	}
	w := &streamWatch{id: id, request: r, follow: l.config.Hub.Follow(r.Topic, s.wake), shared: allowsAll(s.auth, r.Topic.Kind)}
	if r.Resume > 0 {
		w.resumed = w.follow.Resume(r.Resume)
		w.lost = !w.resumed
	}
	s.place[id] = len(s.list)
	s.list = append(s.list, w)
	s.signal()
	return nil
}

// Unwatch ends a watch, if there is one with the id.
func (s *Stream) Unwatch(id uint64) {
	at, ok := s.place[id]
	if !ok {
		return
	}
	s.list[at].follow.Close()
	delete(s.place, id)
	last := len(s.list) - 1
	if at != last {
		s.list[at] = s.list[last]
		s.place[s.list[at].id] = at
	}
	s.list[last] = nil
	s.list = s.list[:last]
}

// Close ends all watches.
func (s *Stream) Close() {
	for _, w := range s.list {
		w.follow.Close()
	}
	s.list, s.place = nil, nil
}

// Changed has a value when Collect may have something to tell.
func (s *Stream) Changed() <-chan struct{} { return s.wake }

func (s *Stream) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Index is one up to which the caller has everything on all watches, once it has the
// events that were collected.
func (s *Stream) Index() uint64 { return s.whole }

// ID is Index if all watches can be resumed from there, else 0.
func (s *Stream) ID() uint64 {
	if !s.exact {
		return 0
	}
	return s.whole
}

// Recheck asks again what the caller may see, and lets a client agent know that the
// topics are still in use. Streams do so with each heartbeat: watches start anew if
// the permissions are others.
func (s *Stream) Recheck() error {
	auth, err := s.lookup.config.Resolve(s.token)
	if err != nil {
		return err
	}
	changed := !sameRules(auth, s.auth)
	s.auth = auth
	for _, w := range s.list {
		if s.lookup.config.Remote != nil {
			s.lookup.config.Remote.Follow(stopped, w.request.Topic)
		}
		if changed {
			w.shared = allowsAll(auth, w.request.Topic.Kind)
			w.follow.Restart()
			s.signal()
		}
	}
	return nil
}

// sameRules compares authorizers. Those that can't be compared count as changed.
func sameRules(a, b acl.Authorizer) bool {
	t := reflect.TypeOf(a)
	return t == reflect.TypeOf(b) && t.Comparable() && a == b
}

// Collect appends what is new, by index. A watch has at most one step, and before it
// perhaps a reset.
//
// With several watches the stream's own index has to be one below which none lacks
// anything, so contents that are newer than what the hub has told everybody are left
// for the next call.
func (s *Stream) Collect(events []Event) []Event {
	hub := s.lookup.config.Hub
	settled := hub.Settled()
	limit := settled
	if len(s.list) == 1 {
		limit = 0
	}
	start, held, quiet, top := len(events), ^uint64(0), ^uint64(0), uint64(0)
	for _, w := range s.list {
		if !w.follow.Stale() {
			top = max(top, w.follow.Index())
			continue
		}
		news, ok := w.follow.Next(limit)
		switch {
		case ok:
			events = w.tell(events, news)
		case limit > 0 && w.follow.Stale():
			held = min(held, news.Until)
		default:
			if news.Until > 0 {
				quiet = min(quiet, news.Until)
			}
			events = w.nothing(events)
		}
		top = max(top, w.follow.Index())
	}
	if held != ^uint64(0) && hub.Settle() > settled {
		s.signal() // it was published meanwhile; otherwise that wakes the stream
	}
	fresh := events[start:]
	slices.SortStableFunc(fresh, func(a, b Event) int { return cmp.Compare(a.Index, b.Index) })
	s.mark(fresh, settled, held, quiet)
	s.exact = s.whole >= top && (settled > 0 || len(s.list) == 1)
	return events
}

// mark gives the events their IDs. An event has none if a later one, or one that is
// held back, may have happened before it: whoever is cut off in between would lack
// that. Nor if a watch without an event may be past it, for what came and went.
func (s *Stream) mark(events []Event, settled, held, quiet uint64) {
	switch {
	case len(s.list) == 1:
		s.whole = max(settled, s.list[0].follow.Index())
		for i := range events {
			events[i].ID = events[i].Index
		}
		return
	case settled == 0: // each topic counts for itself
		s.whole = 0
		for i, w := range s.list {
			if i == 0 || w.follow.Index() < s.whole {
				s.whole = w.follow.Index()
			}
		}
		return
	}
	s.whole = min(settled, held)
	until := min(held, quiet)
	for i := len(events) - 1; i >= 0; i-- {
		e := &events[i]
		switch {
		case e.Index <= until:
			e.ID = e.Index
		case i == len(events)-1 && e.Index <= s.whole:
			e.ID = s.whole
		}
		until = min(until, e.news.Until)
	}
}
