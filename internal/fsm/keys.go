package fsm

import (
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/muster-discovery/muster/internal/model"
)

// The codec of keys, sessions and transactions. The numbers are those of
// pb/log.proto.

// embed writes an embedded message.
func (w *writer) embed(num protowire.Number, fill func()) {
	start := w.begin(num)
	fill()
	w.end(start)
}

// embedded reads the embedded message that is the current field.
func (r *reader) embedded(read func(m *reader)) {
	m := r.message()
	read(&m)
	r.fail(m.err)
}

// onlyID reads a message that holds nothing but an id.
func (r *reader) onlyID(message string) (id string) {
	for r.next() {
		if r.num != 1 {
			r.unknown(message)
			break
		}
		id = r.string()
	}
	return id
}

func (w *writer) fence(num protowire.Number, f *model.Fence) {
	if f == nil {
		return
	}
	w.embed(num, func() {
		w.key(1, f.Key)
		w.uint(2, f.Token)
	})
}

func (r *reader) fence() *model.Fence {
	f := new(model.Fence)
	r.embedded(func(m *reader) {
		for m.next() {
			switch m.num {
			case 1:
				f.Key = m.string()
			case 2:
				f.Token = m.uint()
			default:
				m.unknown("Fence")
			}
		}
	})
	return f
}

func (w *writer) kvOp(o *model.KVOp) {
	w.uint(1, uint64(o.Verb))
	w.key(2, o.Key)
	w.optional(3, o.Value)
	w.uint(4, o.Flags)
	w.string(5, o.Session)
	w.uint(6, o.Index)
	w.fence(7, o.Fence)
}

func (r *reader) kvOp(o *model.KVOp) {
	for r.next() {
		switch r.num {
		case 1:
			o.Verb = model.KVVerb(r.verb("KVOp", uint64(model.KVCheckNotExists)))
		case 2:
			o.Key = r.string()
		case 3:
			o.Value = r.bytes()
		case 4:
			o.Flags = r.uint()
		case 5:
			o.Session = r.string()
		case 6:
			o.Index = r.uint()
		case 7:
			o.Fence = r.fence()
		default:
			r.unknown("KVOp")
		}
	}
	if o.Verb == 0 {
		r.fail(errMalformed)
	}
}

// verb reads a number that says what to do: one above the last is of a newer version.
func (r *reader) verb(message string, last uint64) uint8 {
	v := r.uint()
	switch {
	case v == 0:
		r.fail(errMalformed)
	case v > last:
		r.unknown(message)
	}
	return uint8(v)
}

func (w *writer) sessionCreation(o *model.SessionCreation) {
	w.embed(1, func() { w.session(&o.Session) })
}

func (r *reader) sessionCreation(o *model.SessionCreation) {
	for r.next() {
		if r.num != 1 {
			r.unknown("SessionCreation")
			break
		}
		r.embedded(func(m *reader) { m.session(&o.Session) })
	}
}

func (w *writer) expiry(o *model.Expiry) {
	for _, id := range o.Sessions {
		w.text(1, id)
	}
	for i := range o.Delays {
		w.embed(2, func() { w.lockDelay(&o.Delays[i]) })
	}
}

func (r *reader) expiry(o *model.Expiry) {
	for r.next() {
		switch r.num {
		case 1:
			o.Sessions = append(o.Sessions, r.string())
		case 2:
			var d model.LockDelay
			r.embedded(func(m *reader) { m.lockDelay(&d) })
			o.Delays = append(o.Delays, d)
		default:
			r.unknown("Expiry")
		}
	}
}

func (w *writer) txn(o *model.Txn) {
	for i := range o.Ops {
		w.embed(1, func() { w.txnOp(&o.Ops[i]) })
	}
	w.fence(2, o.Fence)
}

func (r *reader) txn(o *model.Txn) {
	for r.next() {
		switch r.num {
		case 1:
			var op model.TxnOp
			r.embedded(func(m *reader) { m.txnOp(&op) })
			o.Ops = append(o.Ops, op)
		case 2:
			o.Fence = r.fence()
		default:
			r.unknown("Txn")
		}
	}
}

func (w *writer) txnOp(o *model.TxnOp) {
	switch {
	case o.KV != nil:
		w.embed(1, func() { w.kvOp(o.KV) })
	case o.Node != nil:
		w.embed(2, func() {
			w.uint(1, uint64(o.Node.Verb))
			w.embed(2, func() { w.node(&o.Node.Node) })
		})
	case o.Service != nil:
		w.embed(3, func() {
			w.uint(1, uint64(o.Service.Verb))
			w.embed(2, func() { w.service(&o.Service.Service) })
		})
	case o.Check != nil:
		w.embed(4, func() {
			w.uint(1, uint64(o.Check.Verb))
			w.embed(2, func() { w.check(&o.Check.Check) })
		})
	case o.Session != nil:
		w.embed(5, func() {
			w.uint(1, uint64(o.Session.Verb))
			w.string(2, o.Session.ID)
		})
	}
}

