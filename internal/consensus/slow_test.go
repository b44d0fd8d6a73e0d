package consensus

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestSlowness(t *testing.T) {
	const ms = time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		log := &strings.Builder{}
		s := newSlowness(100*ms, slog.New(slog.NewTextHandler(log, nil)))
		appends := func(n int, took time.Duration) {
			for range n {
				s.begin(time.Now())
				time.Sleep(took) // the bubble's clock
				s.end(time.Now())
			}
			synctest.Wait() // for what the alarm tells
		}
		appends(300, ms)
		if s.slow(time.Now()) || s.p99(time.Now()) != ms {
			t.Fatalf("slow with %v", s.p99(time.Now()))
		}
		appends(1, 150*ms)
		if s.slow(time.Now()) {
			t.Error("one slow append in 300 makes the disk slow")
		}
		appends(4, 150*ms)
		if !s.slow(time.Now()) || s.p99(time.Now()) != 150*ms || !strings.Contains(log.String(), "slow") {
			t.Errorf("not slow with %v; log: %s", s.p99(time.Now()), log)
		}
		appends(600, ms)
		if s.slow(time.Now()) || !strings.Contains(log.String(), "fast enough again") {
			t.Errorf("still slow with %v; log: %s", s.p99(time.Now()), log)
		}
		time.Sleep(slowWindow + 1)
		synctest.Wait()

		log.Reset()
		s.begin(time.Now())
		time.Sleep(102 * ms)
		synctest.Wait()
		if !s.slow(time.Now()) || !strings.Contains(log.String(), "slow") {
			t.Error("an append that hangs is told only when it has ended")
		}
		time.Sleep(10 * time.Second)
		s.end(time.Now())
		if !s.slow(time.Now()) {
			t.Error("forgotten at once")
		}
		time.Sleep(slowWindow + 1)
		if s.slow(time.Now()) || s.p99(time.Now()) != 0 {
			t.Error("never forgotten")
		}
		appends(5000, ms)
		if len(s.recent) > slowSamples || s.over != 0 {
			t.Errorf("%d samples, %d over", len(s.recent), s.over)
		}
	})
}
