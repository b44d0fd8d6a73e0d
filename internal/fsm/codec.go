package fsm

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/muster-discovery/muster/internal/model"
)

// Format is the version of commands that this version writes: their first byte.
const Format = 1

// The operations' field numbers in Command.
const (
	opRegister   = 2
	opDeregister = 3
	opSetCARoots = 4
	opKV         = 5
	opCreate     = 6
	opDestroy    = 7
	opExpire     = 8
	opTxn        = 9
	opRenew      = 10
	opSetQuery   = 11
	opDropQuery  = 12
	opPlaceNodes = 13
	opAutopilot  = 14
	opHistory    = 15
)

// Encode writes a command in format 1. Equal commands have equal bytes.
func Encode(c *Command) ([]byte, error) {
	w := writer{buf: make([]byte, 0, 1024)}
	w.buf = append(w.buf, Format)
	start := w.begin(1)
	w.meta(&c.Meta)
	w.end(start)
	switch op := c.Op.(type) {
	case *model.Registration:
		start = w.begin(opRegister)
		w.registration(op)
	case *model.Deregistration:
		start = w.begin(opDeregister)
		w.deregistration(op)
	case *model.CARootSet:
		start = w.begin(opSetCARoots)
		w.rootSet(op)
	case *model.KVOp:
		start = w.begin(opKV)
		w.kvOp(op)
	case *model.SessionCreation:
		start = w.begin(opCreate)
		w.sessionCreation(op)
	case *model.SessionDestruction:
		start = w.begin(opDestroy)
		w.string(1, op.ID)
	case *model.SessionRenewal:
		start = w.begin(opRenew)
		w.string(1, op.ID)
	case *model.Expiry:
		start = w.begin(opExpire)
		w.expiry(op)
	case *model.Txn:
		start = w.begin(opTxn)
		w.txn(op)
	case *model.QuerySet:
		start = w.begin(opSetQuery)
		w.querySet(op)
	case *model.QueryDeletion:
		start = w.begin(opDropQuery)
		w.string(1, op.ID)
	case *model.CoordinateUpdate:
		start = w.begin(opPlaceNodes)
		w.coordinateUpdate(op)
	case *model.AutopilotSet:
		start = w.begin(opAutopilot)
		w.autopilotSet(op)
	case *model.KVHistorySet:
		start = w.begin(opHistory)
		w.embed(1, func() { w.history(&op.Config) })
	default:
		return nil, fmt.Errorf("encode command: unknown operation %T", c.Op)
	}
	w.end(start)
	return w.buf, nil
}

// Decode reads a command; it keeps no reference to b. Its error wraps a
// *model.Error of kind Invalid for bytes that no version writes; any other error
// says that a newer version wrote them.
func Decode(b []byte) (*Command, error) { return decode(b, nil) }

func decode(b []byte, n *names) (*Command, error) {
	c, err := decodeCommand(b, n)
	if err == errMalformed {
		err = model.Errorf(model.KindInvalid, "malformed command")
	}
	if err != nil {
		return nil, fmt.Errorf("decode command: %w", err)
	}
	return c, nil
}

func decodeCommand(b []byte, n *names) (*Command, error) {
	if len(b) == 0 || b[0] == 0 {
		return nil, errMalformed
	}
	if b[0] != Format {
		return nil, &newerError{fmt.Sprintf("command format %d, this version knows %d", b[0], Format)}
	}
	c, r := new(Command), reader{buf: b[1:], names: n}
	for r.next() {
		m := r.message()
		if r.num != 1 && c.Op != nil {
			r.fail(errMalformed) // one command, one operation
		}
		switch r.num {
		case 1:
			m.meta(&c.Meta)
		case opRegister:
			op := new(model.Registration)
			m.registration(op)
			c.Op = op
		case opDeregister:
			op := new(model.Deregistration)
			m.deregistration(op)
			c.Op = op
		case opSetCARoots:
			op := new(model.CARootSet)
			m.rootSet(op)
			c.Op = op
		case opKV:
			op := new(model.KVOp)
			m.kvOp(op)
			c.Op = op
		case opCreate:
			op := new(model.SessionCreation)
			m.sessionCreation(op)
			c.Op = op
		case opDestroy:
			c.Op = &model.SessionDestruction{ID: m.onlyID("SessionDestruction")}
		case opRenew:
			c.Op = &model.SessionRenewal{ID: m.onlyID("SessionRenewal")}
		case opExpire:
			op := new(model.Expiry)
			m.expiry(op)
			c.Op = op
		case opTxn:
			op := new(model.Txn)
			m.txn(op)
			c.Op = op
		case opSetQuery:
			op := new(model.QuerySet)
			m.querySet(op)
			c.Op = op
		case opDropQuery:
			c.Op = &model.QueryDeletion{ID: m.onlyID("QueryDeletion")}
		case opPlaceNodes:
			op := new(model.CoordinateUpdate)
			m.coordinateUpdate(op)
			c.Op = op
		case opAutopilot:
			op := new(model.AutopilotSet)
			m.autopilotSet(op)
			c.Op = op
		case opHistory:
			op := new(model.KVHistorySet)
			m.historySet(op)
			c.Op = op
		default:
			r.unknown("Command")
		}
		r.fail(m.err)
	}
	if r.err == nil && c.Op == nil {
		r.err = errMalformed
	}
	return c, r.err
}

