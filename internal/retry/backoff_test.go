package retry_test

import (
	"testing"
	"time"

	"github.com/muster-discovery/muster/internal/retry"
)

func TestBackoffGrowsToItsBound(t *testing.T) {
	b := retry.Backoff{Min: 100 * time.Millisecond, Max: time.Second, Rand: func() float64 { return 0 }}
	want := []time.Duration{100, 200, 400, 800, 1000, 1000}
	for i, w := range want {
		if got := b.Next(); got != w*time.Millisecond {
			t.Fatalf("delay %d is %v, want %v", i, got, w*time.Millisecond)
		}
	}
	for range 200 { // the shift must not overflow
		if got := b.Next(); got != time.Second {
			t.Fatalf("late delay is %v, want 1s", got)
		}
	}
	b.Reset()
	if got := b.Next(); got != 100*time.Millisecond {
		t.Fatalf("delay after Reset is %v, want 100ms", got)
	}
}

func TestSpreadStaysInItsShare(t *testing.T) {
	for _, r := range []float64{0, 0.5, 0.999} {
		got := retry.Spread(time.Second, 0.5, func() float64 { return r })
		if got <= 500*time.Millisecond || got > time.Second {
			t.Errorf("Spread with random %v is %v, want within (500ms, 1s]", r, got)
		}
	}
	seen := map[time.Duration]bool{}
	for range 10 {
		seen[retry.Spread(time.Hour, 1, nil)] = true
	}
	if len(seen) < 2 {
		t.Error("the package's generator gives always the same delay")
	}
}
