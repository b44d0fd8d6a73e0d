package view

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Ordered is what a source may be besides: one whose topics' indexes come from one
// counter. Index is that of the last change that is visible through Items.
type Ordered interface {
	Index() uint64
}

// progress is up to which index an ordered source's changes have been published: a
// content that is taken after settled was read has everything up to that. It stays
// at 0 for other sources.
type progress struct {
	settled    atomic.Uint64
	publishing sync.Mutex // held while a change is published

	mu      sync.Mutex
	reached chan struct{} // guarded by mu; closed when settled rises; nil if nobody waits
}

// begin returns the index that is settled once all topics have been touched.
func (p *progress) begin(src Source) uint64 {
	p.publishing.Lock()
	if o, ok := src.(Ordered); ok {
		return o.Index()
	}
	return 0
}

func (p *progress) end(index uint64) {
	p.settled.Store(index)
	p.publishing.Unlock()
	p.mu.Lock()
	reached := p.reached
	p.reached = nil
	p.mu.Unlock()
	if reached != nil {
		close(reached)
	}
}

// Settled is the index up to which every content has all changes that is taken after
// the call, 0 if the source has no common index.
func (h *Hub) Settled() uint64 { return h.progress.settled.Load() }

// Settle is Settled after the publication that is under way, if one is.
func (h *Hub) Settle() uint64 {
	h.progress.publishing.Lock()
	defer h.progress.publishing.Unlock()
	return h.progress.settled.Load()
}

// WaitSettled waits until everything up to the index is settled; false if that takes
// longer than d or ctx ends.
func (h *Hub) WaitSettled(ctx context.Context, index uint64, d time.Duration) bool {
	if h.Settled() >= index {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	p := &h.progress
	for {
		p.mu.Lock()
		if p.reached == nil {
			p.reached = make(chan struct{})
		}
		reached := p.reached
		p.mu.Unlock()
		if h.Settled() >= index {
			return true
		}
		select {
		case <-reached:
		case <-timer.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
}
