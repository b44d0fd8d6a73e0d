package view

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"github.com/muster-discovery/muster/internal/model"
)

// reuse makes items of values, taking over those old ones whose value is still the
// same. Both lists are in the topic's order, so one walk over them does; keys are
// compared only where the lists differ. If nothing changed at all it returns the
// old list and true. A source with another order loses reuse, nothing else.
func reuse(old []*Item, values []any) (items []*Item, unchanged bool) {
	items = make([]*Item, len(values))
	unchanged = len(old) == len(values)
	i := 0
	for j, value := range values {
		// Old items that come before the value are gone.
		for i < len(old) && !same(old[i].Value, value) && order(old[i].Value, value) < 0 {
			i++
		}
		if i < len(old) && same(old[i].Value, value) {
			items[j] = old[i]
			i++
			continue
		}
		unchanged = false
		items[j] = NewItem(value)
		if i < len(old) && order(old[i].Value, value) == 0 {
			i++ // it changed
		}
	}
	if unchanged && old != nil {
		return old, true
	}
	return items, unchanged
}

// same tells whether two values would be encoded alike. The objects in the state
// never change, so the same pointers mean the same content; what the source puts
// together for each call is compared by its parts.
func same(a, b any) bool {
	switch a := a.(type) {
	case *model.Instance:
		b, ok := b.(*model.Instance)
		return ok && (a == b || a.Node == b.Node && a.Service == b.Service && slices.Equal(a.Checks, b.Checks))
	case *model.NodeServices:
		b, ok := b.(*model.NodeServices)
		return ok && (a == b || a.Node == b.Node && slices.Equal(a.Services, b.Services))
	case *model.ServiceSummary:
		b, ok := b.(*model.ServiceSummary)
		return ok && (a == b || a.Name == b.Name && slices.Equal(a.Tags, b.Tags))
	case *model.Node, *model.Service, *model.Check, *model.CARoot, *model.KVEntry, *model.Session:
		return a == b
	}
	return a == nil && b == nil || a != nil && reflect.TypeOf(a).Comparable() && a == b
}

// order compares the keys that the source sorts a topic's values by.
func order(a, b any) int {
	switch a := a.(type) {
	case *model.Instance:
		if b, ok := b.(*model.Instance); ok {
			return cmp.Or(orderNames(a.Service.Node, b.Service.Node), cmp.Compare(a.Service.ID, b.Service.ID))
		}
	case *model.Check:
		if b, ok := b.(*model.Check); ok {
			return cmp.Or(orderNames(a.Node, b.Node), cmp.Compare(a.ID, b.ID))
		}
	case *model.Service:
		if b, ok := b.(*model.Service); ok {
			return cmp.Or(orderNames(a.Node, b.Node), cmp.Compare(a.ID, b.ID))
		}
	case *model.Node:
		if b, ok := b.(*model.Node); ok {
			return orderNames(a.Name, b.Name)
		}
	case *model.ServiceSummary:
		if b, ok := b.(*model.ServiceSummary); ok {
			return cmp.Compare(a.Name, b.Name)
		}
	case *model.KVEntry:
		if b, ok := b.(*model.KVEntry); ok {
			return cmp.Compare(a.Key, b.Key)
		}
	case *model.Session:
		if b, ok := b.(*model.Session); ok {
			return cmp.Compare(a.ID, b.ID)
		}
	case *model.CARoot:
		if b, ok := b.(*model.CARoot); ok {
			return cmp.Compare(a.ID, b.ID)
		}
	}
	return 0
}

// sameKey tells whether two values have the same key, spelled alike.
func sameKey(a, b any) bool {
	if order(a, b) != 0 {
		return false
	}
	x, ok := a.(*model.Instance)
	y, both := b.(*model.Instance)
	return !ok || !both || x.Service.Node == y.Service.Node
}

// orderNames compares node names, whose case the catalog folds.
func orderNames(a, b string) int {
	if a == b {
		return 0
	}
	return cmp.Compare(strings.ToLower(a), strings.ToLower(b))
}
