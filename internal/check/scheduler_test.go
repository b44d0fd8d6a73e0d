package check

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-discovery/muster/internal/model"
)

// probeFunc is a probe made of a function.
type probeFunc func(ctx context.Context) Result

func (f probeFunc) Run(ctx context.Context) Result { return f(ctx) }

var passing = Result{Status: model.StatusPassing}

// start runs a scheduler in the bubble until the test ends.
func start(t *testing.T, cfg Config) *Scheduler {
	t.Helper()
	s := NewScheduler(cfg)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := s.Run(ctx); err != nil {
			t.Errorf("Run: %v", err)
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	return s
}

// half stands for the random generator: every random share is a half.
func half() float64 { return 0.5 }

func TestProbeRunsByItsInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Config{Rand: half})
		began := time.Now()
		var at []time.Duration
		s.Probe("a", Task{
			Interval: 10 * time.Second, Delay: time.Second,
			Probe:  probeFunc(func(context.Context) Result { at = append(at, time.Since(began)); return passing }),
			Report: func(Result) {},
		})
		time.Sleep(40 * time.Second)
		synctest.Wait()
		// The second run comes after a random part of the interval, here 7.5 s.
		want := []time.Duration{time.Second, 8500 * time.Millisecond, 18500 * time.Millisecond, 28500 * time.Millisecond, 38500 * time.Millisecond}
		if fmt.Sprint(at) != fmt.Sprint(want) {
			t.Errorf("runs at %v, want %v", at, want)
		}
	})
}

func TestProbeTimesOutAtItsBound(t *testing.T) {
	for _, tt := range []struct{ timeout, want time.Duration }{{0, DefaultTimeout}, {2 * time.Second, 2 * time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			s := start(t, Config{})
			var took time.Duration
			var got Result
			s.Probe("a", Task{
				Interval: time.Minute, Timeout: tt.timeout,
				Probe: probeFunc(func(ctx context.Context) Result {
					began := time.Now()
					<-ctx.Done()
					took = time.Since(began)
					return Result{Status: model.StatusCritical, Output: ctx.Err().Error()}
				}),
				Report: func(r Result) { got = r },
			})
			time.Sleep(30 * time.Second)
			synctest.Wait()
			if took != tt.want || got.Output != context.DeadlineExceeded.Error() {
				t.Errorf("timeout %v: probe ran %v and reported %q", tt.timeout, took, got.Output)
			}
		})
	}
}

func TestRemovedProbeReportsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Config{})
		canceled := false
		hang := probeFunc(func(ctx context.Context) Result {
			<-ctx.Done()
			canceled = true
			return Result{Status: model.StatusCritical}
		})
		s.Probe("a", Task{Interval: time.Minute, Probe: hang, Report: func(Result) { t.Error("a removed probe reported") }})
		time.Sleep(time.Second)
		s.Remove("a")
		synctest.Wait()
		if !canceled {
			t.Error("removing did not cancel the running probe")
		}
		time.Sleep(10 * time.Minute)
	})
}

func TestReplacedProbeStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Config{})
		var old, new int
		count := func(n *int) Task {
			return Task{Interval: time.Second, Probe: probeFunc(func(context.Context) Result { *n++; return passing }), Report: func(Result) {}}
		}
		s.Probe("a", count(&old))
		time.Sleep(5 * time.Second)
		synctest.Wait()
		s.Probe("a", count(&new))
		synctest.Wait()
		before := old
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if old > before+1 || new < 4 {
			t.Errorf("old probe ran %d times after it was replaced, new one %d times", old-before, new)
		}
	})
}

func TestConcurrencyIsBoundedAndNobodyStarves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Config{MaxProbes: 8})
		var running, most atomic.Int32
		var mu sync.Mutex
		runs := map[string]int{}
		for i := range 100 {
			id := fmt.Sprint(i)
			s.Probe(id, Task{
				Interval: time.Second,
				Probe: probeFunc(func(context.Context) Result {
					n := running.Add(1)
					defer running.Add(-1)
					for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
					}
					time.Sleep(200 * time.Millisecond) // 100 probes need 2.5 s, so each is late
					mu.Lock()
					runs[id]++
					mu.Unlock()
					return passing
				}),
				Report: func(Result) {},
			})
		}
		time.Sleep(30 * time.Second)
		mu.Lock()
		defer mu.Unlock()
		if got := most.Load(); got != 8 {
			t.Errorf("%d probes ran at once, want 8", got)
		}
		for i := range 100 {
			if n := runs[fmt.Sprint(i)]; n < 8 {
				t.Errorf("probe %d ran %d times in 30 s, want its turn every 2.5 s or so", i, n)
			}
		}
	})
}

func TestHangingProbesLeaveRoomForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Config{MaxProbes: 8})
		hang := probeFunc(func(ctx context.Context) Result { <-ctx.Done(); return Result{Status: model.StatusCritical} })
		for i := range 50 {
			s.Probe(fmt.Sprint("hang", i), Task{Interval: 10 * time.Second, Probe: hang, Report: func(Result) {}})
		}
		time.Sleep(3 * time.Minute)                   // all have been found to be slow
		last, longest := time.Now(), time.Duration(0) // only the probe's report touches them
		s.Probe("quick", Task{Interval: 2 * time.Second, Probe: probeFunc(func(context.Context) Result { return passing }), Report: func(Result) {
			longest = max(longest, time.Since(last))
			last = time.Now()
		}})
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if longest > 2*time.Second {
			t.Errorf("a quick probe waited %v between runs because others hang, want 2s", longest)
		}
	})
}

func TestDeadlineMovesAndRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Config{})
		began := time.Now()
		var mu sync.Mutex
		deadline := began.Add(10 * time.Second)
		var fired []time.Duration
		expire := func(now time.Time) time.Time {
			mu.Lock()
			defer mu.Unlock()
			fired = append(fired, now.Sub(began))
			if deadline.After(now) {
				return deadline
			}
			return time.Time{}
		}
		s.Deadline("ttl", deadline, expire)
		time.Sleep(5 * time.Second)
		mu.Lock()
		deadline = began.Add(15 * time.Second)
		mu.Unlock()
		time.Sleep(time.Minute)
		s.Deadline("ttl", began.Add(100*time.Second), expire)
		time.Sleep(time.Minute)
		synctest.Wait()
		want := []time.Duration{10 * time.Second, 15 * time.Second, 100 * time.Second}
		if fmt.Sprint(fired) != fmt.Sprint(want) {
			t.Errorf("deadline fired at %v, want %v", fired, want)
		}
	})
}

func TestRunEndsWithItsProbes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewScheduler(Config{MaxProbes: 1})
		hang := probeFunc(func(ctx context.Context) Result { <-ctx.Done(); return Result{Status: model.StatusCritical} })
		for i := range 3 {
			s.Probe(fmt.Sprint(i), Task{Interval: time.Second, Timeout: time.Hour, Probe: hang, Report: func(Result) { t.Error("a probe cut short by the end reported") }})
		}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := s.Run(ctx); err != nil {
			t.Fatal(err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.running != [2]int{} {
			t.Errorf("%v probes are said to run after Run returned", s.running)
		}
	})
}

// BenchmarkAddProbe shows what an idle check costs in memory.
func BenchmarkAddProbe(b *testing.B) {
	s := NewScheduler(Config{})
	b.ReportAllocs()
	for i := range b.N {
		s.Probe(fmt.Sprint(i), Task{Interval: time.Second, Probe: &tcpProbe{}, Report: func(Result) {}})
	}
}
