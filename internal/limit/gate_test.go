package limit

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-discovery/muster/internal/model"
)

// TestGateIsFair: never more than allowed at once, everybody comes through, and in the
// order in which they came.
func TestGateIsFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(GateConfig{Running: 3, Waiting: 100, Patience: time.Hour, Hold: time.Hour})
		var now, most atomic.Int64
		var order []int
		var mu sync.Mutex
		var all sync.WaitGroup
		for i := range 60 {
			all.Go(func() {
				leave, err := g.Enter(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				most.Store(max(most.Load(), now.Add(1)))
				order = append(order, i)
				mu.Unlock()
				time.Sleep(time.Duration(1+rand.IntN(5)) * time.Millisecond) // the bubble's clock
				now.Add(-1)
				leave()
				leave()
			})
			synctest.Wait() // they come one after the other
		}
		all.Wait()
		if most.Load() != 3 || g.busy() != 0 || g.len() != 0 {
			t.Errorf("%d at once; %d run and %d wait afterwards", most.Load(), g.busy(), g.len())
		}
		for i, v := range order { // those who run at the same time note it in any order
			if i-v >= 3 || v-i >= 3 {
				t.Fatalf("order %v", order)
			}
		}
	})
}

func TestGateRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(GateConfig{Running: 1, Waiting: 1, Patience: time.Second, Hold: time.Hour})
		leave, err := g.Enter(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := make(chan error, 1)
		go func() { _, err := g.Enter(t.Context()); got <- err }()
		synctest.Wait()

		_, err = g.Enter(t.Context())
		wantRefusal(t, err, "1 are under way and 1 wait", "come back in")
		var r *Refusal
		if !errors.As(err, &r) || r.after < minHint/2 || r.after > 2*maxHint {
			t.Errorf("come back after %v", r)
		}
		wantRefusal(t, <-got, "not begun within 1s") // after its patience

		ctx, cancel := context.WithCancel(t.Context())
		go func() { _, err := g.Enter(ctx); got <- err }()
		synctest.Wait()
		cancel()
		if err := <-got; model.KindOf(err) != model.KindUnavailable {
			t.Errorf("canceled: %v", err)
		}
		leave()
		if g.busy() != 0 || g.len() != 0 {
			t.Errorf("%d run, %d wait", g.busy(), g.len())
		}
	})
}

// TestGateIsNotHeldByTheSlow: who waits for a slow client loses the place, not the right
// to go on.
func TestGateIsNotHeldByTheSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(GateConfig{Running: 1, Waiting: 10, Patience: time.Minute, Hold: 100 * time.Millisecond})
		slow, err := g.Enter(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		next, err := g.Enter(t.Context())
		if err != nil || time.Since(start) != 100*time.Millisecond {
			t.Fatalf("%v after %v", err, time.Since(start))
		}
		slow() // late
		if g.busy() != 1 {
			t.Errorf("%d run: a late leave gave the next one's place away", g.busy())
		}
		next()
		if g.busy() != 0 {
			t.Errorf("%d run", g.busy())
		}
	})
}

func TestHintsDiffer(t *testing.T) {
	g := NewGate(DefaultGateConfig(2))
	seen := map[time.Duration]bool{}
	for range 20 {
		seen[g.hint()] = true
	}
	if len(seen) < 15 {
		t.Errorf("%d different hints of 20", len(seen))
	}
	var open *Gate
	if leave, err := open.Enter(t.Context()); err != nil {
		t.Error(err)
	} else {
		leave()
	}
}
