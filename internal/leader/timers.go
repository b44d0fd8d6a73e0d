package leader

import (
	"container/heap"
	"context"
	"sync"
	"time"

	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/retry"
)

// Clocked is the part of the state that ends by time: sessions with a TTL and lock
// delays.
type Clocked interface {
	// Timers waits until there is something newer than the index and returns all
	// *model.Session with a TTL and *model.LockDelay. It returns at once for 0, and
	// when ctx ends.
	Timers(ctx context.Context, after uint64) (items []any, index uint64)
	// Session is the session with that id in the newest state, or nil.
	Session(id string) *model.Session
	// Confirm returns once this server is known to lead at a moment after the call,
	// with everything applied that was acknowledged before it.
	Confirm(ctx context.Context) error
	// Expire writes the end of sessions and lock delays.
	Expire(ctx context.Context, e *model.Expiry) error
}

// timers end sessions and lock delays by the leader's monotonic clock. The state
// knows durations only, so no two clocks are ever compared.
//
// A session's time begins when this server, as the leader, first sees it or is told
// of a renewal; so a new leader gives every session its whole time again. A renewal
// is noted here and in no log. It is confirmed only after a majority has said, later
// than the note, that this server still leads: whoever leads after it begins to count
// after that, so that no session can end early.
//
// Lock: mu. It is not held while anything is waited for.
type timers struct {
	clocked Clocked

	mu      sync.Mutex
	running bool
	queue   queue
	byKey   map[timerKey]*timer
}

// timerKey names a session by its id, or a lock delay by its key and index.
type timerKey struct {
	name  string
	delay uint64 // 0: a session
}

type timer struct {
	key      timerKey
	after    time.Duration
	deadline time.Time
	place    int  // in the queue; -1: its end is being written
	ending   bool // it has run out once: no renewal counts any more
	seen     bool // in the state when last read
}

// grace is how much longer than its TTL a session lives: a renewal that is a little
// late still counts. With the time to write the end it must stay below twice the TTL,
// and twice over, for a new leader, below three times.
func grace(ttl time.Duration) time.Duration { return ttl + ttl/4 }

// Pauses: between two looks at what changed, so that thousands of new sessions don't
// mean thousands of looks, and before a failed write is tried again.
const (
	timersPause = 50 * time.Millisecond
	retryMin    = 20 * time.Millisecond
	retryMax    = time.Second
	// maxExpiry bounds one command.
	maxExpiry = 512
)

func newTimers(c Clocked) *timers {
	return &timers{clocked: c, byKey: make(map[timerKey]*timer)}
}

// run ends what has run out until ctx ends. It starts one goroutine, which follows
// the state.
func (t *timers) run(ctx context.Context) {
	t.mu.Lock()
	t.running = true
	t.mu.Unlock()
	changed := make(chan struct{}, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		t.follow(ctx, changed)
	}()
	defer func() {
		<-done
		t.mu.Lock()
		t.running, t.queue = false, nil
		clear(t.byKey)
		t.mu.Unlock()
	}()
	backoff := retry.Backoff{Min: retryMin, Max: retryMax, Jitter: 0.5}
	for {
		expired, next := t.take(time.Now())
		if expired == nil {
			wake := time.NewTimer(next)
			select {
			case <-wake.C:
			case <-changed:
			case <-ctx.Done():
				wake.Stop()
				return
			}
			wake.Stop()
			continue
		}
		if err := t.end(ctx, expired); err != nil {
			t.putBack(expired)
			if !backoff.Wait(ctx) {
				return
			}
			continue
		}
		backoff.Reset()
		t.forget(expired)
	}
}

// follow takes over what is in the state.
func (t *timers) follow(ctx context.Context, changed chan<- struct{}) {
	var index uint64
	for ctx.Err() == nil {
		items, now := t.clocked.Timers(ctx, index)
		if ctx.Err() != nil {
			return
		}
		index = now
		t.sync(items, time.Now())
		select {
		case changed <- struct{}{}:
		default:
		}
		pause := time.NewTimer(timersPause)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return
		}
	}
}

