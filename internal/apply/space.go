package apply

import "github.com/muster-discovery/muster/internal/model"

// Space is asked before a write that takes space enters the log: an append that fails
// for want of it would cost this server its leadership.
type Space interface {
	// Admit refuses with kind NoSpace, on the leader only.
	Admit(bytes int) error
}

// admit refuses what takes space when that runs out. What gives space back, what tells
// how things are, and what the leader does by itself goes on, out of what is kept for it.
func (a *Apply) admit(op any, source string, bytes int) error {
	if a.cfg.Space == nil || source == model.SourceLeader || a.spares(op) {
		return nil
	}
	return a.cfg.Space.Admit(bytes)
}

// spares reports whether an operation takes no space for good.
func (a *Apply) spares(op any) bool {
	switch op := op.(type) {
	case *model.Registration:
		// The state of a check, say: it takes the place of what is there.
		return a.cfg.Registered != nil && a.cfg.Registered(op)
	case *model.KVOp:
		return sparesKey(op)
	case *model.Txn:
		for i := range op.Ops {
			if !a.sparesOp(&op.Ops[i]) {
				return false
			}
		}
		return true
	case *model.SessionCreation, *model.QuerySet, *model.CoordinateUpdate:
		return false
	}
	return true // it removes, renews, or is an operator's
}

func sparesKey(op *model.KVOp) bool {
	switch op.Verb {
	case model.KVSet, model.KVCAS, model.KVLock:
		return false
	}
	return true // an unlock sets, too, but locks must be given back
}

func (a *Apply) sparesOp(op *model.TxnOp) bool {
	sets := func(v model.CatalogVerb) bool { return v == model.CatalogSet || v == model.CatalogCAS }
	switch {
	case op.KV != nil:
		return sparesKey(op.KV)
	case op.Node != nil:
		return !sets(op.Node.Verb)
	case op.Service != nil:
		return !sets(op.Service.Verb)
	case op.Check != nil:
		c := &op.Check.Check
		return !sets(op.Check.Verb) || a.spares(&model.Registration{Node: model.Node{Name: c.Node}, Checks: []*model.Check{c}})
	}
	return true
}
