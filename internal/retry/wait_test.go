package retry

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestWaitEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := Backoff{Min: time.Second, Max: time.Minute}
		start := time.Now()
		if !b.Wait(t.Context()) || time.Since(start) != time.Second {
			t.Errorf("first delay took %v, want 1s", time.Since(start))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if b.Wait(ctx) || time.Since(start) != time.Second+time.Millisecond {
			t.Error("went on waiting after its context had ended")
		}
		if b.Wait(ctx) {
			t.Error("waited although its context had ended before")
		}
	})
}
