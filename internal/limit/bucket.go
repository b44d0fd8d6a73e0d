package limit

import (
	"math"
	"sync"
	"time"
)

// bucket is a token bucket: rate tokens a second flow in, up to burst. A rate below 0
// is no limit.
type bucket struct {
	mu     sync.Mutex
	rate   float64
	burst  float64
	tokens float64
	last   time.Time // when tokens was right
}

// set changes rate and size. What is in the bucket stays, as far as it fits, so that a
// reload is no way around the limit.
func (b *bucket) set(rate, burst float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.last.IsZero() || b.rate < 0 {
		b.tokens = burst
	}
	b.rate, b.burst = rate, burst
	b.tokens = min(b.tokens, burst)
}

// maxPause is the longest pause that a caller is told.
const maxPause = time.Minute

// take takes a token, or says how long the next one takes.
func (b *bucket) take(now time.Time) (wait time.Duration, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rate < 0 {
		return 0, true
	}
	if past := now.Sub(b.last); past > 0 {
		if !b.last.IsZero() {
			b.tokens = min(b.burst, b.tokens+past.Seconds()*b.rate)
		}
		b.last = now
	}
	if b.tokens >= 1 {
		b.tokens--
		return 0, true
	}
	seconds := (1 - b.tokens) / b.rate // +Inf where nothing flows in
	if math.IsNaN(seconds) || seconds > maxPause.Seconds() {
		return maxPause, false
	}
	return time.Duration(seconds * float64(time.Second)), false
}