// sync starts timers for what is new and drops those of what is gone.
func (t *timers) sync(items []any, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range t.byKey {
		e.seen = false
	}
	for _, item := range items {
		switch v := item.(type) {
		case *model.Session:
			t.noteLocked(timerKey{v.ID, 0}, grace(v.Lifetime()), now, false)
		case *model.LockDelay:
			t.noteLocked(timerKey{v.Key, v.Index}, v.Delay, now, false)
		}
	}
	for key, e := range t.byKey {
		if !e.seen && e.place >= 0 {
			heap.Remove(&t.queue, e.place)
			delete(t.byKey, key)
		}
	}
}

// noteLocked starts a timer, or one that runs anew if again is set. It reports
// whether the timer runs: not if its end is being written, or may have been.
func (t *timers) noteLocked(key timerKey, after time.Duration, now time.Time, again bool) bool {
	e := t.byKey[key]
	switch {
	case e == nil:
		e = &timer{key: key, after: after, deadline: now.Add(after)}
		t.byKey[key] = e
		heap.Push(&t.queue, e)
	case e.ending:
		e.seen = true
		return false
	case again:
		e.deadline = now.Add(after)
		heap.Fix(&t.queue, e.place)
	}
	e.seen = true
	return true
}

// take removes what has run out from the queue, or says when the next will.
func (t *timers) take(now time.Time) (expired []*timer, next time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.queue) > 0 && len(expired) < maxExpiry {
		e := t.queue[0]
		if wait := e.deadline.Sub(now); wait > 0 {
			return expired, wait
		}
		heap.Pop(&t.queue)
		e.ending = true
		expired = append(expired, e)
	}
	return expired, time.Hour
}

func (t *timers) end(ctx context.Context, expired []*timer) error {
	x := new(model.Expiry)
	for _, e := range expired {
		if e.key.delay == 0 {
			x.Sessions = append(x.Sessions, e.key.name)
		} else {
			x.Delays = append(x.Delays, model.LockDelay{Key: e.key.name, Index: e.key.delay})
		}
	}
	return t.clocked.Expire(ctx, x)
}

// putBack has the end of timers tried again.
func (t *timers) putBack(expired []*timer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range expired {
		heap.Push(&t.queue, e)
	}
}

func (t *timers) forget(expired []*timer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range expired {
		delete(t.byKey, e.key)
	}
}

// renew starts a session's time anew.
func (t *timers) renew(ctx context.Context, id string) (*model.Session, error) {
	s := t.clocked.Session(id)
	if s == nil {
		// It may have been made by a leader before this one.
		if err := t.clocked.Confirm(ctx); err != nil {
			return nil, err
		}
		if s = t.clocked.Session(id); s == nil {
			return nil, noSession(id)
		}
	}
	if !t.note(s) {
		return nil, noSession(id)
	}
	if err := t.clocked.Confirm(ctx); err != nil {
		return nil, err
	}
	// It may have been destroyed before the note.
	if s = t.clocked.Session(id); s == nil {
		return nil, noSession(id)
	}
	return s, nil
}

// note is the renewal itself. While this server's duties have not begun there is
// nothing to note: they give every session its whole time.
func (t *timers) note(s *model.Session) bool {
	ttl := s.Lifetime()
	if ttl == 0 {
		return true
	}
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.running || t.noteLocked(timerKey{s.ID, 0}, grace(ttl), now, true)
}

func noSession(id string) error {
	return &model.Error{Kind: model.KindNotFound, Field: model.CodeSession, Text: "Session id '" + id + "' not found"}
}

// queue is a heap of timers by deadline.
type queue []*timer

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].deadline.Before(q[j].deadline) }
func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].place, q[j].place = i, j
}
func (q *queue) Push(v any) {
	e := v.(*timer)
	e.place = len(*q)
	*q = append(*q, e)
}
func (q *queue) Pop() any {
	old := *q
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*q = old[:len(old)-1]
	e.place = -1
	return e
}
