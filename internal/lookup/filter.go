package lookup

import (
	"sort"
	"time"

	"github.com/muster-discovery/muster/internal/acl"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/view"
)

// private makes an answer for one caller: the items that the question asks for, of
// these the ones that the caller may see, ordered by nearness. In this order.
func (l *Lookup) private(c *view.Content, e *view.Encoder, v *view.Variant, auth acl.Authorizer) (any, int, error) {
	items := c.Items
	if v != nil && v.Select != nil {
		selected, err := v.Select(items)
		if err != nil {
			return nil, 0, err
		}
		items = selected
	}
	// A copy of its own, since Select may return its argument, which is shared.
	permitted := make([]*view.Item, 0, len(items))
	for _, item := range items {
		if item = permit(auth, item); item != nil {
			permitted = append(permitted, item)
		}
	}
	if v != nil && v.Sort != nil {
		v.Sort(permitted)
	}
	return e.Assemble(permitted), len(permitted), nil
}

// keepable tells whether a variant's frame depends on nothing but the items, so
// that it holds until they change.
func keepable(kind model.TopicKind, v *view.Variant) bool {
	if v == nil {
		return true
	}
	switch kind {
	case model.TopicServices:
		return false // looks at the instances behind the names
	case model.TopicChecks, model.TopicChecksState, model.TopicServiceCheck, model.TopicNodeChecks:
		return !v.Private && !v.Outside
	}
	return !v.Private
}

// allowsAll tells whether nothing of a topic has to be hidden.
func allowsAll(auth acl.Authorizer, kind model.TopicKind) bool {
	switch kind {
	case model.TopicNodes:
		return auth.AllowsAll(acl.Node, acl.Read)
	case model.TopicServices:
		return auth.AllowsAll(acl.Service, acl.Read)
	case model.TopicCARoots:
		return true // public by nature: clients verify each other with them
	case model.TopicQueries:
		return auth.AllowsAll(acl.Query, acl.Read)
	case model.TopicCoordinates:
		return auth.AllowsAll(acl.Node, acl.Read)
	case model.TopicKVKey, model.TopicKVPrefix:
		return auth.AllowsAll(acl.Key, acl.Read)
	case model.TopicSessions, model.TopicSession, model.TopicNodeSessions:
		return auth.AllowsAll(acl.Session, acl.Read)
	}
	return auth.AllowsAll(acl.Node, acl.Read) && auth.AllowsAll(acl.Service, acl.Read)
}

// permit returns the item, less what the caller may not see of it, or nil.
func permit(auth acl.Authorizer, item *view.Item) *view.Item {
	node := func(name string) bool { return auth.Allowed(acl.Node, name, acl.Read) }
	service := func(name string) bool { return auth.Allowed(acl.Service, name, acl.Read) }
	visible := false
	switch v := item.Value.(type) {
	case *model.Instance:
		visible = node(v.Node.Name) && service(v.Service.Name)
	case *model.Service:
		visible = node(v.Node) && service(v.Name)
	case *model.Check:
		visible = node(v.Node) && (v.ServiceName == "" || service(v.ServiceName))
	case *model.Node:
		visible = node(v.Name)
	case *model.ServiceSummary:
		visible = service(v.Name)
	case *model.CARoot:
		visible = true
	case *model.KVEntry:
		visible = auth.Allowed(acl.Key, v.Key, acl.Read)
	case *model.Query:
		visible = auth.Allowed(acl.Query, v.Name, acl.Read)
	case *model.NodeCoordinate:
		visible = node(v.Node)
	case *model.Session:
		visible = auth.Allowed(acl.Session, v.Node, acl.Read)
	case *model.NodeServices:
		if node(v.Node.Name) {
			return permitServices(v, item, service)
		}
	}
	// Types that this function does not know are hidden.
	if !visible {
		return nil
	}
	return item
}

func permitServices(v *model.NodeServices, item *view.Item, allowed func(string) bool) *view.Item {
	var kept []*model.Service
	for _, s := range v.Services {
		if allowed(s.Name) {
			kept = append(kept, s)
		}
	}
	if len(kept) == len(v.Services) {
		return item
	}
	return view.NewItem(&model.NodeServices{Node: v.Node, Services: kept})
}

// nearest returns a function that sorts by round-trip time from a node. Where no
// time is known, an item comes last, and everything stays as it is if there is
// none for the node itself; only the own node needs no estimate to be the nearest.
func (l *Lookup) nearest(from string) func([]*view.Item) {
	if from == "_agent" {
		from = l.config.Node
	}
	const unknown = time.Duration(1<<63 - 1)
	distance := func(to string) time.Duration {
		if l.config.Distance != nil {
			if d, ok := l.config.Distance(from, to); ok {
				if model.Fold(to) == model.Fold(from) {
					return 0 // estimates say that even the own node has a height to climb
				}
				return d
			}
		}
		if from == l.config.Node && to == from {
			return 0
		}
		return unknown
	}
	return func(items []*view.Item) {
		keyed := make([]struct {
			item *view.Item
			at   time.Duration
		}, len(items))
		for i, item := range items {
			keyed[i].item, keyed[i].at = item, unknown
			if node := nodeOf(item.Value); node != "" {
				keyed[i].at = distance(node)
			}
		}
		sort.SliceStable(keyed, func(i, j int) bool { return keyed[i].at < keyed[j].at })
		for i := range keyed {
			items[i] = keyed[i].item
		}
	}
}

func nodeOf(value any) string {
	switch v := value.(type) {
	case *model.Instance:
		return v.Node.Name
	case *model.Service:
		return v.Node
	case *model.Check:
		return v.Node
	case *model.Node:
		return v.Name
	case *model.NodeServices:
		return v.Node.Name
	}
	return ""
}
