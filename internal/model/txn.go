package model

// CatalogVerb is what an operation of a transaction does with a node, service,
// check or session.
type CatalogVerb uint8

// The values are part of log format 1: never renumber, only append.
const (
	CatalogGet       CatalogVerb = 1
	CatalogSet       CatalogVerb = 2
	CatalogCAS       CatalogVerb = 3 // set if the object's index is that of the operation
	CatalogDelete    CatalogVerb = 4
	CatalogDeleteCAS CatalogVerb = 5
)

var catalogVerbs = [...]string{
	CatalogGet: "get", CatalogSet: "set", CatalogCAS: "cas",
	CatalogDelete: "delete", CatalogDeleteCAS: "delete-cas",
}

// ParseCatalogVerb finds a verb by the name that clients use.
func ParseCatalogVerb(name string) (CatalogVerb, bool) {
	for v, n := range catalogVerbs {
		if n == name && n != "" {
			return CatalogVerb(v), true
		}
	}
	return 0, false
}

// Known reports whether this version knows the verb.
func (v CatalogVerb) Known() bool { return v >= CatalogGet && v <= CatalogDeleteCAS }

// TxnOp is one operation of a transaction: exactly one field is set. The verb cas
// compares with the Modify index of the given object. A session is only ever
// deleted.
type TxnOp struct {
	KV      *KVOp
	Node    *NodeOp
	Service *ServiceOp
	Check   *CheckOp
	Session *SessionOp
}

// NodeOp is an operation on a node.
type NodeOp struct {
	Verb CatalogVerb
	Node Node
}

// ServiceOp is an operation on a service of the node that it names.
type ServiceOp struct {
	Verb    CatalogVerb
	Service Service
}

// CheckOp is an operation on a check.
type CheckOp struct {
	Verb  CatalogVerb
	Check Check
}

// SessionOp is an operation on a session.
type SessionOp struct {
	Verb CatalogVerb
	ID   string
}

// Reads reports whether the operation changes nothing.
func (o *TxnOp) Reads() bool {
	switch {
	case o.KV != nil:
		return o.KV.Verb.Reads()
	case o.Node != nil:
		return o.Node.Verb == CatalogGet
	case o.Service != nil:
		return o.Service.Verb == CatalogGet
	case o.Check != nil:
		return o.Check.Verb == CatalogGet
	}
	return false
}

// Txn is a list of operations that are done all or none, under one index.
type Txn struct {
	Ops   []TxnOp
	Fence *Fence // guards the whole; nil: no guard
}

// Reads reports whether the transaction changes nothing.
func (t *Txn) Reads() bool {
	for i := range t.Ops {
		if !t.Ops[i].Reads() {
			return false
		}
	}
	return true
}

// TxnResult is what one operation came to: one field is set. Operations that
// delete or only check have no result.
type TxnResult struct {
	KV      *KVEntry // Value is nil unless the operation was a get
	Node    *Node
	Service *Service
	Check   *Check
	Session *Session
}

// TxnError says why an operation could not be done.
type TxnError struct {
	Op   int // place in the list, from 0
	Code string
	Text string
}

// Outcome is what a write came to beyond success, with the shape that its operation
// has: a lock has a token, a transaction results or errors, a renewal its session as
// the only result.
type Outcome struct {
	Token   uint64
	Results []TxnResult
	Errors  []TxnError
}
