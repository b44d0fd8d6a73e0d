package view

import (
	"sync/atomic"

	"github.com/muster-discovery/muster/internal/model"
)

// Source is where views are built from: the state on a server, a stream on a
// client agent. Items returns a topic's values in their stable order together
// with its index, both of one consistent moment. Calls may overlap.
//
// A change must be visible through Items before Hub.Publish is told of it.
type Source interface {
	Items(t model.Topic) (items []any, index uint64)
}

// Item is one element of a view, with its encoded fragments. It is shared by all
// contents that follow each other as long as the value stays the same, so that a
// change re-encodes only what changed.
type Item struct {
	Value     any
	fragments atomic.Pointer[fragment]
}

// fragment is one encoder's form of an item's value, in a list with those of the
// other encoders that were asked for it: usually one or two.
type fragment struct {
	encoder *Encoder
	value   any
	next    *fragment
}

// maxFragments bounds the list. Only encoders that are made anew all the time, as
// by reloads, get there; the older ones are forgotten then.
const maxFragments = 16

// NewItem makes an item outside of any view, for answers made for one caller.
func NewItem(value any) *Item { return &Item{Value: value} }

// Fragment is what the encoder makes of the item's value, made once and kept.
// Nil if the encoder has no Fragment function.
func (i *Item) Fragment(e *Encoder) any {
	for f := i.fragments.Load(); f != nil; f = f.next {
		if f.encoder == e {
			return f.value
		}
	}
	if e.Fragment == nil {
		return nil
	}
	return i.encode(e)
}

func (i *Item) encode(e *Encoder) any {
	made := &fragment{encoder: e, value: e.Fragment(i.Value)}
	for {
		head := i.fragments.Load()
		n := 0
		for f := head; f != nil; f = f.next {
			if f.encoder == e {
				return f.value // another goroutine was faster
			}
			n++
		}
		made.next = head
		if n >= maxFragments {
			made.next = nil
		}
		if i.fragments.CompareAndSwap(head, made) {
			return made.value
		}
	}
}

// Variant narrows a content to the items that one question asks for. Equal
// questions have equal keys and share the result. Select must not modify its
// argument; it may return new Items (a node with fewer services, say).
type Variant struct {
	Key    string
	Select func([]*Item) ([]*Item, error)
	// Private variants (sorted by nearness, partial permissions) are computed for
	// their caller alone and never kept.
	Private bool
	// Sort, if set, puts the selected items into the order that the caller asked
	// for; it may change its argument. Such a variant is private.
	Sort func([]*Item)
	// Question is what Select was made from, for sources that have others select.
	Question any
	// Outside tells that Select looks at a node's metadata, which some items (checks)
	// don't carry: lookup then keeps no answer for topics of such items.
	Outside bool
}
