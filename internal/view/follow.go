package view

import "github.com/muster-discovery/muster/internal/model"

// Follow is one topic as a stream follows it: it knows what the stream has of it, and
// gives what is new. All methods but those of the hub are for one goroutine.
//
// A follower holds no changes: what it has not asked for yet is in the ring of its
// topic, once for all followers, or it is gone from there, and then the follower gets
// everything anew. So a slow one costs nothing and holds nobody up.
type Follow struct {
	hub  *Hub
	live *live
	ring *ring
	wake chan<- struct{}
	slot int // in live.followers; guarded by live.following

	label   uint64 // of the build that it was last at
	epoch   uint64
	index   uint64 // what the stream has; 0: nothing
	started bool   // Next was called
}

// News is what a follower does not have yet.
type News struct {
	Content *Content // the present content
	Change  *Change  // leads to it from what the follower had; nil: take all of it
	// Reset, with no Change: the follower had something, and what happened since is
	// not known any more.
	Reset bool
	Steps int // how many changes the Change is made of
	// Until is an index up to which the follower's stream is known to lack nothing
	// before it has these news, 0 if none is known.
	Until uint64
}

// Follow begins to follow a topic. A signal is put into wake when there may be news;
// it needs room for one, and may be shared by many. The caller closes the follower.
func (h *Hub) Follow(t model.Topic, wake chan<- struct{}) *Follow {
	v := h.pin(t)
	f := &Follow{hub: h, live: v, wake: wake, epoch: h.epoch.Load()}
	v.following.Lock()
	f.slot = len(v.followers)
	v.followers = append(v.followers, f)
	v.followed.Store(int64(len(v.followers)))
	v.following.Unlock()
	v.streamed.Store(true)
	f.ring = v.record(h)
	return f
}

// Resume says what the stream has from an earlier follower, perhaps on another
// server. It returns false if it can't be said what happened since.
func (f *Follow) Resume(index uint64) bool {
	known := f.hub.Settled()
	f.live.current(f.hub)
	p, ok := f.ring.since(index, known)
	if index == 0 || !ok {
		return false
	}
	f.index, f.epoch = index, p.head.epoch
	return true
}

// Stale reports whether there may be news.
func (f *Follow) Stale() bool { return !f.started || f.live.touched.Load() != f.label }

// Next returns the news, which the stream then has; false if there are none. With a
// limit above 0 a content with a higher index is left for later: then the follower
// stays stale. Without news only Until is set, if the index rose with no change.
func (f *Follow) Next(limit uint64) (News, bool) {
	b := f.live.current(f.hub)
	p, ok := f.ring.since(f.index, f.index)
	follows := f.index > 0 && ok && p.head.epoch == f.epoch
	var n News
	if follows {
		n.Change, n.Steps, n.Until = p.change, p.steps, p.until
	}
	if limit > 0 && p.head.Index > limit {
		if follows && p.change == nil {
			n.Until = limit
		}
		return News{Until: n.Until}, false
	}
	f.label, f.started = b.label, true
	if follows && (p.change == nil || p.change.empty()) {
		if p.change != nil {
			f.index = p.head.Index
		}
		return News{Until: n.Until}, false
	}
	n.Content, n.Reset = p.head, f.index > 0 && !follows
	f.index, f.epoch = p.head.Index, p.head.epoch
	return n, true
}

// Restart makes Next give everything anew, with Reset set.
func (f *Follow) Restart() {
	f.started, f.epoch = false, ^uint64(0)
}

// Index is that of what the stream has, 0 if it has nothing.
func (f *Follow) Index() uint64 { return f.index }

// Close ends it. The topic's recent changes are kept for a while, so that the stream
// can be resumed.
func (f *Follow) Close() {
	v := f.live
	v.following.Lock()
	last := len(v.followers) - 1
	v.followers[f.slot] = v.followers[last]
	v.followers[f.slot].slot = f.slot
	v.followers[last] = nil
	v.followers = v.followers[:last]
	v.followed.Store(int64(last))
	v.following.Unlock()
	v.streamed.Store(true)
	v.markUsed()
	f.hub.unpin(v)
}

// record makes the view remember its changes from now on.
func (v *live) record(h *Hub) *ring {
	v.building.Lock()
	defer v.building.Unlock()
	if r := v.ring.Load(); r != nil {
		return r
	}
	b := v.built.Load()
	if b == nil {
		b = v.build(h)
	}
	r := newRing(b.content)
	v.ring.Store(r)
	return r
}

// forget ends the record of a view that was not streamed since the last call.
func (v *live) forget() {
	r := v.ring.Load()
	if r == nil {
		return
	}
	r.trim()
	if v.streamed.Swap(false) {
		return
	}
	// Whoever holds one of these is at work on the view; the next sweep comes.
	if !v.following.TryLock() {
		return
	}
	defer v.following.Unlock()
	if len(v.followers) == 0 && v.building.TryLock() {
		v.ring.Store(nil)
		v.building.Unlock()
	}
}

// remembers reports whether the view has changes to resume a stream from.
func (v *live) remembers() bool {
	r := v.ring.Load()
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.steps) > 0
}

// wakeFollowers builds first, so that the followers find the change made. While it
// is under way further touches start at most one more.
func (v *live) wakeFollowers(h *Hub) {
	v.following.Lock()
	defer v.following.Unlock()
	v.waking.Store(false)
	v.current(h)
	for _, f := range v.followers {
		select {
		case f.wake <- struct{}{}:
		default:
		}
	}
}
