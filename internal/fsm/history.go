package fsm

import (
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/state"
)

// The codec of the history of keys. The numbers are those of pb/log.proto.

func (r *reader) historySet(o *model.KVHistorySet) {
	for r.next() {
		if r.num != 1 {
			r.unknown("KVHistorySet")
			break
		}
		r.embedded(func(m *reader) { m.history(&o.Config) })
	}
}

func (w *writer) history(h *model.KVHistory) {
	w.uint(1, h.Revisions)
	w.uint(2, h.MaxBytes)
	w.uint(3, h.Create)
	w.uint(4, h.Modify)
}

func (r *reader) history(h *model.KVHistory) {
	for r.next() {
		switch r.num {
		case 1:
			h.Revisions = r.uint()
		case 2:
			h.MaxBytes = r.uint()
		case 3:
			h.Create = r.uint()
		case 4:
			h.Modify = r.uint()
		default:
			r.unknown("KVHistory")
		}
	}
}

// revision writes of an entry only what history shows.
func (w *writer) revision(v *state.RevisionRecord) {
	w.key(1, v.Key)
	w.uint(2, v.Index)
	w.time(3, v.Time)
	w.string(4, v.Accessor)
	w.string(5, v.Source)
	w.uint(6, uint64(v.Kind))
	w.bool(7, v.Txn)
	w.bool(8, v.Present)
	if e := v.Entry; e != nil {
		w.embed(9, func() { w.kvEntry(&model.KVEntry{Value: e.Value, Flags: e.Flags, Session: e.Session}) })
	}
}

func (r *reader) revision() (v state.RevisionRecord) {
	for r.next() {
		switch r.num {
		case 1:
			v.Key = r.string()
		case 2:
			v.Index = r.uint()
		case 3:
			v.Time = r.time()
		case 4:
			v.Accessor = r.name()
		case 5:
			v.Source = r.name()
		case 6:
			v.Kind = r.revisionKind()
		case 7:
			v.Txn = r.bool()
		case 8:
			v.Present = r.bool()
		case 9:
			v.Entry = new(model.KVEntry)
			r.embedded(func(m *reader) { m.kvEntry(v.Entry) })
		default:
			r.unknown("Revision")
		}
	}
	if v.Entry != nil {
		v.Entry.Key, v.Entry.Modify = v.Key, v.Index
	}
	return v
}

func (r *reader) revisionKind() model.RevisionKind {
	v := r.uint()
	k := model.RevisionKind(v)
	if uint64(k) != v || k.String() == "" {
		r.unknown("Revision")
	}
	return k
}
