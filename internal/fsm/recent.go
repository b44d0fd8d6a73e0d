package fsm

import (
	"slices"

	"github.com/muster-discovery/muster/internal/model"
)

// maxRecent bounds the table of recent commands. Proposers repeat a command around
// the loss of a leader, when few others are committed; at full load (34,000
// registrations a second on the yardstick) it covers a quarter of a second. All
// servers must agree on it: changing it is a change of the log format.
const maxRecent = 8192

// recent remembers the results of the last commands by request id, so that one
// which is repeated after a leader was lost is not applied twice. Part of the
// replicated state.
type recent struct {
	byID map[[16]byte]int // place in ring
	ring []done
	next int // place of the next entry once the ring is full: the oldest one's
}

type done struct {
	id     [16]byte
	result Result
}

func newRecent() *recent { return &recent{byID: make(map[[16]byte]int)} }

func (r *recent) find(id [16]byte) (Result, bool) {
	if i, ok := r.byID[id]; ok {
		return r.ring[i].result, true
	}
	return Result{}, false
}

// add remembers a result. Commands without an id are not remembered.
func (r *recent) add(id [16]byte, result Result) {
	if id == [16]byte{} {
		return
	}
	if len(r.ring) < maxRecent {
		r.byID[id] = len(r.ring)
		r.ring = append(r.ring, done{id, result})
		return
	}
	delete(r.byID, r.ring[r.next].id)
	r.ring[r.next] = done{id, result}
	r.byID[id] = r.next
	r.next = (r.next + 1) % maxRecent
}

// clone is the list of what is remembered, oldest first.
func (r *recent) clone() []done { return slices.Concat(r.ring[r.next:], r.ring[:r.next]) }

// Err as a model.Error; nil if there is none.
func (d *done) err() *model.Error {
	e, _ := d.result.Err.(*model.Error)
	return e
}
