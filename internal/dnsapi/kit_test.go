package dnsapi

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/muster-discovery/muster/internal/acl"
	"github.com/muster-discovery/muster/internal/lookup"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/view"
)

// catalog is a source of views kept by hand, and the leader behind it.
type catalog struct {
	mu        sync.Mutex
	index     uint64
	nodes     map[string]*model.Node
	instances []*model.Instance
	hub       *view.Hub

	contact atomic.Int64 // nanoseconds since the leader was heard
	down    atomic.Bool  // lookups fail
}

func newCatalog() *catalog {
	c := &catalog{nodes: map[string]*model.Node{}, index: 1}
	c.hub = view.NewHub(c, view.Config{})
	return c
}

func (c *catalog) lookup() *lookup.Lookup {
	return lookup.New(lookup.Config{
		Hub: c.hub, Leader: c, Datacenter: "dc1",
		Resolve: func(string) (acl.Authorizer, error) {
			if c.down.Load() {
				return nil, model.Errorf(model.KindUnavailable, "no server answers")
			}
			return acl.AllowAll{}, nil
		},
	})
}

func (c *catalog) Known() bool                { return c.contact.Load() == 0 }
func (c *catalog) IsLeader() bool             { return c.contact.Load() == 0 }
func (c *catalog) LastContact() time.Duration { return time.Duration(c.contact.Load()) }
func (c *catalog) ReadTopic(context.Context, model.Topic, uint64, bool) (lookup.TopicState, error) {
	return lookup.TopicState{}, model.Errorf(model.KindNoLeader, "No cluster leader")
}

// add registers an instance. Its node is made or replaced.
func (c *catalog) add(i *model.Instance) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.index++
	if i.Node.Datacenter == "" {
		i.Node.Datacenter = "dc1"
	}
	c.nodes[model.Fold(i.Node.Name)] = i.Node
	if i.Service != nil {
		i.Service.Node = i.Node.Name
		if i.Service.Weights == (model.Weights{}) {
			i.Service.Weights = model.Weights{Passing: 1, Warning: 1}
		}
		c.instances = append(c.instances, i)
	}
	c.hub.Publish(nil)
}

// replace sets a service's instances, all at once.
func (c *catalog) replace(service string, to ...*model.Instance) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.index++
	c.instances = slices.DeleteFunc(slices.Clone(c.instances), func(i *model.Instance) bool { return model.Fold(i.Service.Name) == model.Fold(service) })
	for _, i := range to {
		i.Node.Datacenter, i.Service.Node = "dc1", i.Node.Name
		if i.Service.Weights == (model.Weights{}) {
			i.Service.Weights = model.Weights{Passing: 1, Warning: 1}
		}
		c.instances = append(c.instances, i)
	}
	c.hub.Publish([]model.Topic{model.NewTopic(model.TopicService, service)})
}

func (c *catalog) Items(t model.Topic) (items []any, index uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch t.Kind {
	case model.TopicNodes:
		for _, n := range c.nodes {
			items = append(items, n)
		}
		slices.SortFunc(items, func(a, b any) int { return strings.Compare(a.(*model.Node).Name, b.(*model.Node).Name) })
	case model.TopicNode:
		if n := c.nodes[t.Name]; n != nil {
			items = append(items, &model.NodeServices{Node: n})
		}
	case model.TopicServices:
		names := map[string]bool{}
		for _, i := range c.instances {
			if !names[i.Service.Name] {
				names[i.Service.Name] = true
				items = append(items, &model.ServiceSummary{Name: i.Service.Name})
			}
		}
	case model.TopicService, model.TopicConnect:
		for _, i := range c.instances {
			name := i.Service.Name
			if t.Kind == model.TopicConnect {
				name = ""
				if i.Service.Connect.Native {
					name = i.Service.Name
				} else if i.Service.Proxy != nil {
					name = i.Service.Proxy.DestinationServiceName
				}
			}
			if name != "" && model.Fold(name) == t.Name {
				items = append(items, i)
			}
		}
	}
	return items, c.index
}

