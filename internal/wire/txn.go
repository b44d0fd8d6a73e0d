package wire

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/muster-discovery/muster/internal/model"
)

// txnRequest is one operation of a transaction.
type txnRequest struct {
	KV *struct {
		Verb, Key, Session string
		Value              any
		Flags, Index       any
		Fence              any    // Muster's own: the fencing token ...
		FenceKey           string // ... of this lock
	}
	Node *struct {
		Verb string
		Node struct {
			ID, Node, Address, Datacenter string
			TaggedAddresses, Meta         map[string]string
			Partition                     string
			ModifyIndex                   any
		}
	}
	Service *struct {
		Verb, Node string
		Service    serviceRequest
	}
	Check *struct {
		Verb  string
		Check checkRequest
	}
	Session *struct {
		Verb    string
		Session struct{ ID string }
	}
}

// DecodeTxn reads the body of a transaction. Objects without an operation are left
// out, as Consul does. Faults are those of single operations, such as a verb that does
// not exist; an error means that the body as a whole does not fit.
func DecodeTxn(data []byte) (txn *model.Txn, faults []model.TxnError, err error) {
	v, err := parse(data)
	if err == nil {
		if _, ok := v.([]any); !ok {
			err = mismatch("", "a list", v)
		}
	}
	var list []txnRequest
	if err == nil {
		err = decode(data, &list, looseBody)
	}
	if err != nil {
		return nil, nil, txnFailed(err)
	}
	txn = new(model.Txn)
	for i := range list {
		op, fault, err := list[i].model()
		if err != nil {
			return nil, nil, err
		}
		if op == nil {
			continue
		}
		if fault != "" {
			faults = append(faults, model.TxnError{Op: len(txn.Ops), Code: model.CodeInvalid, Text: fault})
		}
		txn.Ops = append(txn.Ops, *op)
	}
	return txn, faults, nil
}

func txnFailed(err error) error {
	return model.Errorf(model.KindInvalid, "Failed to parse body: %v", err)
}

func (r *txnRequest) model() (op *model.TxnOp, fault string, err error) {
	op = new(model.TxnOp)
	verb := func(class, name string) model.CatalogVerb {
		v, ok := model.ParseCatalogVerb(name)
		if !ok {
			fault = fmt.Sprintf("unknown %s verb %q", class, name)
		}
		return v
	}
	switch {
	case r.KV != nil:
		op.KV, fault, err = r.kv()
	case r.Node != nil:
		in := &r.Node.Node
		op.Node = &model.NodeOp{Verb: verb("Node", r.Node.Verb), Node: model.Node{ID: in.ID, Name: in.Node, Address: in.Address,
			Datacenter: in.Datacenter, TaggedAddresses: in.TaggedAddresses, Meta: in.Meta}}
		op.Node.Node.Modify, err = number("ModifyIndex", in.ModifyIndex)
		if in.Node == "" && fault == "" && (in.ID == "" || op.Node.Verb == model.CatalogSet || op.Node.Verb == model.CatalogCAS) {
			fault = "Must provide node"
		}
	case r.Service != nil:
		var s *model.Service
		if s, err = r.Service.Service.model(); err != nil {
			return nil, "", err
		}
		s.Node = r.Service.Node
		s.Modify, err = number("ModifyIndex", r.Service.Service.ModifyIndex)
		op.Service = &model.ServiceOp{Verb: verb("Service", r.Service.Verb), Service: *s}
		if s.ID == "" && fault == "" {
			fault = "Must provide service name (Service.Service)"
		}
	case r.Check != nil:
		c := r.Check.Check.model("")
		c.Modify, err = number("ModifyIndex", r.Check.Check.ModifyIndex)
		op.Check = &model.CheckOp{Verb: verb("Check", r.Check.Verb), Check: *c}
		if c.ID == "" && fault == "" {
			fault = "Must provide check ID or name"
		}
	case r.Session != nil:
		op.Session = &model.SessionOp{Verb: verb("Session", r.Session.Verb), ID: r.Session.Session.ID}
		if fault == "" && op.Session.Verb != model.CatalogDelete {
			fault = fmt.Sprintf("unknown Session verb %q", r.Session.Verb)
		}
	default:
		return nil, "", nil
	}
	if err != nil {
		return nil, "", txnFailed(err)
	}
	return op, fault, nil
}

