package dnsapi

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/muster-discovery/muster/internal/lookup"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/view"
)

// fakeQueries answers by name.
type fakeQueries struct {
	queries map[string]*lookup.Executed
	asked   []lookup.Execution
}

func (f *fakeQueries) Execute(_ context.Context, x *lookup.Execution) (*lookup.Executed, error) {
	f.asked = append(f.asked, *x)
	if q := f.queries[x.Name]; q != nil {
		return q, nil
	}
	return nil, lookup.ErrNoQuery
}

func executed(ttl string, instances ...*model.Instance) *lookup.Executed {
	out := &lookup.Executed{Query: &model.Query{DNSTTL: ttl, Service: model.QueryService{Service: "Web"}}}
	for _, i := range instances {
		i.Node.Datacenter = "dc1"
		out.Items = append(out.Items, view.NewItem(i))
	}
	return out
}

func TestPreparedQueries(t *testing.T) {
	q := &fakeQueries{queries: map[string]*lookup.Executed{
		"web": executed("7s", instance("a", "10.0.0.1", "web", 80), instance("b", "10.0.0.2", "web", 81),
			instance("c", "10.0.0.3", "web", 82), instance("d", "10.0.0.4", "web", 83)),
		"dotted.name": executed("", instance("a", "10.0.0.1", "web", 80)),
		"none":        executed("7s"),
		"six":         executed("0s", instance("a", "2001:db8::1", "web", 80)),
	}}
	s := newServer(t, newCatalog(), func(c *Config) {
		c.Queries = q
		c.Settings.ServiceTTL = map[string]time.Duration{"web": 3 * time.Second}
	})
	const soa = "consul. 0 IN SOA"
	for _, c := range []struct {
		name   string
		qtype  uint16
		rcode  int
		answer []string
		extra  []string
	}{
		// Without EDNS three records are sent: the first ones, in their order.
		{"web.query.consul", dns.TypeA, 0, []string{"web.query.consul. 7 IN A 10.0.0.1", "web.query.consul. 7 IN A 10.0.0.2", "web.query.consul. 7 IN A 10.0.0.3"}, nil},
		{"WEB.query.dc1.consul", dns.TypeA, 0, []string{"WEB.query.dc1.consul. 7 IN A 10.0.0.1", "WEB.query.dc1.consul. 7 IN A 10.0.0.2", "WEB.query.dc1.consul. 7 IN A 10.0.0.3"}, nil},
		{"dotted.name.query.consul", dns.TypeSRV, 0, []string{"dotted.name.query.consul. 3 IN SRV 1 1 80 a.node.dc1.consul."}, []string{"a.node.dc1.consul. 3 IN A 10.0.0.1"}},
		{"_six._tcp.query.consul", dns.TypeAAAA, 0, []string{"_six._tcp.query.consul. 0 IN AAAA 2001:db8::1"}, nil},
		{"web.query.consul", dns.TypeAAAA, 0, nil, nil},
		{"none.query.consul", dns.TypeA, 3, nil, nil},
		{"unknown.query.consul", dns.TypeA, 3, nil, nil},
		{"x.web.query.consul", dns.TypeA, 3, nil, nil},
	} {
		m, _ := ask(t, s, asking{name: c.name, qtype: c.qtype})
		if m.Rcode != c.rcode || !m.Authoritative {
			t.Errorf("%s: rcode %d, authoritative %t", c.name, m.Rcode, m.Authoritative)
		}
		if got := lines(m.Answer); !slices.Equal(got, c.answer) {
			t.Errorf("%s: %q, want %q", c.name, got, c.answer)
		}
		if got := lines(m.Extra); !slices.Equal(got, c.extra) {
			t.Errorf("%s: additional %q, want %q", c.name, got, c.extra)
		}
		if got := lines(m.Ns); (len(c.answer) == 0) != (len(got) == 1 && got[0][:len(soa)] == soa) {
			t.Errorf("%s: authority %q", c.name, got)
		}
	}
	q.asked = nil
	ask(t, s, asking{name: "web.query.dc9.consul", qtype: dns.TypeA})
	if len(q.asked) != 1 || q.asked[0].Datacenter != "dc9" || q.asked[0].Mode != lookup.ModeStale {
		t.Errorf("asked %+v", q.asked)
	}
}

// TestQueryLoopEnds: hashicorp/consul#4040.
func TestQueryLoopEnds(t *testing.T) {
	q := &fakeQueries{queries: map[string]*lookup.Executed{
		"self": executed("", instance("self", "self.query.consul", "self", 1)),
		"one":  executed("", instance("one", "two.query.consul", "one", 1)),
		"two":  executed("", instance("two", "one.query.consul", "two", 1)),
	}}
	s := newServer(t, newCatalog(), func(c *Config) { c.Queries = q })
	for _, name := range []string{"self", "one"} {
		for _, qtype := range []uint16{dns.TypeA, dns.TypeAAAA, dns.TypeSRV, dns.TypeANY} {
			q.asked = nil
			ask(t, s, asking{name: name + ".query.consul", qtype: qtype})
			if len(q.asked) == 0 || len(q.asked) > 2*(maxDepth+1) {
				t.Errorf("%s %s ran %d queries", name, dns.TypeToString[qtype], len(q.asked))
			}
		}
	}
}
