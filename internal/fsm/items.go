package fsm

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/muster-discovery/muster/internal/model"
)

// Numbers of pb.Item.
const (
	itemNode protowire.Number = iota + 1
	itemService
	itemCheck
	itemInstance
	itemNodeServices
	itemSummary
	itemRoot
	itemKey
	itemSession
	itemQuery
	itemCoordinate
)

// AppendItem writes one of a topic's values for another agent: what it appends are
// items by themselves, so that they can be sent in parts. Private keys stay here.
func AppendItem(b []byte, value any) ([]byte, error) {
	w, known := writer{buf: b}, true
	w.embed(1, func() { known = w.item(value) })
	if !known {
		return b, fmt.Errorf("items of type %T can't be sent", value)
	}
	return w.buf, nil
}

func (w *writer) item(value any) (known bool) {
	switch v := value.(type) {
	case *model.Node:
		w.embed(itemNode, func() { w.node(v) })
	case *model.Service:
		w.embed(itemService, func() { w.service(v) })
	case *model.Check:
		w.embed(itemCheck, func() { w.check(v) })
	case *model.Instance:
		w.embed(itemInstance, func() { w.instance(v) })
	case *model.NodeServices:
		w.embed(itemNodeServices, func() { w.nodeServices(v) })
	case *model.ServiceSummary:
		w.embed(itemSummary, func() {
			w.string(1, v.Name)
			w.strings(2, v.Tags)
		})
	case *model.CARoot:
		public := *v
		public.KeyPEM = ""
		w.embed(itemRoot, func() { w.root(&public) })
	case *model.KVEntry:
		w.embed(itemKey, func() { w.kvEntry(v) })
	case *model.Session:
		w.embed(itemSession, func() { w.session(v) })
	case *model.Query:
		w.embed(itemQuery, func() { w.query(v) })
	case *model.NodeCoordinate:
		w.embed(itemCoordinate, func() { w.nodeCoordinate(v) })
	default:
		return false
	}
	return true
}

func (w *writer) instance(i *model.Instance) {
	w.embed(1, func() { w.node(i.Node) })
	w.embed(2, func() { w.service(i.Service) })
	for _, c := range i.Checks {
		w.embed(3, func() { w.check(c) })
	}
}

func (w *writer) nodeServices(n *model.NodeServices) {
	w.embed(1, func() { w.node(n.Node) })
	for _, s := range n.Services {
		w.embed(2, func() { w.service(s) })
	}
}

// DecodeItems reads what AppendItem wrote, any number of times. What only a newer
// version knows is left out.
func DecodeItems(b []byte) ([]any, error) {
	var items []any
	// Items of one answer have much in common: tags, metadata, node names.
	r := reader{buf: b, names: newNames(), lenient: true}
	for r.next() {
		if r.num != 1 {
			r.unknown("Items")
			continue
		}
		r.embedded(func(m *reader) {
			if v := m.item(); v != nil {
				items = append(items, v)
			}
		})
	}
	if r.err != nil {
		return nil, fmt.Errorf("decode items: %w", r.err)
	}
	return items, nil
}

func (r *reader) item() (value any) {
	for r.next() {
		if value != nil {
			r.fail(errMalformed)
			break
		}
		switch r.num {
		case itemNode:
			value = embedded(r, (*reader).node)
		case itemService:
			value = embedded(r, (*reader).service)
		case itemCheck:
			value = embedded(r, (*reader).check)
		case itemInstance:
			value = embedded(r, (*reader).instance)
		case itemNodeServices:
			value = embedded(r, (*reader).nodeServices)
		case itemSummary:
			value = embedded(r, (*reader).summary)
		case itemRoot:
			value = embedded(r, (*reader).root)
		case itemKey:
			value = embedded(r, (*reader).kvEntry)
		case itemSession:
			value = embedded(r, (*reader).session)
		case itemQuery:
			value = embedded(r, (*reader).query)
		case itemCoordinate:
			value = embedded(r, (*reader).nodeCoordinate)
		default:
			r.unknown("Item")
		}
	}
	return value
}

// embedded reads the current field as a message of its own.
func embedded[T any](r *reader, read func(*reader, *T)) *T {
	v := new(T)
	r.embedded(func(m *reader) { read(m, v) })
	return v
}

func (r *reader) instance(i *model.Instance) {
	for r.next() {
		switch r.num {
		case 1:
			i.Node = embedded(r, (*reader).node)
		case 2:
			i.Service = embedded(r, (*reader).service)
		case 3:
			i.Checks = append(i.Checks, embedded(r, (*reader).check))
		default:
			r.unknown("Instance")
		}
	}
	if i.Node == nil || i.Service == nil {
		r.fail(errMalformed)
	}
}

func (r *reader) nodeServices(n *model.NodeServices) {
	for r.next() {
		switch r.num {
		case 1:
			n.Node = embedded(r, (*reader).node)
		case 2:
			n.Services = append(n.Services, embedded(r, (*reader).service))
		default:
			r.unknown("NodeServices")
		}
	}
	if n.Node == nil {
		r.fail(errMalformed)
	}
}

func (r *reader) summary(s *model.ServiceSummary) {
	for r.next() {
		switch r.num {
		case 1:
			s.Name = r.name()
		case 2:
			s.Tags = r.strings()
		default:
			r.unknown("ServiceSummary")
		}
	}
}
