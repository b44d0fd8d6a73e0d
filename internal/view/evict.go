package view

import (
	"strings"

	"github.com/muster-discovery/muster/internal/model"
)

// maxSteps bounds the search for a view to evict, which readers of other new
// topics wait for.
const maxSteps = 256

func (v *live) markUsed() {
	// Reading first keeps the cache line shared between readers.
	if !v.used.Load() {
		v.used.Store(true)
	}
}

// add returns the topic's view, a new one if there is none. Without room it
// returns nil, unless the view is needed to wait on it.
func (h *Hub) add(t model.Topic, needed bool) *live {
	h.mu.Lock()
	defer h.mu.Unlock()
	if v := h.views.find(t); v != nil {
		return v
	}
	// Two go for one that comes, where waiters had pushed the number above the bound.
	for range 2 {
		if len(h.all) < h.config.MaxViews {
			break
		}
		if !h.makeRoomLocked() {
			if !needed {
				return nil
			}
			break
		}
	}
	t.Name = strings.Clone(t.Name)
	v := &live{topic: t, slot: len(h.all)}
	v.used.Store(true)
	h.all = append(h.all, v)
	h.views.addLocked(v)
	h.prefixes.add(v)
	return v
}

// makeRoomLocked evicts one view by the clock algorithm: the hand passes views
// used since its last visit, and takes the first other one.
func (h *Hub) makeRoomLocked() bool {
	for range min(2*len(h.all), maxSteps) {
		h.hand++
		if h.hand >= len(h.all) {
			h.hand = 0
		}
		v := h.all[h.hand]
		if !v.used.Swap(false) && h.evictLocked(v) {
			return true
		}
	}
	return false
}

// evictLocked removes a view unless somebody waits on it.
func (h *Hub) evictLocked(v *live) bool {
	if !v.retire() {
		return false
	}
	h.views.removeLocked(v)
	h.prefixes.remove(v)
	last := h.all[len(h.all)-1]
	h.all[v.slot] = last
	last.slot = v.slot
	h.all[len(h.all)-1] = nil
	h.all = h.all[:len(h.all)-1]
	return true
}

// sweep evicts the views, and forgets the frames, that were not used since the
// last sweep.
func (h *Hub) sweep() {
	h.mu.Lock()
	defer h.mu.Unlock()
	// From the end, since evictions move the last view into the gap.
	for i := len(h.all) - 1; i >= 0; i-- {
		v := h.all[i]
		if !v.used.Swap(false) && h.evictLocked(v) {
			continue
		}
		if b := v.built.Load(); b != nil {
			if b.content.frames.trim() == 0 {
				b.content.dropFragments()
			}
		}
		v.forget()
	}
}
