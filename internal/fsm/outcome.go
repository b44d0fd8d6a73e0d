package fsm

import (
	"fmt"

	"github.com/muster-discovery/muster/internal/model"
)

// EncodeOutcome writes an outcome for Result.Data and for other servers.
func EncodeOutcome(o *model.Outcome) []byte {
	w := writer{buf: []byte{}} // never nil: nil stands for no outcome
	w.uint(1, o.Token)
	for i := range o.Results {
		w.embed(2, func() { w.txnResult(&o.Results[i]) })
	}
	for i := range o.Errors {
		e := &o.Errors[i]
		w.embed(3, func() {
			w.int(1, e.Op)
			w.string(2, e.Code)
			w.string(3, e.Text)
		})
	}
	return w.buf
}

// DecodeOutcome reads what EncodeOutcome wrote.
func DecodeOutcome(b []byte) (*model.Outcome, error) {
	o, r := new(model.Outcome), reader{buf: b}
	for r.next() {
		switch r.num {
		case 1:
			o.Token = r.uint()
		case 2:
			var v model.TxnResult
			r.embedded(func(m *reader) { m.txnResult(&v) })
			o.Results = append(o.Results, v)
		case 3:
			var e model.TxnError
			r.embedded(func(m *reader) { m.txnError(&e) })
			o.Errors = append(o.Errors, e)
		default:
			r.unknown("Outcome")
		}
	}
	if r.err != nil {
		return nil, fmt.Errorf("decode outcome: %w", r.err)
	}
	return o, nil
}

func (w *writer) txnResult(v *model.TxnResult) {
	switch {
	case v.KV != nil:
		w.embed(1, func() { w.kvEntry(v.KV) })
	case v.Node != nil:
		w.embed(2, func() { w.node(v.Node) })
	case v.Service != nil:
		w.embed(3, func() { w.service(v.Service) })
	case v.Check != nil:
		w.embed(4, func() { w.check(v.Check) })
	case v.Session != nil:
		w.embed(5, func() { w.session(v.Session) })
	}
}

func (r *reader) txnResult(v *model.TxnResult) {
	seen := 0
	for r.next() {
		seen++
		switch r.num {
		case 1:
			v.KV = new(model.KVEntry)
			r.embedded(func(m *reader) { m.kvEntry(v.KV) })
		case 2:
			v.Node = new(model.Node)
			r.embedded(func(m *reader) { m.node(v.Node) })
		case 3:
			v.Service = new(model.Service)
			r.embedded(func(m *reader) { m.service(v.Service) })
		case 4:
			v.Check = new(model.Check)
			r.embedded(func(m *reader) { m.check(v.Check) })
		case 5:
			v.Session = new(model.Session)
			r.embedded(func(m *reader) { m.session(v.Session) })
		default:
			r.unknown("TxnResult")
		}
	}
	if seen != 1 {
		r.fail(errMalformed)
	}
}

func (r *reader) txnError(e *model.TxnError) {
	for r.next() {
		switch r.num {
		case 1:
			e.Op = r.int()
		case 2:
			e.Code = r.string()
		case 3:
			e.Text = r.string()
		default:
			r.unknown("TxnError")
		}
	}
}
