package retry

import (
	"math/rand/v2"
	"time"
)

// Backoff yields growing delays for successive attempts. The zero value is not
// usable; set at least Min and Max. A Backoff belongs to one caller at a time.
type Backoff struct {
	Min time.Duration // delay after the first failure, before jitter
	Max time.Duration // no delay is longer
	// Jitter is the share of each delay that is random, from 0 to 1: a delay d
	// becomes d*(1-Jitter) plus a random part of d*Jitter.
	Jitter float64
	// Rand returns a number in [0, 1). Nil is the package's generator.
	Rand func() float64

	attempt int
}

// Next is the delay to wait before the next attempt.
func (b *Backoff) Next() time.Duration {
	d := b.Max
	// Shifting Max down instead of Min up can't overflow.
	if b.attempt < 63 && b.Min < b.Max>>b.attempt {
		d = b.Min << b.attempt
	}
	b.attempt++
	return Spread(d, b.Jitter, b.Rand)
}

// Attempts is the number of delays since the last Reset.
func (b *Backoff) Attempts() int { return b.attempt }

// Reset starts over after a success.
func (b *Backoff) Reset() { b.attempt = 0 }

// Spread randomizes a share of d downwards: the result lies in
// [d*(1-share), d]. A nil random is the package's generator.
func Spread(d time.Duration, share float64, random func() float64) time.Duration {
	if random == nil {
		random = rand.Float64
	}
	return time.Duration(float64(d) * (1 - share*random()))
}
