package retry

import (
	"context"
	"time"
)

// Wait sleeps for the next delay. It returns false, at once, when ctx ends.
func (b *Backoff) Wait(ctx context.Context) bool {
	if ctx.Err() != nil {
		return false
	}
	t := time.NewTimer(b.Next())
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