// instance is "node address service id port" with options applied.
func instance(node, address, service string, port int, options ...func(*model.Instance)) *model.Instance {
	i := &model.Instance{
		Node:    &model.Node{Name: node, Address: address},
		Service: &model.Service{ID: fmt.Sprintf("%s-%s-%d", service, node, port), Name: service, Port: port},
	}
	for _, o := range options {
		o(i)
	}
	return i
}

func own(address string) func(*model.Instance) {
	return func(i *model.Instance) { i.Service.Address = address }
}

func tags(t ...string) func(*model.Instance) {
	return func(i *model.Instance) { i.Service.Tags = t }
}

func weights(passing, warning int) func(*model.Instance) {
	return func(i *model.Instance) { i.Service.Weights = model.Weights{Passing: passing, Warning: warning} }
}

func status(states ...string) func(*model.Instance) {
	return func(i *model.Instance) {
		for n, s := range states {
			i.Checks = append(i.Checks, &model.Check{ID: fmt.Sprint(n), Status: s})
		}
	}
}

func meta(pairs ...string) func(*model.Instance) {
	return func(i *model.Instance) {
		i.Node.Meta = map[string]string{}
		for n := 0; n < len(pairs); n += 2 {
			i.Node.Meta[pairs[n]] = pairs[n+1]
		}
	}
}

func many(c *catalog, service string, n int) {
	for i := range n {
		c.add(instance(fmt.Sprintf("%s-n%03d", service, i), fmt.Sprintf("10.1.%d.%d", i/250, i%250+1), service, 8000+i))
	}
}

func newServer(t testing.TB, c *catalog, change func(*Config)) *Server {
	t.Helper()
	cfg := DefaultConfig()
	cfg.Lookup = c.lookup()
	if change != nil {
		change(&cfg)
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// exchange answers a message without sockets, on the path it would take.
func (s *Server) exchange(t testing.TB, w *worker, in []byte, udp bool) (reply []byte, hot bool) {
	t.Helper()
	reply, general := w.handle(context.Background(), in, nil, udp)
	if general {
		return s.slow(context.Background(), in, udp), false
	}
	return reply, true
}

type asking struct {
	name  string
	qtype uint16
	edns  uint16
	tcp   bool
}

func (a asking) message() *dns.Msg {
	m := new(dns.Msg)
	m.SetQuestion(dns.Fqdn(a.name), a.qtype)
	if a.edns > 0 {
		m.SetEdns0(a.edns, false)
	}
	return m
}

func pack(t testing.TB, m *dns.Msg) []byte {
	t.Helper()
	b, err := m.Pack()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func unpack(t testing.TB, b []byte) *dns.Msg {
	t.Helper()
	m := new(dns.Msg)
	if err := m.Unpack(b); err != nil {
		t.Fatalf("answer %x: %v", b, err)
	}
	return m
}

// ask answers a question; an answer over its size limit is an error.
func ask(t testing.TB, s *Server, a asking) (m *dns.Msg, hot bool) {
	t.Helper()
	b, hot := s.exchange(t, s.newReader(), pack(t, a.message()), !a.tcp)
	if limit := s.settings.Load().sizeLimit(!a.tcp, a.edns > 0, int(a.edns)); len(b) > limit {
		t.Errorf("%s: answer has %d bytes, limit %d", a.name, len(b), limit)
	}
	return unpack(t, b), hot
}

// lines are records in short form, sorted, without the SOA's serial and OPT.
func lines(rrs []dns.RR) []string {
	out := []string{}
	for _, rr := range rrs {
		if soa, ok := rr.(*dns.SOA); ok {
			soa.Serial = 0
		}
		if rr.Header().Rrtype != dns.TypeOPT {
			out = append(out, strings.Join(strings.Fields(rr.String()), " "))
		}
	}
	slices.Sort(out)
	return out
}

func equal(t testing.TB, what string, got, want []string) {
	t.Helper()
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %q\nwant %q", what, got, want)
	}
}
