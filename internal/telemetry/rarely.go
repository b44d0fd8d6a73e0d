package telemetry

import (
	"sync"
	"time"
)

// Rarely lets one log line a minute through and counts the occasions since. The
// zero value is ready for use, by several goroutines.
type Rarely struct {
	mu    sync.Mutex
	last  time.Time
	count int
}

// Now reports whether a line may be written at t, and how many occasions it
// stands for.
func (r *Rarely) Now(t time.Time) (ok bool, count int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count++
	if !r.last.IsZero() && t.Sub(r.last) < time.Minute {
		return false, 0
	}
	count, r.count, r.last = r.count, 0, t
	return true, count
}