func (r *txnRequest) kv() (op *model.KVOp, fault string, err error) {
	in := r.KV
	op = &model.KVOp{Key: in.Key, Session: in.Session}
	if op.Value, err = base64Value(in.Value); err != nil {
		return nil, "", err
	}
	if op.Flags, err = number("Flags", in.Flags); err != nil {
		return nil, "", err
	}
	if op.Index, err = number("Index", in.Index); err != nil {
		return nil, "", err
	}
	if in.Fence != nil {
		token, err := number("Fence", in.Fence)
		if err != nil {
			return nil, "", err
		}
		op.Fence = &model.Fence{Key: in.FenceKey, Token: token}
	}
	var ok bool
	op.Verb, ok = model.ParseKVVerb(in.Verb)
	tree := op.Verb == model.KVDeleteTree || op.Verb == model.KVGetTree
	switch {
	case in.Key == "" && !tree:
		fault = "Must provide key"
	case !ok:
		fault = fmt.Sprintf("unknown KV verb %q", in.Verb)
	case op.Fence == nil && in.FenceKey != "", op.Fence != nil && in.FenceKey == "":
		fault = "Fence and FenceKey must be given together"
	}
	return op, fault, nil
}

// base64Value tells null, which is no value, from an empty one.
func base64Value(v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case string:
		b, err := base64.StdEncoding.DecodeString(v)
		if err != nil {
			return nil, err
		}
		return append([]byte{}, b...), nil
	}
	return nil, mismatch("Value", "a string", v)
}

// number reads a whole number of 64 bits, also as text.
func number(name string, v any) (uint64, error) {
	text := ""
	switch v := v.(type) {
	case nil:
		return 0, nil
	case json.Number:
		text = v.String()
	case string:
		text = v
	default:
		return 0, mismatch(name, "a number", v)
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %s is not a whole number in range", name, text)
	}
	return n, nil
}

// TxnError is a failed operation in an answer. Code is Muster's own and only there
// for who asks for it.
type TxnError struct {
	OpIndex int
	What    string
	Code    string `json:",omitempty"`
}

type txnResultJSON struct {
	KV      *kvJSON      `json:",omitempty"`
	Node    *nodeJSON    `json:",omitempty"`
	Service *serviceJSON `json:",omitempty"`
	Check   *checkJSON   `json:",omitempty"`
	Session *sessionJSON `json:",omitempty"`
}

// TxnAnswer is the answer to a transaction that writes.
type TxnAnswer struct {
	Results []txnResultJSON
	Errors  []TxnError
}

// TxnReadAnswer is the answer to one that only reads.
type TxnReadAnswer struct {
	TxnAnswer
	Index                 uint64
	LastContact           int64
	KnownLeader           bool
	ConsistencyLevel      string
	NotModified           bool
	Backend               int
	ResultsFilteredByACLs bool
}

// NewTxnAnswer shapes an outcome. With own, what Consul's answers don't have is in it.
func NewTxnAnswer(out *model.Outcome, own bool) TxnAnswer {
	var a TxnAnswer
	if len(out.Errors) > 0 {
		for _, e := range out.Errors {
			w := TxnError{OpIndex: e.Op, What: e.Text}
			if own {
				w.Code = e.Code
			}
			a.Errors = append(a.Errors, w)
		}
		return a
	}
	a.Results = make([]txnResultJSON, len(out.Results))
	for i := range out.Results {
		a.Results[i] = txnResult(&out.Results[i], own)
	}
	return a
}

// txnResult shows lists of tags as they were given: here null is not made empty.
func txnResult(v *model.TxnResult, own bool) (j txnResultJSON) {
	switch {
	case v.KV != nil && own:
		j.KV = kvWithToken(v.KV)
	case v.KV != nil:
		j.KV = kvOf(v.KV)
	case v.Node != nil:
		j.Node = nodeOf(v.Node)
	case v.Service != nil:
		j.Service = serviceOf(v.Service)
		j.Service.Tags = v.Service.Tags
	case v.Check != nil:
		j.Check = checkOf(v.Check)
		j.Check.ServiceTags = v.Check.ServiceTags
	case v.Session != nil:
		j.Session = sessionOf(v.Session)
	}
	return j
}
