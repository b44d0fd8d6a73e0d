package view

import "sync"

// Bounds of what a ring remembers. A client that was away for some seconds comes
// back within them; who is further behind gets everything anew, which costs a
// connection one copy of a frame that is shared.
const (
	ringSteps   = 256
	ringTouches = 2048 // of all steps but the last
)

// ring remembers the last changes of a topic that somebody streams, and gives what
// is between one of its positions and the present as one change.
//
// A position is an index. The content between two steps is known to be that of every
// index from the one it was built with up to the last one before which the topic is
// known not to have been touched; see step. Other positions are unknown: a client
// that comes from another server may have seen something there that was never
// built here.
type ring struct {
	mu      sync.Mutex
	head    *Content
	floor   uint64 // the oldest known position
	steps   []step // oldest first
	touches int    // in steps
	merged  map[int]*Change
}

// step is one change, from the content before to the one after.
type step struct {
	until   uint64 // the last position of the content before
	to      uint64 // the first position of the content after
	touched []touch
}

// touch is one item of a step: what was there, nil if nothing, and a value with its
// key.
type touch struct{ was, key any }

func newRing(c *Content) *ring {
	return &ring{head: c, floor: c.Index, merged: make(map[int]*Change)}
}

// add takes the content that follows. Until is an index before which nothing touched
// the topic after the last content, 0 if that is not known.
func (r *ring) add(c *Content, until uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.head
	if c == old {
		return
	}
	r.head = c
	clear(r.merged)
	if c.epoch != old.epoch || c.Index < old.Index {
		r.floor, r.steps, r.touches = c.Index, nil, 0
		return
	}
	// Without any difference the step counts all the same: within a batch of commands
	// something may have come and gone.
	touched := compare(old.Items, c.Items)
	until = max(until, old.Index)
	if until >= c.Index {
		until = old.Index // of no use; nothing says so, then
	}
	r.steps = append(r.steps, step{until: until, to: c.Index, touched: touched})
	r.touches += len(touched)
	for len(r.steps) > ringSteps || len(r.steps) > 1 && r.touches > ringTouches+len(touched) {
		r.touches -= len(r.steps[0].touched)
		r.floor = r.steps[0].to
		r.steps[0] = step{} // its values can go before the list moves
		r.steps = r.steps[1:]
	}
}

// locate finds how many steps lead to the content that a position had. Known is the
// index up to which the present content is the newest one.
func (r *ring) locate(position, known uint64) (steps int, ok bool) {
	if position < r.floor || position > max(known, r.head.Index) {
		return 0, false
	}
	for i := len(r.steps) - 1; i >= 0; i-- {
		switch s := &r.steps[i]; {
		case position >= s.to:
			return i + 1, true
		case position > s.until:
			return 0, false
		}
	}
	return 0, true
}

// past is what lies between a position and the present content.
type past struct {
	head   *Content
	change *Change // nil: nothing
	steps  int     // of which the change is made
	until  uint64  // with a change: nothing changed up to here
}

// since looks back to a position; false if that is not known. Known is as for locate.
func (r *ring) since(position, known uint64) (past, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := past{head: r.head}
	at, ok := r.locate(position, known)
	if p.steps = len(r.steps) - at; !ok || p.steps == 0 {
		return p, ok
	}
	p.until = r.steps[at].until
	if p.change = r.merged[at]; p.change == nil {
		var touches []touch
		for _, s := range r.steps[at:] {
			touches = append(touches, s.touched...)
		}
		p.change = merge(touches, r.head)
		r.merged[at] = p.change
	}
	return p, true
}

// trim forgets what was made for those who lagged.
func (r *ring) trim() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.merged)
}

// compare lists what differs between two lists in the topic's order.
func compare(old, new []*Item) []touch {
	var list []touch
	i, j := 0, 0
	for i < len(old) || j < len(new) {
		switch {
		case i < len(old) && j < len(new) && old[i] == new[j]:
			i, j = i+1, j+1
		case j == len(new) || i < len(old) && order(old[i].Value, new[j].Value) < 0:
			list = append(list, touch{was: old[i].Value, key: old[i].Value})
			i++
		case i == len(old) || order(old[i].Value, new[j].Value) > 0:
			list = append(list, touch{key: new[j].Value})
			j++
		default:
			list = append(list, touch{was: old[i].Value, key: old[i].Value})
			i, j = i+1, j+1
		}
	}
	return list
}
