package state

import (
	"errors"
	"fmt"

	"github.com/muster-discovery/muster/internal/model"
)

// RevisionRecord is a revision in a snapshot. Present ones have no entry there: it is
// the key's.
type RevisionRecord struct {
	model.Revision
	Present bool
}

// historyRecords are the setting and the revisions by key and index.
func (s *Snapshot) historyRecords(yield func(v any) error) (err error) {
	if s.t.history == nil {
		return nil
	}
	if err := yield(s.t.history); err != nil {
		return err
	}
	s.t.revisions.Scan(func(r *revision) bool {
		rec := RevisionRecord{Revision: *r.value()}
		if r.entry != nil && s.t.key(r.key) == r.entry {
			rec.Entry, rec.Present = nil, true
		}
		err = yield(rec)
		return err == nil
	})
	return err
}

var errTwoHistories = errors.New("setting of the keys' history: twice")

func (r *Restorer) addHistory(h *model.KVHistory) error {
	if r.s.work.history != nil {
		return errTwoHistories
	}
	r.s.work.history = h
	return nil
}

func (r *Restorer) addRevision(rec RevisionRecord) error {
	t := r.s.work
	wrong := func(what string) error {
		return fmt.Errorf("revision of key %q at %d: %s", rec.Key, rec.Index, what)
	}
	if rec.Key == "" || rec.Index < firstIndex || rec.Index > t.index || t.history == nil {
		return wrong("no key, impossible index, or no history is kept")
	}
	next := &revision{key: rec.Key, from: r.origin(&rec.Revision), entry: rec.Entry, kind: rec.Kind, txn: rec.Txn}
	last := r.last
	switch {
	case last == nil:
	case !lessRevision(last, next):
		return wrong("twice, or out of order")
	case last.key != next.key:
		last = nil
	case last.entry != nil && t.key(next.key) == last.entry:
		return wrong("after the present one")
	}
	if rec.Present {
		if next.entry = t.key(rec.Key); next.entry == nil || next.entry.Modify != rec.Index {
			return wrong("it is not the present one")
		}
		next.key = next.entry.Key
	}
	r.s.addRevision(next, last)
	r.last = next
	return nil
}

// origin shares what the revisions of one command have in common.
func (r *Restorer) origin(v *model.Revision) *origin {
	if v.Kind == model.RevisionUnknown { // of its own: the command's other keys may be known
		return &origin{index: v.Index}
	}
	from := r.from[v.Index]
	if from == nil {
		from = &origin{index: v.Index, time: v.Time, accessor: v.Accessor, source: v.Source}
		r.from[v.Index] = from
	}
	return from
}
