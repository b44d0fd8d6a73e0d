package leader

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-discovery/muster/internal/model"
)

// clockwork is a state with sessions and lock delays.
type clockwork struct {
	mu       sync.Mutex
	index    uint64
	changed  chan struct{}
	sessions map[string]*model.Session
	delays   map[string]*model.LockDelay
	fail     error // of Expire
	lost     error // of Confirm
	ended    map[string]time.Time
	writes   int
}

func newClockwork() *clockwork {
	return &clockwork{index: 1, changed: make(chan struct{}), sessions: map[string]*model.Session{},
		delays: map[string]*model.LockDelay{}, ended: map[string]time.Time{}}
}

func (c *clockwork) change(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.index++
	f()
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *clockwork) add(ids ...string) {
	c.change(func() {
		for _, id := range ids {
			c.sessions[id] = &model.Session{ID: id, TTL: "10s"}
		}
	})
}

func (c *clockwork) Timers(ctx context.Context, after uint64) (items []any, index uint64) {
	for {
		c.mu.Lock()
		changed := c.changed
		if c.index > after {
			break
		}
		c.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, after
		}
	}
	defer c.mu.Unlock()
	for _, s := range c.sessions {
		items = append(items, s)
	}
	for _, d := range c.delays {
		items = append(items, d)
	}
	return items, c.index
}

func (c *clockwork) Session(id string) *model.Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sessions[id]
}

func (c *clockwork) Confirm(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lost
}

// end is when something ended.
func (c *clockwork) end(name string) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended[name]
}

func (c *clockwork) Expire(_ context.Context, e *model.Expiry) error {
	c.mu.Lock()
	fail := c.fail
	c.mu.Unlock()
	if fail != nil {
		return fail
	}
	c.change(func() {
		c.writes++
		for _, id := range e.Sessions {
			delete(c.sessions, id)
			c.ended[id] = time.Now()
		}
		for _, d := range e.Delays {
			if c.delays[d.Key] != nil && c.delays[d.Key].Index == d.Index {
				delete(c.delays, d.Key)
				c.ended[d.Key] = time.Now()
			}
		}
	})
	return nil
}

func inBubble(t *testing.T, f func(t *testing.T, c *clockwork, l *timers)) {
	synctest.Test(t, func(t *testing.T) {
		c := newClockwork()
		l := newTimers(c)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); l.run(ctx) }()
		defer func() { cancel(); <-done }()
		f(t, c, l)
	})
}

func TestExpiryIsNeverEarly(t *testing.T) {
	inBubble(t, func(t *testing.T, c *clockwork, l *timers) {
		start := time.Now()
		c.add("idle", "renewed")
		for range 10 {
			time.Sleep(7 * time.Second)
			if s, err := l.renew(t.Context(), "renewed"); err != nil || s.ID != "renewed" {
				t.Fatal(s, err)
			}
		}
		last := time.Now()
		time.Sleep(time.Minute)
		if d := c.end("idle").Sub(start); d < 10*time.Second || d >= 20*time.Second {
			t.Errorf("idle session ended after %s", d)
		}
		if d := c.end("renewed").Sub(last); d < 10*time.Second || d >= 20*time.Second {
			t.Errorf("renewed session ended %s after its last renewal", d)
		}
		if _, err := l.renew(t.Context(), "renewed"); model.KindOf(err) != model.KindNotFound {
			t.Error(err)
		}
	})
}

// TestNewLeaderStartsAnew: a leader change adds its own length and at most one TTL.
func TestNewLeaderStartsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClockwork()
		c.add("s")
		start := time.Now()
		lead := func(d time.Duration) {
			ctx, cancel := context.WithTimeout(t.Context(), d)
			defer cancel()
			newTimers(c).run(ctx)
		}
		lead(12 * time.Second)
		gap := 5 * time.Second
		time.Sleep(gap)
		lead(time.Minute)
		if d := c.end("s").Sub(start); d < 10*time.Second || d > 30*time.Second+gap {
			t.Error(d)
		}
	})
}

func TestLockDelays(t *testing.T) {
	inBubble(t, func(t *testing.T, c *clockwork, _ *timers) {
		start := time.Now()
		c.change(func() { c.delays["l"] = &model.LockDelay{Key: "l", Delay: 3 * time.Second, Index: 2} })
		time.Sleep(2 * time.Second)
		c.change(func() { c.delays["l"] = &model.LockDelay{Key: "l", Delay: 3 * time.Second, Index: 3} })
		time.Sleep(10 * time.Second)
		if d := c.end("l").Sub(start); d < 5*time.Second || d > 5200*time.Millisecond {
			t.Error("ended after", d)
		}
	})
}

// TestFailedEnd: an end that may have come through is tried again, and no renewal
// counts meanwhile.
func TestFailedEnd(t *testing.T) {
	inBubble(t, func(t *testing.T, c *clockwork, l *timers) {
		c.change(func() { c.fail = model.Errorf(model.KindUncertain, "lost") })
		c.add("s")
		time.Sleep(15 * time.Second)
		if _, err := l.renew(t.Context(), "s"); model.KindOf(err) != model.KindNotFound {
			t.Error("renewed although its end may have been written:", err)
		}
		c.change(func() { c.fail = nil })
		time.Sleep(5 * time.Second)
		if c.Session("s") != nil {
			t.Error("not tried again")
		}
	})
}

// TestRenewalNeedsLeader: a renewal that no majority confirmed is none, for the caller.
func TestRenewalNeedsLeader(t *testing.T) {
	inBubble(t, func(t *testing.T, c *clockwork, l *timers) {
		c.add("s")
		lost := model.Errorf(model.KindNotLeader, "not the leader")
		c.change(func() { c.lost = lost })
		for _, id := range []string{"s", "none"} {
			if _, err := l.renew(t.Context(), id); !errors.Is(err, lost) {
				t.Error(id, err)
			}
		}
	})
}

// TestMassExpiry: 10,000 sessions end in bounded commands, in time.
func TestMassExpiry(t *testing.T) {
	inBubble(t, func(t *testing.T, c *clockwork, l *timers) {
		start := time.Now()
		var ids []string
		for i := range 10_000 {
			ids = append(ids, time.Duration(i).String())
		}
		c.add(ids...)
		time.Sleep(time.Minute)
		c.mu.Lock()
		ended, writes := len(c.ended), c.writes
		c.mu.Unlock()
		if ended != len(ids) || writes != (len(ids)+maxExpiry-1)/maxExpiry {
			t.Fatal(ended, writes)
		}
		late := slices.MaxFunc(ids, func(a, b string) int { return c.end(a).Compare(c.end(b)) })
		if d := c.end(late).Sub(start); d >= 20*time.Second {
			t.Error("the last ended after", d)
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if len(l.queue) > 0 || len(l.byKey) > 0 {
			t.Error("timers are left")
		}
	})
}
