package fsm

import (
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/state"
)

func (w *writer) header(h *state.Header) {
	w.uint(1, h.Index)
	w.uint(2, h.Floor)
	w.uint(3, uint64(h.NextVirtual))
	w.string(4, h.ClusterID)
	w.uint(5, h.KVFloor)
	w.uint(6, h.Fence)
	w.uint(7, h.Raised)
}

func (r *reader) header() (h state.Header) {
	for r.next() {
		switch r.num {
		case 1:
			h.Index = r.uint()
		case 2:
			h.Floor = r.uint()
		case 3:
			v := r.uint()
			if h.NextVirtual = uint32(v); uint64(h.NextVirtual) != v {
				r.fail(errMalformed)
			}
		case 4:
			h.ClusterID = r.string()
		case 5:
			h.KVFloor = r.uint()
		case 6:
			h.Fence = r.uint()
		case 7:
			h.Raised = r.uint()
		default:
			r.unknown("SnapshotHeader")
		}
	}
	return h
}

func (w *writer) topic(t *state.TopicRecord) {
	w.uint(1, uint64(t.Topic.Kind))
	w.string(2, t.Topic.Name)
	w.uint(3, t.Index)
}

func (r *reader) topic() (t state.TopicRecord) {
	for r.next() {
		switch r.num {
		case 1:
			v := r.uint()
			if t.Topic.Kind = model.TopicKind(v); uint64(t.Topic.Kind) != v {
				r.fail(errMalformed)
			}
		case 2:
			t.Topic.Name = r.string()
		case 3:
			t.Index = r.uint()
		default:
			r.unknown("TopicIndex")
		}
	}
	return t
}

func (w *writer) keyTomb(d *state.KeyTombRecord) {
	w.key(1, d.Key)
	w.uint(2, d.Index)
}

func (r *reader) keyTomb() (d state.KeyTombRecord) {
	for r.next() {
		switch r.num {
		case 1:
			d.Key = r.string()
		case 2:
			d.Index = r.uint()
		default:
			r.unknown("KeyTomb")
		}
	}
	return d
}

func (w *writer) done(d *done) {
	w.optional(1, d.id[:])
	w.uint(2, d.result.Index)
	if e := d.err(); e != nil {
		start := w.begin(3)
		w.uint(1, uint64(e.Kind))
		w.string(2, e.Field)
		w.string(3, e.Text)
		w.end(start)
	}
	w.optional(4, d.result.Data)
}

func (r *reader) doneRecord() (d done) {
	for r.next() {
		switch r.num {
		case 1:
			r.requestID(&d.id)
		case 2:
			d.result.Index = r.uint()
		case 3:
			d.result.Err = r.error()
		case 4:
			d.result.Data = r.bytes()
		default:
			r.unknown("Recent")
		}
	}
	if d.id == [16]byte{} {
		r.fail(errMalformed)
	}
	return d
}

func (r *reader) error() error {
	m, e := r.message(), new(model.Error)
	for m.next() {
		switch m.num {
		case 1:
			v := m.uint()
			if e.Kind = model.ErrorKind(v); uint64(e.Kind) != v {
				m.fail(errMalformed)
			}
		case 2:
			e.Field = m.string()
		case 3:
			e.Text = m.string()
		default:
			m.unknown("Error")
		}
	}
	r.fail(m.err)
	return e
}
