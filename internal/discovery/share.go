package discovery

import (
	"maps"
	"slices"

	"github.com/muster-discovery/muster/internal/model"
)

// share has an instance hold what is the same in the one before it only once: the
// instances of a service differ in little, and an agent holds many of them. Both are
// new and nobody else's yet.
func share(before, i *model.Instance) {
	n, s := i.Node, i.Service
	if before != nil {
		b := before.Service
		same(&n.Datacenter, before.Node.Datacenter)
		sameMap(&n.Meta, before.Node.Meta)
		same(&s.Name, b.Name)
		same(&s.Kind, b.Kind)
		sameList(&s.Tags, b.Tags)
		sameMap(&s.Meta, b.Meta)
	}
	same(&s.Node, n.Name)
	for k, c := range i.Checks {
		if before != nil && k < len(before.Checks) {
			shareCheck(before.Checks[k], c)
		}
		same(&c.Node, n.Name)
		same(&c.ServiceID, s.ID)
		same(&c.ServiceName, s.Name)
		sameList(&c.ServiceTags, s.Tags)
	}
}

func shareCheck(before, c *model.Check) {
	same(&c.ID, before.ID)
	same(&c.Name, before.Name)
	same(&c.Status, before.Status)
	same(&c.Notes, before.Notes)
	same(&c.Output, before.Output)
	same(&c.Type, before.Type)
	same(&c.Interval, before.Interval)
	same(&c.Timeout, before.Timeout)
}

func same(s *string, other string) {
	if *s == other {
		*s = other
	}
}

// sameMap and sameList tell nil from empty, as clients do.
func sameMap(m *map[string]string, other map[string]string) {
	if (*m == nil) == (other == nil) && maps.Equal(*m, other) {
		*m = other
	}
}

func sameList(l *[]string, other []string) {
	if (*l == nil) == (other == nil) && slices.Equal(*l, other) {
		*l = other
	}
}
