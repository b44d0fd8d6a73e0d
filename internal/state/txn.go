package state

import (
	"errors"

	"github.com/muster-discovery/muster/internal/model"
)

// Transact does all operations of a transaction, or none: then the errors say which
// ones could not be done and why. Operations that follow a failed one are tried all
// the same, so that all faults are told at once.
func (b *Batch) Transact(meta *model.CommandMeta, txn *model.Txn) (index uint64, out *model.Outcome, err error) {
	index = b.begin(meta)
	if err := b.s.work.checkFence(txn.Fence); err != nil {
		return index, nil, err
	}
	saved := b.save()
	out = new(model.Outcome)
	size := 0
	for i := range txn.Ops {
		results, err := b.step(&txn.Ops[i])
		for _, r := range results {
			if r.KV != nil {
				size += len(r.KV.Key) + len(r.KV.Value) + entryOverhead
			}
		}
		if err == nil && size > maxTxnResult {
			err = refuse(model.KindInvalid, model.CodeTooLarge,
				"the transaction's results are larger than %d bytes; read trees in a transaction that only reads", maxTxnResult)
		}
		if err != nil {
			out.Errors = append(out.Errors, txnError(i, err))
			continue
		}
		out.Results = append(out.Results, results...)
	}
	if len(out.Errors) > 0 {
		b.rollback(saved)
		out.Results = nil
		return index, out, nil
	}
	b.keep()
	b.end()
	return index, out, nil
}

// maxTxnResult bounds what the values read by a transaction that writes may take: its
// outcome travels between servers and is kept with its request id. All servers must
// agree on it. entryOverhead is what an entry takes beside its key and value.
const (
	maxTxnResult  = 4 << 20
	entryOverhead = 64
)

func txnError(op int, err error) model.TxnError {
	e := model.TxnError{Op: op, Code: model.CodeInvalid, Text: err.Error()}
	var m *model.Error
	if errors.As(err, &m) && m.Field != "" {
		e.Code = m.Field
	}
	return e
}

// ReadTxn does a transaction that only reads.
func (s *Snapshot) ReadTxn(txn *model.Txn) (*model.Outcome, error) {
	if err := s.t.checkFence(txn.Fence); err != nil {
		return nil, err
	}
	out := new(model.Outcome)
	for i := range txn.Ops {
		results, err := s.t.readOp(&txn.Ops[i])
		if err != nil {
			out.Errors = append(out.Errors, txnError(i, err))
			continue
		}
		out.Results = append(out.Results, results...)
	}
	if len(out.Errors) > 0 {
		out.Results = nil
	}
	return out, nil
}

func (b *Batch) step(op *model.TxnOp) ([]model.TxnResult, error) {
	if op.Reads() {
		return b.s.work.readOp(op)
	}
	switch {
	case op.KV != nil:
		entry, err := b.writeKV(op.KV)
		if err != nil || entry == nil {
			return nil, err
		}
		return withoutValue(entry), nil
	case op.Node != nil:
		return b.stepNode(op.Node)
	case op.Service != nil:
		return b.stepService(op.Service)
	case op.Check != nil:
		return b.stepCheck(op.Check)
	case op.Session != nil:
		b.endSession(op.Session.ID)
		return nil, nil
	}
	return nil, refuse(model.KindInvalid, model.CodeInvalid, "operation without a type")
}

// withoutValue is the result of a write: who wrote knows the value.
func withoutValue(e *model.KVEntry) []model.TxnResult {
	c := *e
	c.Value = nil
	return []model.TxnResult{{KV: &c}}
}

