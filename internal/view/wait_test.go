package view

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-discovery/muster/internal/model"
	"pgregory.net/rapid"
)

func TestWaitWakesForItsTopicOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		web := s.set(service("web"), instance(1, 0))
		h := NewHub(s, Config{})
		got := make(chan *Content, 3)
		go func() { got <- h.Wait(t.Context(), service("web"), web) }()
		go func() { got <- h.Wait(t.Context(), service("later"), 1) }()
		synctest.Wait()

		s.set(service("db"), instance(2, 0))
		h.Publish([]model.Topic{service("db")})
		h.Publish([]model.Topic{service("web")}) // touched, but its index did not pass
		synctest.Wait()
		if len(got) != 0 {
			t.Fatalf("woke for an unrelated change: %+v", <-got)
		}

		index := s.set(service("later"), instance(3, 0))
		h.Publish([]model.Topic{service("later")})
		synctest.Wait()
		if len(got) != 1 {
			t.Fatalf("%d waiters woke, want 1", len(got))
		}
		if c := <-got; c.Topic != service("later") || c.Index != index || len(c.Items) != 1 {
			t.Errorf("got %+v", c)
		}

		index = s.set(service("web"))
		h.Publish([]model.Topic{service("web")})
		if c := <-got; c.Index != index || len(c.Items) != 0 {
			t.Errorf("got %+v after the last instance left", c)
		}
	})
}

func TestWaitEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		index := s.set(service("web"), instance(1, 0))
		h := NewHub(s, Config{})
		start := time.Now()
		if c := h.WaitFor(t.Context(), service("web"), 1_000_000, time.Minute); c.Index != index {
			t.Errorf("index %d at the end of the wait", c.Index)
		}
		if d := time.Since(start); d != time.Minute {
			t.Errorf("waited %s", d)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if c := h.Wait(ctx, service("web"), index); c.Index != index {
			t.Errorf("index %d at the end of the context", c.Index)
		}
		if d := time.Since(start); d != time.Minute+time.Second {
			t.Errorf("waited %s in all", d)
		}
		if c := h.WaitFor(t.Context(), service("web"), index-1, time.Hour); c.Index != index {
			t.Errorf("index %d", c.Index)
		}
		if d := time.Since(start); d != time.Minute+time.Second {
			t.Error("waited for what was there")
		}
	})
}

func TestRestoreReleasesWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		index := s.set(service("web"), instance(1, 0))
		h := NewHub(s, Config{})
		got := make(chan *Content, 2)
		go func() { got <- h.Wait(t.Context(), service("web"), index) }()
		go func() { got <- h.Wait(t.Context(), service("ghost"), 10) }()
		synctest.Wait()
		s.mu.Lock()
		s.topics[service("web")] = entry{nil, 1}
		s.mu.Unlock()
		h.Publish(nil)
		for range 2 {
			if c := <-got; c.Index != 1 {
				t.Errorf("index %d after the restore", c.Index)
			}
		}
	})
}

// A change that is published while a build has read the source, but is not done,
// must not count as built: not for the next reader, and not for a waiter that is
// about to wait on what was built.
func TestChangeDuringBuild(t *testing.T) {
	for _, known := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := newSource()
			web := service("web")
			index := s.set(web, instance(1, 0))
			h := NewHub(s, Config{})
			if known {
				h.Content(web)
				index = s.set(web, instance(1, 1))
				h.Publish([]model.Topic{web})
			}
			change := func() {
				s.set(web, instance(1, 2))
				h.Publish([]model.Topic{web})
			}
			s.after = change
			if c := h.Wait(t.Context(), web, index); c.Index <= index {
				t.Errorf("waiter got index %d", c.Index)
			}

			index = s.set(web, instance(1, 3))
			h.Publish([]model.Topic{web})
			s.after = change
			h.Content(web)
			if c := h.Content(web); c.Index != index+1 {
				t.Errorf("reader got index %d, want %d", c.Index, index+1)
			}
		})
	}
}

