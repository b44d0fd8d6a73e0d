package state

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/muster-discovery/muster/internal/model"
)

// slow is the obvious version of the state that the real one is compared with: it
// keeps plain maps and answers every topic by looking at everything.
type slow struct {
	index uint64
	nodes map[string]*slowNode // by folded name
	vips  map[string]uint32
	next  uint32
	now   time.Time
}

type slowNode struct {
	model.Node
	services map[string]model.Service
	checks   map[string]model.Check
}

func newSlow() *slow {
	return &slow{index: 1, nodes: map[string]*slowNode{}, vips: map[string]uint32{}}
}

func (s *slow) apply(op any) error {
	s.now = t0.Add(time.Duration(s.index) * time.Second)
	s.index++
	defer s.releaseVirtuals()
	switch op := op.(type) {
	case *model.Registration:
		return s.register(op)
	case *model.Deregistration:
		s.deregister(op)
	}
	return nil
}

func (s *slow) byID(id string) (string, *slowNode) {
	for key, n := range s.nodes {
		if id != "" && n.ID == id {
			return key, n
		}
	}
	return "", nil
}

func (s *slow) register(r *model.Registration) error {
	key := strings.ToLower(r.Node.Name)
	named := s.nodes[key]
	skip := r.SkipNodeUpdate && named != nil
	fromKey, from := s.byID(r.Node.ID)
	if skip || fromKey == key {
		from = nil
	}
	if !skip && named != nil && r.Node.ID != "" && named.ID != r.Node.ID && (named.ID != "" || from != nil) {
		if c, ok := named.checks["serfHealth"]; ok && c.Status != "critical" {
			return model.Errorf(model.KindConflict, "reserved")
		}
	}
	final := map[string]*model.Check{}
	for _, c := range r.Checks {
		final[c.ID] = c
	}
	r.Checks = slices.DeleteFunc(slices.Clone(r.Checks), func(c *model.Check) bool { return final[c.ID] != c })
	for _, c := range r.Checks {
		known := c.ServiceID == "" || r.Service != nil && r.Service.ID == c.ServiceID
		for _, n := range []*slowNode{named, from} {
			if n != nil {
				_, here := n.services[c.ServiceID]
				known = known || here
			}
		}
		if !known {
			return model.Errorf(model.KindInvalid, "Unknown service ID '%s' for check ID '%s'", c.ServiceID, c.ID)
		}
	}
	if named == nil {
		named = &slowNode{services: map[string]model.Service{}, checks: map[string]model.Check{}}
		s.nodes[key] = named
		named.Create = s.index
	}
	if !skip {
		s.setNode(named, r.Node, from)
		if from != nil {
			delete(s.nodes, fromKey)
			for _, svc := range from.services {
				s.moveService(named, svc)
			}
			for _, c := range from.checks {
				c.Node, c.Modify = named.Name, s.index
				named.checks[c.ID] = c
			}
		}
	}
	if r.Service != nil {
		s.setService(named, *r.Service)
	}
	for _, c := range r.Checks {
		s.setCheck(named, *c)
	}
	return nil
}

func (s *slow) setNode(n *slowNode, in model.Node, from *slowNode) {
	in.Datacenter = "dc1"
	in.Indexes = n.Indexes
	if from != nil {
		in.Create = from.Create
	}
	if from == nil && fmt.Sprintf("%#v", in) == fmt.Sprintf("%#v", n.Node) {
		return
	}
	respelled := n.Name != in.Name
	in.Modify = s.index
	n.Node = in
	if respelled {
		for id, svc := range n.services {
			svc.Node, svc.Modify = n.Name, s.index
			n.services[id] = svc
		}
		for id, c := range n.checks {
			c.Node, c.Modify = n.Name, s.index
			n.checks[id] = c
		}
	}
}

func (s *slow) moveService(n *slowNode, svc model.Service) {
	svc.Node, svc.Modify = n.Name, s.index
	n.services[svc.ID] = svc
	s.label(n, svc)
}

// label brings name and tags of a service to its checks.
func (s *slow) label(n *slowNode, svc model.Service) {
	for id, c := range n.checks {
		if c.ServiceID != svc.ID || c.ServiceName == svc.Name && equalStrings(c.ServiceTags, svc.Tags) {
			continue
		}
		c.ServiceName, c.ServiceTags, c.Modify = svc.Name, svc.Tags, s.index
		n.checks[id] = c
	}
}

func (s *slow) setService(n *slowNode, svc model.Service) {
	svc.Node = n.Name
	if dest := slowDest(svc); dest != "" {
		if s.vips[dest] == 0 {
			s.next++
			s.vips[dest] = s.next
		}
		svc.TaggedAddresses = maps.Clone(svc.TaggedAddresses)
		if svc.TaggedAddresses == nil {
			svc.TaggedAddresses = map[string]model.ServiceAddress{}
		}
		svc.TaggedAddresses["consul-virtual"] = model.ServiceAddress{
			Address: fmt.Sprintf("240.0.0.%d", s.vips[dest]), Port: svc.Port}
	}
	old, found := n.services[svc.ID]
	if found {
		svc.Indexes, svc.RegisteredAt = old.Indexes, old.RegisteredAt
	} else {
		svc.Create, svc.RegisteredAt = s.index, s.now
	}
	if found && slowString(old) == slowString(svc) {
		return
	}
	svc.Modify = s.index
	n.services[svc.ID] = svc
	s.label(n, svc)
}

