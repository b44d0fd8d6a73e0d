package lookup

import (
	"context"
	"sync"
	"time"

	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/view"
)

// Texts of resets.
const (
	reasonUnknown = "what changed since that index is not known here"
	reasonBehind  = "too much changed since the last event, or what may be seen did"
)

// tell makes events of news.
func (w *streamWatch) tell(events []Event, news view.News) []Event {
	e := Event{Watch: w.id, Kind: EventSnapshot, Index: news.Content.Index, watch: w, news: news}
	if news.Change != nil {
		e.Kind, e.Steps = EventDelta, news.Steps
	} else if w.lost || news.Reset {
		r := e
		r.Kind, r.Reason = EventReset, reasonBehind
		if w.lost {
			r.Reason = reasonUnknown
		}
		events = append(events, r)
	}
	w.resumed, w.lost = false, false
	return append(events, e)
}

// nothing says so once to who resumed.
func (w *streamWatch) nothing(events []Event) []Event {
	if !w.resumed {
		return events
	}
	w.resumed = false
	// It holds up no other watch's index.
	return append(events, Event{Watch: w.id, Kind: EventCurrent, Index: w.follow.Index(), watch: w, news: view.News{Until: ^uint64(0)}})
}

// Frame is what the watch's encoder made of a snapshot or delta, with the number of
// items and removals in it: a delta with none concerns nothing that the caller sees.
func (e *Event) Frame(s *Stream) (any, int, error) {
	r := &e.watch.request
	shared := e.watch.shared && keepable(r.Topic.Kind, r.Variant)
	switch {
	case e.Kind == EventSnapshot && shared:
		return e.news.Content.Frame(r.Encoder, r.Variant)
	case e.Kind == EventSnapshot:
		return s.lookup.private(e.news.Content, r.Encoder, r.Variant, s.auth)
	case shared:
		return e.news.Change.Frame(r.Encoder, r.Variant)
	}
	upsert, remove, err := e.news.Change.Split(r.Variant, func(i *view.Item) *view.Item { return permit(s.auth, i) })
	if err != nil {
		return nil, 0, err
	}
	return r.Encoder.Changes(upsert, remove), len(upsert) + len(remove), nil
}

// AsSnapshot is a snapshot that may be sent in place of a delta.
func (e *Event) AsSnapshot() Event {
	s := *e
	s.Kind = EventSnapshot
	return s
}

// freshness is what a stream found out about its source already: a thousand watches
// that begin together ask the leader once.
type freshness struct {
	at     time.Time // the leader's word was had then
	waited uint64    // for this index to arrive
}

// An answer of the leader that is this young is as good as a new one: what came since
// then follows as a delta.
const freshFor = 100 * time.Millisecond

// maxAhead is how long a server waits for an index that its client has already.
const maxAhead = time.Second

// ready returns once the local state is as new as the mode asks for and, where it may
// be, as the index that is resumed from.
func (s *Stream) ready(ctx context.Context, r *StreamRequest) error {
	l := s.lookup
	if l.config.Remote != nil {
		if !l.config.Remote.Follow(ctx, r.Topic) {
			return model.Errorf(model.KindUnavailable, "Agent has not synchronized with the servers yet")
		}
		return nil
	}
	if r.Mode == ModeConsistent || r.Mode == ModeDefault && !l.config.Leader.IsLeader() && time.Since(s.verified.at) > freshFor {
		if err := l.current(ctx, r); err != nil {
			return err
		}
		s.verified.at = time.Now()
	}
	if r.Resume > s.verified.waited && l.config.Hub.Settled() > 0 {
		l.config.Hub.WaitSettled(ctx, r.Resume, min(maxAhead, l.config.CatchUp))
		s.verified.waited = r.Resume
	}
	return nil
}

// current waits until this server has all that the leader had when it was asked.
func (l *Lookup) current(ctx context.Context, r *StreamRequest) error {
	hub := l.config.Hub
	if hub.Settled() == 0 { // topics have no common index
		_, _, err := l.source(ctx, &Request{Topic: r.Topic, Mode: r.Mode}, nil)
		return err
	}
	index, err := l.leaderIndex(ctx, r.Mode == ModeConsistent)
	if err != nil {
		return err
	}
	if !hub.WaitSettled(ctx, index, l.config.CatchUp) {
		return model.Errorf(model.KindUnavailable,
			"This server did not reach index %d of the leader within %s; retry, or allow stale reads", index, l.config.CatchUp)
	}
	return nil
}

// leaderIndex is the index of the leader's state. Those who ask while another answer
// is under way share the next one, so that ten thousand streams that come at once
// ask a few times.
func (l *Lookup) leaderIndex(ctx context.Context, consistent bool) (uint64, error) {
	ask := func(ctx context.Context) (uint64, error) {
		t, err := l.readTopic(ctx, model.Topic{Kind: model.TopicState}, ^uint64(0), consistent)
		return t.Index, err
	}
	if consistent {
		return ask(ctx)
	}
	return l.rounds.join(ctx, func() (uint64, error) {
		// For all that share it, also if its first caller goes.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.config.Hold+time.Second)
		defer cancel()
		return ask(ctx)
	})
}

// rounds lets callers share calls: each is shared by those who came before it began.
type rounds struct {
	mu      sync.Mutex
	running *round // guarded by mu; the last one that began
	next    *round // guarded by mu; the one to come
}

type round struct {
	done  chan struct{}
	index uint64
	err   error
}

// join returns the result of a call that begins after join did.
func (r *rounds) join(ctx context.Context, call func() (uint64, error)) (uint64, error) {
	r.mu.Lock()
	n := r.next
	if n != nil {
		r.mu.Unlock()
		select {
		case <-n.done:
			return n.index, n.err
		case <-ctx.Done():
			return 0, model.Errorf(model.KindUnavailable, "read canceled: %s", ctx.Err())
		}
	}
	n = &round{done: make(chan struct{})}
	before := r.running
	r.next = n
	r.mu.Unlock()
	if before != nil {
		<-before.done // calls are bounded, and others may be waiting for this one
	}
	r.mu.Lock()
	r.running, r.next = n, nil // whoever comes from now on may know something newer
	r.mu.Unlock()
	defer close(n.done)
	n.index, n.err = call()
	return n.index, n.err
}