func (w *writer) meta(m *model.CommandMeta) {
	if m.RequestID != [16]byte{} {
		w.optional(1, m.RequestID[:])
	}
	w.time(2, m.Time)
	w.string(3, m.Datacenter)
	w.string(4, m.Accessor)
	w.string(5, m.Source)
}

func (r *reader) meta(m *model.CommandMeta) {
	for r.next() {
		switch r.num {
		case 1:
			r.requestID(&m.RequestID)
		case 2:
			m.Time = r.time()
		case 3:
			m.Datacenter = r.name()
		case 4:
			m.Accessor = r.name()
		case 5:
			m.Source = r.name()
		default:
			r.unknown("Meta")
		}
	}
}

func (r *reader) requestID(id *[16]byte) {
	if r.want(protowire.BytesType) && copy(id[:], r.raw) != len(r.raw) || len(r.raw) != len(id) {
		r.fail(errMalformed)
	}
}

func (w *writer) registration(o *model.Registration) {
	w.string(1, o.Datacenter)
	start := w.begin(2)
	w.node(&o.Node)
	w.end(start)
	w.bool(3, o.SkipNodeUpdate)
	if o.Service != nil {
		start = w.begin(4)
		w.service(o.Service)
		w.end(start)
	}
	for _, c := range o.Checks {
		start = w.begin(5)
		w.check(c)
		w.end(start)
	}
}

func (r *reader) registration(o *model.Registration) {
	for r.next() {
		switch r.num {
		case 1:
			o.Datacenter = r.name()
		case 2:
			m := r.message()
			m.node(&o.Node)
			r.fail(m.err)
		case 3:
			o.SkipNodeUpdate = r.bool()
		case 4:
			m := r.message()
			o.Service = new(model.Service)
			m.service(o.Service)
			r.fail(m.err)
		case 5:
			m, c := r.message(), new(model.Check)
			m.check(c)
			r.fail(m.err)
			o.Checks = append(o.Checks, c)
		default:
			r.unknown("Registration")
		}
	}
}

func (w *writer) deregistration(o *model.Deregistration) {
	w.string(1, o.Datacenter)
	w.string(2, o.Node)
	w.string(3, o.ServiceID)
	w.string(4, o.CheckID)
}

func (r *reader) deregistration(o *model.Deregistration) {
	for r.next() {
		switch r.num {
		case 1:
			o.Datacenter = r.name()
		case 2:
			o.Node = r.string()
		case 3:
			o.ServiceID = r.string()
		case 4:
			o.CheckID = r.string()
		default:
			r.unknown("Deregistration")
		}
	}
}

func (w *writer) rootSet(o *model.CARootSet) {
	w.string(1, o.ClusterID)
	for _, c := range o.Roots {
		start := w.begin(2)
		w.root(c)
		w.end(start)
	}
	if o.ExpectIndex != nil {
		w.buf = protowire.AppendTag(w.buf, 3, protowire.VarintType)
		w.buf = protowire.AppendVarint(w.buf, *o.ExpectIndex)
	}
}

func (r *reader) rootSet(o *model.CARootSet) {
	for r.next() {
		switch r.num {
		case 1:
			o.ClusterID = r.string()
		case 2:
			m, c := r.message(), new(model.CARoot)
			m.root(c)
			r.fail(m.err)
			o.Roots = append(o.Roots, c)
		case 3:
			v := r.uint()
			o.ExpectIndex = &v
		default:
			r.unknown("CARootSet")
		}
	}
}