func (s *slow) setCheck(n *slowNode, c model.Check) {
	c.Node = n.Name
	if c.Status == "" {
		c.Status = "critical"
	}
	if c.ServiceID != "" {
		c.ServiceName, c.ServiceTags = n.services[c.ServiceID].Name, n.services[c.ServiceID].Tags
	}
	old, found := n.checks[c.ID]
	c.Create, c.StatusSince = s.index, s.now
	if found {
		c.Indexes = old.Indexes
		if c.Status == old.Status {
			c.StatusSince = old.StatusSince
		}
		if slowString(old) == slowString(c) {
			return
		}
	}
	c.Modify = s.index
	n.checks[c.ID] = c
}

func (s *slow) deregister(d *model.Deregistration) {
	key := strings.ToLower(d.Node)
	n := s.nodes[key]
	switch {
	case n == nil:
	case d.ServiceID != "":
		if _, ok := n.services[d.ServiceID]; ok {
			delete(n.services, d.ServiceID)
			maps.DeleteFunc(n.checks, func(_ string, c model.Check) bool { return c.ServiceID == d.ServiceID })
		}
	case d.CheckID != "":
		delete(n.checks, d.CheckID)
	default:
		delete(s.nodes, key)
	}
}

func (s *slow) releaseVirtuals() {
	for dest := range s.vips {
		used := false
		for _, n := range s.nodes {
			for _, svc := range n.services {
				used = used || slowDest(svc) == dest
			}
		}
		if !used {
			delete(s.vips, dest)
		}
	}
}

func slowDest(s model.Service) string {
	if s.Kind == "connect-proxy" && s.Proxy != nil {
		return strings.ToLower(s.Proxy.DestinationServiceName)
	}
	if s.Kind == "" && s.Connect.Native {
		return strings.ToLower(s.Name)
	}
	return ""
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// items answers a topic from scratch, as text.
func (s *slow) items(t model.Topic) (out []string) {
	summaries := map[string]map[string]bool{}
	nodeChecks := func(n *slowNode, keep func(model.Check) bool) {
		for _, id := range sorted(n.checks) {
			if keep(n.checks[id]) {
				out = append(out, slowString(n.checks[id]))
			}
		}
	}
	for _, key := range sorted(s.nodes) {
		n := s.nodes[key]
		if t.Kind == model.TopicNodes {
			out = append(out, slowString(n.Node))
		}
		nodeText := slowString(n.Node)
		for _, id := range sorted(n.services) {
			svc := n.services[id]
			nodeText += "\n" + slowString(svc)
			if t.Kind == model.TopicService && strings.ToLower(svc.Name) == t.Name ||
				t.Kind == model.TopicConnect && slowDest(svc) == t.Name {
				out = append(out, s.instance(n, svc))
			}
			if summaries[svc.Name] == nil {
				summaries[svc.Name] = map[string]bool{}
			}
			for _, tag := range svc.Tags {
				summaries[svc.Name][tag] = true
			}
		}
		if t.Kind == model.TopicNode && key == t.Name {
			out = append(out, nodeText)
		}
		nodeChecks(n, func(c model.Check) bool {
			switch t.Kind {
			case model.TopicChecks:
				return true
			case model.TopicChecksState:
				return c.Status == t.Name
			case model.TopicServiceCheck:
				return c.ServiceID != "" && strings.ToLower(c.ServiceName) == t.Name
			case model.TopicNodeChecks:
				return key == t.Name
			}
			return false
		})
	}
	if t.Kind == model.TopicServices {
		for _, name := range sorted(summaries) {
			out = append(out, name+" "+strings.Join(sorted(summaries[name]), ","))
		}
	}
	return out
}

func (s *slow) instance(n *slowNode, svc model.Service) string {
	text := slowString(n.Node) + "\n" + slowString(svc)
	for _, owner := range []string{"", svc.ID} {
		for _, id := range sorted(n.checks) {
			if n.checks[id].ServiceID == owner {
				text += "\n" + slowString(n.checks[id])
			}
		}
	}
	return text
}

// slowString shows a value with all it holds; nil and empty differ.
func slowString(v any) string {
	switch v := v.(type) {
	case model.Service:
		proxy := "nil"
		if v.Proxy != nil {
			proxy = fmt.Sprintf("%#v", *v.Proxy)
		}
		at := v.RegisteredAt.Unix()
		v.Proxy, v.RegisteredAt = nil, time.Time{}
		return fmt.Sprintf("%#v %s %d", v, proxy, at)
	case model.Check:
		at := v.StatusSince.Unix()
		v.StatusSince = time.Time{}
		return fmt.Sprintf("%#v %d", v, at)
	case *model.Node:
		return slowString(*v)
	case *model.Check:
		return slowString(*v)
	case *model.ServiceSummary:
		return v.Name + " " + strings.Join(v.Tags, ",")
	case *model.NodeServices:
		text := slowString(*v.Node)
		for _, svc := range v.Services {
			text += "\n" + slowString(*svc)
		}
		return text
	case *model.Instance:
		text := slowString(*v.Node) + "\n" + slowString(*v.Service)
		for _, c := range v.Checks {
			text += "\n" + slowString(*c)
		}
		return text
	}
	return fmt.Sprintf("%#v", v)
}