func (t *tables) readOp(op *model.TxnOp) ([]model.TxnResult, error) {
	switch {
	case op.KV != nil:
		return t.readKV(op.KV)
	case op.Node != nil:
		row := t.nodeOf(&op.Node.Node)
		if row == nil {
			return nil, missing("node %q doesn't exist", op.Node.Node.Name)
		}
		return []model.TxnResult{{Node: row.node}}, nil
	case op.Service != nil:
		s := &op.Service.Service
		row := t.service(model.Fold(s.Node), serviceID(s))
		if row == nil {
			return nil, missing("service %q on node %q doesn't exist", serviceID(s), s.Node)
		}
		return []model.TxnResult{{Service: row.Service}}, nil
	case op.Check != nil:
		c := &op.Check.Check
		row := t.check(model.Fold(c.Node), checkID(c))
		if row == nil {
			return nil, missing("check %q on node %q doesn't exist", checkID(c), c.Node)
		}
		return []model.TxnResult{{Check: &row.Check}}, nil
	}
	return nil, refuse(model.KindInvalid, model.CodeInvalid, "operation without a type")
}

func missing(format string, args ...any) error {
	return refuse(model.KindConflict, model.CodeNotFound, format, args...)
}

func serviceID(s *model.Service) string {
	if s.ID == "" {
		return s.Name
	}
	return s.ID
}

func checkID(c *model.Check) string {
	if c.ID == "" {
		return c.Name
	}
	return c.ID
}

// nodeOf finds a node by its id if it has one, else by its name.
func (t *tables) nodeOf(n *model.Node) *nodeRow {
	if n.ID != "" {
		if found := t.nodeByID(n.ID); found != nil {
			return t.node(model.Fold(found.Name))
		}
	}
	return t.node(model.Fold(n.Name))
}

// readKV does the operations that change nothing.
func (t *tables) readKV(op *model.KVOp) ([]model.TxnResult, error) {
	if op.Key == "" && op.Verb != model.KVGetTree {
		return nil, refuse(model.KindInvalid, model.CodeInvalid, "Must provide key")
	}
	if err := t.checkFence(op.Fence); err != nil {
		return nil, err
	}
	e := t.key(op.Key)
	switch op.Verb {
	case model.KVGet:
		if e == nil {
			return nil, missing("key %q doesn't exist", op.Key)
		}
		return []model.TxnResult{{KV: e}}, nil
	case model.KVGetOrEmpty:
		if e == nil {
			e = &model.KVEntry{Key: op.Key}
		}
		return []model.TxnResult{{KV: e}}, nil
	case model.KVGetTree:
		var all []model.TxnResult
		t.eachKey(op.Key, func(e *model.KVEntry) bool {
			all = append(all, model.TxnResult{KV: e})
			return true
		})
		return all, nil
	case model.KVCheckNotExists:
		if e != nil {
			return nil, refuse(model.KindConflict, model.CodeExists, "key %q exists", op.Key)
		}
		return nil, nil
	case model.KVCheckIndex:
		if e == nil {
			return nil, missing("failed to check index, key %q doesn't exist", op.Key)
		}
		if e.Modify != op.Index {
			return nil, refuse(model.KindConflict, model.CodeStale,
				"failed index check for key %q, current modify index %d != %d", op.Key, e.Modify, op.Index)
		}
		return withoutValue(e), nil
	case model.KVCheckSession:
		if e == nil {
			return nil, missing("failed to check session, key %q doesn't exist", op.Key)
		}
		if e.Session != op.Session {
			return nil, refuse(model.KindConflict, model.CodeOtherSession,
				"failed session check for key %q, current session %q != %q", op.Key, e.Session, op.Session)
		}
		return withoutValue(e), nil
	}
	return nil, refuse(model.KindInvalid, model.CodeInvalid, "unknown KV verb %q", op.Verb)
}

func stale(what string, args ...any) error {
	return refuse(model.KindConflict, model.CodeStale, "failed to "+what+", index is stale", args...)
}

// mismatch compares an object's index with the one that a cas gives; 0 expects that
// there is no such object.
func mismatch(have *model.Indexes, want uint64) bool {
	if have == nil {
		return want != 0
	}
	return want == 0 || have.Modify != want
}

