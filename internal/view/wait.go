package view

import (
	"context"
	"time"

	"github.com/muster-discovery/muster/internal/model"
)

// Wait returns the topic's content once its index is above minIndex, or the
// current one when ctx ends. It also returns after a restore, whatever the index
// then is, since indexes that a caller knows may mean something else afterwards.
// Topics that nothing is known about can be waited for as well.
func (h *Hub) Wait(ctx context.Context, t model.Topic, minIndex uint64) *Content {
	return h.wait(ctx, t, minIndex, nil)
}

// WaitFor is Wait that also ends after a time, without the cost of a context for
// each waiter.
func (h *Hub) WaitFor(ctx context.Context, t model.Topic, minIndex uint64, d time.Duration) *Content {
	// Most calls that find something newer need no timer.
	if c := h.Content(t); c.Index > minIndex || d <= 0 {
		return c
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	return h.wait(ctx, t, minIndex, timer.C)
}

func (h *Hub) wait(ctx context.Context, t model.Topic, minIndex uint64, timeout <-chan time.Time) *Content {
	v := h.pin(t)
	defer h.unpin(v)
	first := v.current(h)
	for b := first; ; b = v.current(h) {
		if b.content.Index > minIndex || b.content.epoch != first.content.epoch {
			return b.content
		}
		changed := v.changes(b.label)
		if changed == nil {
			continue
		}
		select {
		case <-changed:
		case <-timeout:
			return v.current(h).content
		case <-ctx.Done():
			return v.current(h).content
		}
	}
}

func (h *Hub) pin(t model.Topic) *live {
	for {
		v := h.views.find(t)
		if v == nil {
			v = h.add(t, true)
		}
		if v.pin() {
			v.markUsed()
			return v
		}
	}
}

// unpin ends a wait. A view that nobody waits on, that holds nothing and never did
// goes at once: names that don't exist are without number.
func (h *Hub) unpin(v *live) {
	if v.waiters.Add(-1) > 0 {
		return
	}
	if b := v.built.Load(); (b == nil || len(b.content.Items) == 0) && !v.remembers() {
		h.mu.Lock()
		h.evictLocked(v)
		h.mu.Unlock()
	}
}
