package state

import (
	"slices"
	"strings"

	"github.com/muster-discovery/muster/internal/model"
)

// Items returns a topic's values in their stable order and its index.
//
//	Nodes                                  *model.Node by name
//	Node                                   *model.NodeServices, none or one
//	Services                               *model.ServiceSummary by name
//	Service, Connect                       *model.Instance by node and id
//	Checks, ChecksState, NodeChecks,
//	ServiceCheck                           *model.Check by node and id
//	CARoots                                *model.CARoot as they were set
//	KVKey                                  *model.KVEntry, none or one
//	KVPrefix                               *model.KVEntry by key
//	Sessions, NodeSessions                 *model.Session by id
//	Session                                *model.Session, none or one
//	Queries                                *model.Query by id
//	Coordinates                            *model.NodeCoordinate by node
//	Timers                                 *model.Session by id, *model.LockDelay by key
func (s *Snapshot) Items(t model.Topic) (items []any, index uint64) {
	t = model.NewTopic(t.Kind, t.Name)
	if t.Kind == model.TopicKVPrefix {
		return s.t.prefixItems(t.Name)
	}
	return s.items(t), s.t.topicIndex(t)
}

func (s *Snapshot) items(t model.Topic) (items []any) {
	instance := func(r *instanceRow) bool { items = append(items, &r.Instance); return true }
	check := func(r *checkRow) bool { items = append(items, &r.Check); return true }
	switch t.Kind {
	case model.TopicNodes:
		items = make([]any, 0, s.t.nodes.Len())
		s.t.nodes.Scan(func(r *nodeRow) bool { items = append(items, r.node); return true })
	case model.TopicNode:
		if ns := s.NodeServices(t.Name); ns != nil {
			items = append(items, ns)
		}
	case model.TopicServices:
		items = make([]any, 0, s.t.summaries.Len())
		s.t.summaries.Scan(func(r *model.ServiceSummary) bool { items = append(items, r); return true })
	case model.TopicService:
		s.t.eachInstance(t.Name, instance)
	case model.TopicConnect:
		s.t.eachConnect(t.Name, instance)
	case model.TopicChecks:
		items = make([]any, 0, s.t.checks.Len())
		s.t.checks.Scan(check)
	case model.TopicChecksState:
		s.t.eachInState(t.Name, check)
	case model.TopicServiceCheck:
		items = s.serviceChecks(t.Name)
	case model.TopicNodeChecks:
		s.t.eachCheck(t.Name, check)
	case model.TopicCARoots:
		for _, r := range s.t.roots {
			items = append(items, r)
		}
	case model.TopicKVKey:
		if e := s.t.key(t.Name); e != nil {
			items = append(items, e)
		}
	case model.TopicSession:
		if e := s.t.session(t.Name); e != nil {
			items = append(items, e)
		}
	case model.TopicSessions:
		items = make([]any, 0, s.t.sessions.Len())
		s.t.sessions.Scan(func(e *model.Session) bool { items = append(items, e); return true })
	case model.TopicNodeSessions:
		s.t.eachSessionOf(t.Name, func(e *model.Session) bool { items = append(items, e); return true })
	case model.TopicQueries:
		items = make([]any, 0, s.t.queries.Len())
		s.t.queries.Scan(func(q *model.Query) bool { items = append(items, q); return true })
	case model.TopicCoordinates:
		items = make([]any, 0, s.t.coordinates.Len())
		s.t.coordinates.Scan(func(r *coordinateRow) bool { items = append(items, &r.NodeCoordinate); return true })
	case model.TopicTimers:
		items = s.t.timers()
	}
	return items
}

// eachInState calls f for each check in a state. Passing ones are the rule and not
// worth a table: whoever asks for them gets nearly all.
func (t *tables) eachInState(status string, f func(*checkRow) bool) {
	if status != model.StatusPassing {
		t.eachFailing(status, f)
		return
	}
	t.checks.Scan(func(r *checkRow) bool { return r.Status != status || f(r) })
}

// serviceChecks gathers the checks of a service's instances. Instances come by
// node and id, so checks are out of order only within a node.
func (s *Snapshot) serviceChecks(name string) (items []any) {
	node, start := "", 0
	order := func() {
		slices.SortFunc(items[start:], func(a, b any) int {
			return strings.Compare(a.(*model.Check).ID, b.(*model.Check).ID)
		})
	}
	s.t.eachInstance(name, func(r *instanceRow) bool {
		if r.node != node {
			order()
			node, start = r.node, len(items)
		}
		for _, c := range r.own() {
			items = append(items, c)
		}
		return true
	})
	order()
	return items
}