func (b *Batch) stepNode(op *model.NodeOp) ([]model.TxnResult, error) {
	row := b.s.work.nodeOf(&op.Node)
	var have *model.Indexes
	if row != nil {
		have = &row.node.Indexes
	}
	switch op.Verb {
	case model.CatalogSet, model.CatalogCAS:
		if op.Verb == model.CatalogCAS && mismatch(have, op.Node.Modify) {
			return nil, stale("set node %q", op.Node.Name)
		}
		n := op.Node
		n.Indexes = model.Indexes{}
		if err := b.register(&model.Registration{Node: n}); err != nil {
			return nil, err
		}
		return []model.TxnResult{{Node: b.s.work.node(model.Fold(n.Name)).node}}, nil
	case model.CatalogDelete, model.CatalogDeleteCAS:
		if op.Verb == model.CatalogDeleteCAS && row != nil && mismatch(have, op.Node.Modify) {
			return nil, stale("delete node %q", op.Node.Name)
		}
		if row != nil {
			b.deregister(&model.Deregistration{Node: row.node.Name})
		}
		return nil, nil
	}
	return nil, refuse(model.KindInvalid, model.CodeInvalid, "unknown node verb %d", op.Verb)
}

// owner finds the node that an operation names.
func (b *Batch) owner(node string) (*nodeRow, error) {
	row := b.s.work.node(model.Fold(node))
	if row == nil {
		return nil, refuse(model.KindInvalid, model.CodeMissingNode, "Missing node registration")
	}
	return row, nil
}

func (b *Batch) stepService(op *model.ServiceOp) ([]model.TxnResult, error) {
	node, err := b.owner(op.Service.Node)
	if err != nil {
		return nil, err
	}
	s := op.Service
	id, key := serviceID(&s), node.key
	row := b.s.work.service(key, id)
	var have *model.Indexes
	if row != nil {
		have = &row.Service.Indexes
	}
	switch op.Verb {
	case model.CatalogSet, model.CatalogCAS:
		if op.Verb == model.CatalogCAS && mismatch(have, s.Modify) {
			return nil, stale("set service %q on node %q", id, s.Node)
		}
		s.Indexes = model.Indexes{}
		if err := b.register(&model.Registration{Node: *node.node, SkipNodeUpdate: true, Service: &s}); err != nil {
			return nil, err
		}
		return []model.TxnResult{{Service: b.s.work.service(key, id).Service}}, nil
	case model.CatalogDelete, model.CatalogDeleteCAS:
		if op.Verb == model.CatalogDeleteCAS && row != nil && mismatch(have, s.Modify) {
			return nil, stale("delete service %q on node %q", id, s.Node)
		}
		if row != nil {
			b.deregister(&model.Deregistration{Node: node.node.Name, ServiceID: id})
		}
		return nil, nil
	}
	return nil, refuse(model.KindInvalid, model.CodeInvalid, "unknown service verb %d", op.Verb)
}

func (b *Batch) stepCheck(op *model.CheckOp) ([]model.TxnResult, error) {
	node, err := b.owner(op.Check.Node)
	if err != nil {
		return nil, err
	}
	c := op.Check
	id, key := checkID(&c), node.key
	row := b.s.work.check(key, id)
	var have *model.Indexes
	if row != nil {
		have = &row.Indexes
	}
	switch op.Verb {
	case model.CatalogSet, model.CatalogCAS:
		if op.Verb == model.CatalogCAS && mismatch(have, c.Modify) {
			return nil, stale("set check %q on node %q", id, c.Node)
		}
		if c.ServiceID != "" && b.s.work.service(key, c.ServiceID) == nil {
			return nil, refuse(model.KindInvalid, model.CodeMissingService, "Missing service registration")
		}
		c.Indexes = model.Indexes{}
		if err := b.register(&model.Registration{Node: *node.node, SkipNodeUpdate: true, Checks: []*model.Check{&c}}); err != nil {
			return nil, err
		}
		return []model.TxnResult{{Check: &b.s.work.check(key, id).Check}}, nil
	case model.CatalogDelete, model.CatalogDeleteCAS:
		if op.Verb == model.CatalogDeleteCAS && row != nil && mismatch(have, c.Modify) {
			return nil, stale("delete check %q on node %q", id, c.Node)
		}
		if row != nil {
			b.deregister(&model.Deregistration{Node: node.node.Name, CheckID: id})
		}
		return nil, nil
	}
	return nil, refuse(model.KindInvalid, model.CodeInvalid, "unknown check verb %d", op.Verb)
}
