package view

import (
	"sync"
	"sync/atomic"

	"github.com/muster-discovery/muster/internal/model"
)

// live is the place of one topic in the hub: its newest content, how stale that
// is, and who waits.
//
// No wake-up is lost, and no reader is served something older than the last
// Publish that returned before it asked, for these reasons:
//
//   - Publish is called after the change is visible in the source, and counts
//     touched up. A build reads touched before it reads the source and is labeled
//     with that count. So a build whose label equals touched has everything that was
//     published; a change that came later makes the label too small, even if the
//     build happened to see it already (then it is built once more, for nothing).
//   - A waiter takes the channel to wait on under the same mutex under which
//     touched is counted up and the channel taken away, and only if touched still
//     is the label of the content that it found wanting. If a Publish came in
//     between, it gets no channel and looks again.
//   - A view is added to the table before it is first built. A Publish that doesn't
//     find it came before, so its change is in the build.
//   - A view that somebody waits on stays in the table: pin and evict exclude each
//     other by the sign of waiters.
type live struct {
	topic model.Topic
	next  atomic.Pointer[live] // in its chain of the table
	slot  int                  // in Hub.all; guarded by Hub.mu

	built   atomic.Pointer[built]
	touched atomic.Uint64
	used    atomic.Bool  // since the clock hand last came by
	waiters atomic.Int64 // below 0: evicted, no longer in the table

	building sync.Mutex // one build at a time; the others wait for its result

	signal  sync.Mutex
	changed chan struct{} // closed when touched; nil if nobody waits yet
	before  uint64        // up to this index nothing touched the view since the last build

	ring      atomic.Pointer[ring] // recent changes; nil unless streamed lately
	streamed  atomic.Bool          // since the last sweep
	followed  atomic.Int64         // how many followers there are
	waking    atomic.Bool          // they are about to be woken
	following sync.Mutex
	followers []*Follow // guarded by following
}

// built is a content with the value of touched that it is no older than.
type built struct {
	content *Content
	label   uint64
}

// current returns a content with everything that was published before the call.
func (v *live) current(h *Hub) *built {
	if b := v.built.Load(); b != nil && b.label == v.touched.Load() {
		return b
	}
	v.building.Lock()
	defer v.building.Unlock()
	if b := v.built.Load(); b != nil && b.label == v.touched.Load() {
		return b
	}
	return v.build(h)
}

// refresh builds anew also if nothing was published.
func (v *live) refresh(h *Hub) *Content {
	v.building.Lock()
	defer v.building.Unlock()
	return v.build(h).content
}

// build is called with building held.
func (v *live) build(h *Hub) *built {
	label := v.touched.Load()
	epoch := h.epoch.Load()
	values, index := h.source.Items(v.topic)
	h.builds.Add(1)

	var old *Content
	var items []*Item
	if b := v.built.Load(); b != nil {
		old, items = b.content, b.content.Items
	}
	items, same := reuse(items, values)
	c := old
	if old == nil || !same || old.Index != max(index, 1) || old.epoch != epoch {
		c = newContent(v.topic, items, index, epoch)
	}
	if r := v.ring.Load(); r != nil {
		r.add(c, v.untouched())
	}
	b := &built{content: c, label: label}
	v.built.Store(b)
	return b
}

func (v *live) untouched() uint64 {
	v.signal.Lock()
	defer v.signal.Unlock()
	return v.before
}

// touch marks the view stale and has its waiters woken. It is called by the
// goroutine that applies commands, so it does not build and does not even close
// the channel itself: that costs time for each waiter.
func (v *live) touch(h *Hub) {
	v.signal.Lock()
	if b := v.built.Load(); b != nil && b.label == v.touched.Load() {
		v.before = h.progress.settled.Load()
	}
	v.touched.Add(1)
	changed := v.changed
	v.changed = nil
	v.signal.Unlock()
	if changed != nil {
		go v.wake(h, changed)
	}
	if v.followed.Load() > 0 && v.waking.CompareAndSwap(false, true) {
		go v.wakeFollowers(h)
	}
}

// wake builds first, so that the waiters find a content and don't queue for the
// build one behind the other.
func (v *live) wake(h *Hub, changed chan struct{}) {
	v.current(h)
	close(changed)
}

// changes returns a channel that is closed by the next touch, or nil if the view
// was touched after the build with that label.
func (v *live) changes(label uint64) <-chan struct{} {
	v.signal.Lock()
	defer v.signal.Unlock()
	if v.touched.Load() != label {
		return nil
	}
	if v.changed == nil {
		v.changed = make(chan struct{})
	}
	return v.changed
}

// pin keeps the view from being evicted; false if it was already.
func (v *live) pin() bool {
	for {
		n := v.waiters.Load()
		if n < 0 {
			return false
		}
		if v.waiters.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// retire makes pin fail from now on; false if somebody waits.
func (v *live) retire() bool { return v.waiters.CompareAndSwap(0, -1) }