// Writers, waiters, readers and evictions at once: every waiter gets to the last
// index, and nobody is shown something older than what was published before.
func TestNoWakeUpIsLost(t *testing.T) {
	const topics, changes, waiters = 4, 400, 12
	s := newSource()
	h := NewHub(s, Config{MaxViews: 2})
	names := []string{"a", "b", "c", "d"}
	var published [topics]atomic.Uint64
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	var writers, others sync.WaitGroup
	writers.Go(func() {
		for n := range topics * changes {
			i := rand.IntN(topics)
			values := []any{instance(n, 0)}
			if rand.IntN(4) == 0 {
				values = nil
			}
			index := s.set(service(names[i]), values...)
			h.Publish([]model.Topic{service(names[i])})
			published[i].Store(index)
		}
	})
	for w := range waiters {
		i := w % topics
		others.Go(func() {
			var seen uint64
			for {
				floor := published[i].Load()
				c := h.Wait(ctx, service(names[i]), seen)
				if ctx.Err() != nil {
					t.Errorf("waiter %d of %s is stuck behind index %d", w, names[i], seen)
					return
				}
				if c.Index < floor || c.Index <= seen {
					t.Errorf("index %d after %d, published was %d", c.Index, seen, floor)
					return
				}
				seen = c.Index
				if len(c.Items) == 2 { // the last change
					return
				}
			}
		})
	}
	writers.Wait()
	for i := range topics {
		s.set(service(names[i]), instances(2)...)
		h.Publish([]model.Topic{service(names[i])})
	}
	others.Wait()
	if n := h.Stats().Waiters; n != 0 {
		t.Errorf("%d waiters are counted after all have gone", n)
	}
}

// The hub against the obvious: after every published step, waiting callers have
// returned exactly if their topic's index is above theirs.
func TestHubAgainstModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newSource()
			h := NewHub(s, Config{MaxViews: rapid.IntRange(1, 4).Draw(rt, "max")})
			names := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"})
			current := map[string]uint64{}
			type waiter struct {
				name string
				min  uint64
				got  chan *Content
			}
			var waiting []waiter
			ctx, cancel := context.WithCancel(t.Context())
			for range rapid.IntRange(1, 40).Draw(rt, "steps") {
				name := names.Draw(rt, "name")
				switch rapid.SampledFrom([]string{"change", "touch", "read", "wait", "wait", "sweep"}).Draw(rt, "step") {
				case "change":
					n := rapid.IntRange(0, 2).Draw(rt, "items")
					current[name] = s.set(service(name), instances(n)...)
					h.Publish([]model.Topic{service(name)})
				case "touch":
					h.Publish([]model.Topic{service(name)})
				case "read":
					if c := h.Content(service(name)); c.Index != max(current[name], 1) {
						rt.Fatalf("read index %d of %s, want %d", c.Index, name, current[name])
					}
				case "wait":
					back := rapid.Uint64Range(0, 3).Draw(rt, "back")
					w := waiter{name, max(current[name], 1) - min(back, max(current[name], 1)), make(chan *Content, 1)}
					go func() { w.got <- h.Wait(ctx, service(w.name), w.min) }()
					waiting = append(waiting, w)
				case "sweep":
					h.sweep()
				}
				synctest.Wait()
				var still []waiter
				for _, w := range waiting {
					due := max(current[w.name], 1) > w.min
					if len(w.got) == 1 != due {
						rt.Fatalf("waiter of %s above %d woke: %t; index is %d", w.name, w.min, !due, current[w.name])
					}
					if !due {
						still = append(still, w)
					}
				}
				waiting = still
			}
			cancel()
			synctest.Wait()
			for _, w := range waiting {
				if len(w.got) == 0 {
					rt.Fatal("a waiter outlived its context")
				}
			}
		})
	})
}
