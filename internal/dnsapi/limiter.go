package dnsapi

import (
	"hash/maphash"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// limiter bounds the answers to each source with a token bucket. Its memory is
// fixed: 65,536 sources in sets of 8, of which a new source takes the place of the
// one that comes closest to a full bucket, which loses the least by it.
type limiter struct {
	config   RateLimit
	interval int64 // nanoseconds in which a token grows
	room     int64 // the bucket's size, in nanoseconds
	v4, v6   int   // bits of an address that make a source
	seed     maphash.Seed
	start    time.Time
	locks    [limiterLocks]sync.Mutex // each guards every limiterLocks-th set
	sets     [limiterSets][limiterWays]bucket
}

const (
	limiterSets  = 8192
	limiterWays  = 8
	limiterLocks = 64
)

// bucket holds when a source's bucket will be full again (the generic cell rate
// algorithm: one number instead of a level and a time).
type bucket struct {
	source uint64 // hash with a seed that nobody outside knows
	full   int64
	over   uint32 // answers left out in a row
}

// admission is what becomes of a question.
type admission uint8

const (
	admitted admission = iota
	dropped
	slipped
)

// newLimiter is nil without a limit.
func newLimiter(c RateLimit) *limiter {
	if c.PerSecond <= 0 {
		return nil
	}
	burst := c.Burst
	if burst <= 0 {
		burst = c.PerSecond
	}
	l := &limiter{config: c, v4: 32, v6: 128, seed: maphash.MakeSeed(), start: time.Now()}
	l.interval = max(int64(time.Second)/int64(c.PerSecond), 1)
	l.room = l.interval * int64(burst)
	if c.IPv4Bits > 0 {
		l.v4 = min(c.IPv4Bits, 32)
	}
	if c.IPv6Bits > 0 {
		l.v6 = min(c.IPv6Bits, 128)
	}
	return l
}

// admit takes a token from the source's bucket.
func (l *limiter) admit(from netip.Addr, now time.Time) admission {
	from = from.Unmap().WithZone("")
	for _, p := range l.config.Exempt {
		if p.Contains(from) {
			return admitted
		}
	}
	source := l.source(from)
	n := source % limiterSets
	mu := &l.locks[n%limiterLocks]
	mu.Lock()
	defer mu.Unlock()
	b := &l.sets[n][0]
	for i := range l.sets[n] {
		e := &l.sets[n][i]
		if e.source == source {
			b = e
			break
		}
		if e.full < b.full {
			b = e
		}
	}
	if b.source != source {
		*b = bucket{source: source}
	}
	at := int64(now.Sub(l.start))
	if full := max(b.full, at) + l.interval; full-at <= l.room {
		b.full, b.over = full, 0
		return admitted
	}
	b.over++
	if l.config.Slip > 0 && b.over%uint32(l.config.Slip) == 0 {
		return slipped
	}
	return dropped
}

// source hashes what tells sources apart.
func (l *limiter) source(from netip.Addr) uint64 {
	bits := l.v6
	if from.Is4() {
		bits = l.v4
	}
	p, _ := from.Prefix(bits)
	b := p.Addr().As16() // the families stay apart
	return maphash.Bytes(l.seed, b[:])
}

func (c RateLimit) equal(d RateLimit) bool {
	exempt := slices.Equal(c.Exempt, d.Exempt)
	return exempt && c.PerSecond == d.PerSecond && c.Burst == d.Burst && c.Slip == d.Slip && c.IPv4Bits == d.IPv4Bits && c.IPv6Bits == d.IPv6Bits
}

// limited decides over a datagram and returns the reply if it is not to be answered
// as usual; no reply means silence.
func (w *worker) limited(set *settings, from netip.Addr, now time.Time, in, out []byte) (reply []byte, limited bool) {
	switch set.limiter.admit(from, now) {
	case dropped:
		w.server.metrics.dropped.Add(1)
		return nil, true
	case slipped:
		w.server.metrics.slipped.Add(1)
		switch w.query.parse(in) {
		case asked, unusual:
			return w.empty(set, in, out, true, flagTC, rcodeSuccess), true
		}
		return nil, true
	}
	return nil, false
}