func (r *reader) txnOp(o *model.TxnOp) {
	seen := 0
	for r.next() {
		seen++
		switch r.num {
		case 1:
			o.KV = new(model.KVOp)
			r.embedded(func(m *reader) { m.kvOp(o.KV) })
		case 2:
			o.Node = new(model.NodeOp)
			o.Node.Verb = r.catalogOp("NodeOp", func(m *reader) {
				m.embedded(func(m *reader) { m.node(&o.Node.Node) })
			})
		case 3:
			o.Service = new(model.ServiceOp)
			o.Service.Verb = r.catalogOp("ServiceOp", func(m *reader) {
				m.embedded(func(m *reader) { m.service(&o.Service.Service) })
			})
		case 4:
			o.Check = new(model.CheckOp)
			o.Check.Verb = r.catalogOp("CheckOp", func(m *reader) {
				m.embedded(func(m *reader) { m.check(&o.Check.Check) })
			})
		case 5:
			o.Session = new(model.SessionOp)
			o.Session.Verb = r.catalogOp("SessionOp", func(m *reader) { o.Session.ID = m.string() })
		default:
			r.unknown("TxnOp")
		}
	}
	if seen != 1 {
		r.fail(errMalformed)
	}
}

// catalogOp reads a verb (1) and what it is about (2).
func (r *reader) catalogOp(message string, object func(m *reader)) (verb model.CatalogVerb) {
	r.embedded(func(m *reader) {
		for m.next() {
			switch m.num {
			case 1:
				verb = model.CatalogVerb(m.verb(message, uint64(model.CatalogDeleteCAS)))
			case 2:
				object(m)
			default:
				m.unknown(message)
			}
		}
		if verb == 0 {
			m.fail(errMalformed)
		}
	})
	return verb
}

func (w *writer) kvEntry(e *model.KVEntry) {
	w.key(1, e.Key)
	w.optional(2, e.Value)
	w.uint(3, e.Flags)
	w.string(4, e.Session)
	w.uint(5, e.LockIndex)
	w.uint(6, e.Token)
	w.uint(7, e.Create)
	w.uint(8, e.Modify)
}

func (r *reader) kvEntry(e *model.KVEntry) {
	for r.next() {
		switch r.num {
		case 1:
			e.Key = r.string()
		case 2:
			e.Value = r.bytes()
		case 3:
			e.Flags = r.uint()
		case 4:
			e.Session = r.name()
		case 5:
			e.LockIndex = r.uint()
		case 6:
			e.Token = r.uint()
		case 7:
			e.Create = r.uint()
		case 8:
			e.Modify = r.uint()
		default:
			r.unknown("KVEntry")
		}
	}
}

func (w *writer) session(s *model.Session) {
	w.string(1, s.ID)
	w.string(2, s.Name)
	w.string(3, s.Node)
	w.strings(4, s.NodeChecks)
	if s.ServiceChecks != nil {
		w.embed(5, func() {
			for _, c := range s.ServiceChecks {
				w.embed(1, func() {
					w.string(1, c.ID)
					w.string(2, c.Namespace)
				})
			}
		})
	}
	w.uint(6, uint64(s.LockDelay))
	w.string(7, s.Behavior)
	w.string(8, s.TTL)
	w.uint(9, s.Create)
	w.uint(10, s.Modify)
}

func (r *reader) session(s *model.Session) {
	for r.next() {
		switch r.num {
		case 1:
			s.ID = r.string()
		case 2:
			s.Name = r.name()
		case 3:
			s.Node = r.name()
		case 4:
			s.NodeChecks = r.strings()
		case 5:
			s.ServiceChecks = r.serviceChecks()
		case 6:
			s.LockDelay = time.Duration(r.uint())
		case 7:
			s.Behavior = r.name()
		case 8:
			s.TTL = r.name()
		case 9:
			s.Create = r.uint()
		case 10:
			s.Modify = r.uint()
		default:
			r.unknown("Session")
		}
	}
}

func (r *reader) serviceChecks() []model.ServiceCheck {
	list := []model.ServiceCheck{}
	r.embedded(func(m *reader) {
		for m.next() {
			if m.num != 1 {
				m.unknown("ServiceCheckList")
				break
			}
			var c model.ServiceCheck
			m.embedded(func(m *reader) {
				for m.next() {
					switch m.num {
					case 1:
						c.ID = m.name()
					case 2:
						c.Namespace = m.name()
					default:
						m.unknown("ServiceCheck")
					}
				}
			})
			list = append(list, c)
		}
	})
	return list
}

func (w *writer) lockDelay(d *model.LockDelay) {
	w.key(1, d.Key)
	w.uint(2, uint64(d.Delay))
	w.uint(3, d.Index)
}

func (r *reader) lockDelay(d *model.LockDelay) {
	for r.next() {
		switch r.num {
		case 1:
			d.Key = r.string()
		case 2:
			d.Delay = time.Duration(r.uint())
		case 3:
			d.Index = r.uint()
		default:
			r.unknown("LockDelay")
		}
	}
}
