package telemetry

import (
	"testing"
	"time"
)

func TestRarely(t *testing.T) {
	var r Rarely
	start := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for _, step := range []struct {
		after time.Duration
		ok    bool
		count int
	}{{0, true, 1}, {time.Second, false, 0}, {59 * time.Second, false, 0}, {time.Minute, true, 3}, {time.Minute + time.Second, false, 0}, {3 * time.Minute, true, 2}} {
		if ok, count := r.Now(start.Add(step.after)); ok != step.ok || count != step.count {
			t.Errorf("after %v: %t, %d; want %t, %d", step.after, ok, count, step.ok, step.count)
		}
	}
}
