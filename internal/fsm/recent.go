package fsm

import (
	"slices"
	"strings"

	"github.com/muster-discovery/muster/internal/model"
)

// maxRecent bounds the table of recent commands. Proposers repeat a command around
// the loss of a leader, when few others are committed; at full load (34,000
// registrations a second on the yardstick) it covers two seconds. All servers must
// agree on these numbers: changing one is a change of the log format.
const maxRecent = 65536

// maxRecentData bounds the outcomes kept with them. Beyond it the oldest are
// forgotten: a repeated command is then told that its result is lost. Small ones
// (tokens of locks) always stay. maxRecentText does the same for texts of errors,
// which hold names that clients chose.
const (
	maxRecentData = 16 << 20
	smallData     = 32
	maxRecentText = 512
)

// recent remembers the results of the last commands by request id, so that one
// which is repeated after a leader was lost is not applied twice. Part of the
// replicated state.
type recent struct {
	byID map[[16]byte]int // place in ring
	ring []done
	next int // place of the next entry once the ring is full: the oldest one's

	data int // bytes of outcomes that are not small
	lean int // entries from the oldest on that hold none of these
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
	if e, ok := result.Err.(*model.Error); ok && len(e.Text) > maxRecentText {
		short := *e
		short.Text = strings.ToValidUTF8(e.Text[:maxRecentText], "")
		result.Err = &short
	}
	if n := len(result.Data); n > smallData {
		r.data += n
	}
	if len(r.ring) < maxRecent {
		r.byID[id] = len(r.ring)
		r.ring = append(r.ring, done{id, result})
	} else {
		oldest := &r.ring[r.next]
		if n := len(oldest.result.Data); n > smallData {
			r.data -= n
		}
		r.lean = max(r.lean-1, 0)
		delete(r.byID, oldest.id)
		*oldest = done{id, result}
		r.byID[id] = r.next
		r.next = (r.next + 1) % maxRecent
	}
	for r.data > maxRecentData {
		e := &r.ring[(r.next+r.lean)%len(r.ring)]
		if n := len(e.result.Data); n > smallData {
			r.data -= n
			e.result.Data = nil
		}
		r.lean++
	}
}

// clone is the list of what is remembered, oldest first.
func (r *recent) clone() []done { return slices.Concat(r.ring[r.next:], r.ring[:r.next]) }

// Err as a model.Error; nil if there is none.
func (d *done) err() *model.Error {
	e, _ := d.result.Err.(*model.Error)
	return e
}
