package limit

import (
	"strconv"
	"sync/atomic"
	"time"
)

// Mode is what happens over a rate.
type Mode uint8

const (
	Disabled   Mode = iota // nothing is counted
	Permissive             // it is counted and logged, and let in
	Enforcing              // it is refused
)

// ParseMode reads the configuration's word; anything else than the three is Disabled.
func ParseMode(s string) Mode {
	switch s {
	case "permissive":
		return Permissive
	case "enforcing":
		return Enforcing
	}
	return Disabled
}

// Rate bounds requests a second. All methods may be called at the same time; a nil
// Rate lets everything in.
type Rate struct {
	*meter
	mode   atomic.Uint32
	bucket bucket
	// text says what is counted, key is the setting's name, remedy what else helps.
	text, key, remedy string
}

// set changes the rate. A burst of 0 is what the rate brings in a second.
func (r *Rate) set(mode Mode, rate float64, burst int) {
	size := float64(burst)
	if burst <= 0 {
		size = rate
		if rate > 0 {
			size = max(rate, 1) // less than one a second is still one at once
		}
	}
	r.bucket.set(rate, size)
	r.mode.Store(uint32(mode))
}

// Admit counts a request; the error is a *Refusal.
func (r *Rate) Admit() error {
	if r == nil {
		return nil
	}
	mode := Mode(r.mode.Load())
	if mode == Disabled {
		return nil
	}
	wait, ok := r.bucket.take(time.Now())
	if ok {
		return nil
	}
	r.bucket.mu.Lock()
	rate := r.bucket.rate
	r.bucket.mu.Unlock()
	return r.over(mode == Enforcing, wait, "rate limit exceeded: %s %s a second (%s); %s, or raise it",
		r.text, strconv.FormatFloat(rate, 'g', -1, 64), r.key, r.remedy)
}
