package migrate

import (
	"context"
	"encoding/json"
)

// Object is a JSON object as the API has it. Fields that this version has no use for
// are carried along.
type Object = map[string]any

// Node is a node that no agent owns, with all that is on it.
type Node struct {
	Node     Object
	Services []Object
	Checks   []Object
}

// Name is the node's name.
func (n *Node) Name() string { return text(n.Node, "Node") }

// Pair is a key with its value.
type Pair struct {
	Key    string
	Flags  uint64
	Value  []byte
	Locked bool // a session held it: that is not carried along
}

// Left is something that is not carried over, with the reason.
type Left struct {
	Kind   string `json:"kind"`           // node, service, session, ...
	Name   string `json:"name,omitempty"` // empty: Count of them
	Node   string `json:"node,omitempty"`
	Count  int    `json:"count,omitempty"`
	Reason string `json:"reason"`
}

// Batch is a few keys in a row.
type Batch struct {
	Keys []string // in the order of bytes; values come with Load
	// Load reads the values. Keys that are gone meanwhile are missing, and come back by
	// name. It may be called from another goroutine.
	Load func(ctx context.Context) (pairs []Pair, gone []string, err error)
}

// Position is how far an earlier run came.
type Position struct {
	Catalog bool   `json:"catalog"` // nodes are done
	Queries bool   `json:"queries"` // queries too
	After   string `json:"after"`   // keys up to this one too
	Keys    int    `json:"keys"`    // that are done
}

// Stages of a walk, in their order.
const (
	StageCatalog = "catalog"
	StageQueries = "queries"
	StageKeys    = "keys"
)

// Source walks through all that there is, beginning at a position.
type Source interface {
	Walk(ctx context.Context, from Position, to Sink) error
}

// Sink takes what a source has. Calls don't overlap.
type Sink interface {
	// Begin says that a stage begins, and how many things are in it; -1 is unknown.
	Begin(stage string, total int)
	// End says that it is over.
	End(ctx context.Context, stage string) error
	Node(ctx context.Context, n *Node) error
	Query(ctx context.Context, q Object) error
	Keys(ctx context.Context, b *Batch) error
	Left(l Left) error
}

func text(o Object, field string) string {
	s, _ := o[field].(string)
	return s
}

// bookkeeping are the fields that are a registry's own.
var bookkeeping = []string{"CreateIndex", "ModifyIndex", "ContentHash", "Datacenter", "RaftIndex",
	"Namespace", "Partition", "PeerName", "EnterpriseMeta"}

// plain takes bookkeeping off an object.
func plain(o Object) Object {
	for _, f := range bookkeeping {
		delete(o, f)
	}
	return o
}

// plainCheck also takes off what follows from the check's service.
func plainCheck(o Object) Object {
	delete(o, "ServiceName")
	delete(o, "ServiceTags")
	return plain(o)
}

// sameObject compares two objects: what is empty, zero or not there is the same.
func sameObject(a, b Object) bool {
	x, errX := json.Marshal(pruned(a))
	y, errY := json.Marshal(pruned(b))
	return errX == nil && errY == nil && string(x) == string(y)
}

// pruned is a value without what is empty; nil if nothing is left.
func pruned(v any) any {
	switch v := v.(type) {
	case Object:
		out := Object{}
		for name, field := range v {
			if p := pruned(field); p != nil {
				out[name] = p
			}
		}
		if len(out) > 0 {
			return out
		}
		return nil
	case []any:
		if len(v) == 0 {
			return nil
		}
		out := make([]any, len(v))
		for i := range v {
			out[i] = pruned(v[i])
		}
		return out
	case string:
		if v == "" || v == "0s" {
			return nil
		}
	case bool:
		if !v {
			return nil
		}
	case json.Number:
		if v == "0" {
			return nil
		}
	}
	return v
}
