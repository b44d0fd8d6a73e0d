package dnsapi

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/muster-discovery/muster/internal/model"
)

func perInstance(c *Config) { c.Settings.SRVInstance = true }

func srvTargets(m *dns.Msg) map[uint16]string {
	out := map[uint16]string{}
	for _, rr := range m.Answer {
		out[rr.(*dns.SRV).Port] = rr.(*dns.SRV).Target
	}
	return out
}

// One target for each instance, on both paths, that resolves by itself to the
// addresses of exactly that instance.
func TestInstanceTargets(t *testing.T) {
	c := standard()
	c.add(instance("shared", "10.8.0.1", "api", 1))
	c.add(instance("shared", "10.8.0.1", "api", 2))
	c.add(instance("shared", "10.8.0.1", "api", 3, own("10.8.1.1")))
	c.add(instance("other", "10.8.0.2", "api", 4, own("10.8.1.1")))
	c.add(instance("six", "2001:db8::8", "API", 5, func(i *model.Instance) {
		i.Node.TaggedAddresses = map[string]string{"lan_ipv4": "10.8.0.5"}
	}))
	c.add(instance("bad node", "10.8.0.6", "api", 6, status("warning"), meta("k", "v")))
	s := newServer(t, c, perInstance)
	m, hot := ask(t, s, asking{name: "api.service.Consul", qtype: dns.TypeSRV, tcp: true})
	if !hot || len(m.Answer) != 6 || len(m.Extra) < 6 {
		t.Fatalf("hot %t: %v", hot, m)
	}
	general := unpack(t, s.slow(t.Context(), pack(t, asking{name: "api.service.Consul", qtype: dns.TypeSRV}.message()), false))
	equal(t, "general path", lines(general.Answer), lines(m.Answer))
	equal(t, "general path", lines(general.Extra), lines(m.Extra))
	want := map[uint16][]string{
		1: {"A 10.8.0.1"}, 2: {"A 10.8.0.1"}, 3: {"A 10.8.1.1"}, 4: {"A 10.8.1.1"},
		5: {"A 10.8.0.5", "AAAA 2001:db8::8"}, 6: {"A 10.8.0.6"},
	}
	seen := map[string]bool{}
	for port, target := range srvTargets(m) {
		if seen[target] || !strings.HasSuffix(target, ".api.inst.dc1.Consul.") || len(strings.Split(target, ".")[0]) != 16 {
			t.Errorf("port %d: target %s", port, target)
		}
		seen[target] = true
		for _, name := range []string{target, strings.ToUpper(target), strings.Replace(target, ".dc1", "", 1), strings.Replace(target, ".dc1", ".dc1.dc", 1)} {
			var got []string
			for _, qtype := range []uint16{dns.TypeA, dns.TypeAAAA} {
				m, hot := ask(t, s, asking{name: name, qtype: qtype})
				if !hot || m.Rcode != 0 || !m.Authoritative || (len(m.Answer) == 0) != (len(m.Ns) == 1) {
					t.Errorf("%s: hot %t, %v", name, hot, m)
				}
				for _, rr := range m.Answer {
					got = append(got, strings.Join(strings.Fields(rr.String())[3:], " "))
				}
				whole := unpack(t, s.slow(t.Context(), pack(t, asking{name: name, qtype: qtype}.message()), true))
				equal(t, name+" general", lines(whole.Answer), lines(m.Answer))
				equal(t, name+" general", lines(whole.Ns), lines(m.Ns))
			}
			if !slices.Equal(got, want[port]) {
				t.Errorf("port %d: %s is %q, want %q", port, name, got, want[port])
			}
		}
		m, _ := ask(t, s, asking{name: target, qtype: dns.TypeTXT})
		if port == 4 {
			equal(t, "TXT", lines(m.Answer), []string{target + ` 0 IN TXT "node=other"`, target + ` 0 IN TXT "id=api-other-4"`})
		}
		if m, _ := ask(t, s, asking{name: target, qtype: dns.TypeANY}); len(m.Answer) != len(want[port])+2 {
			t.Errorf("ANY: %v", m)
		}
	}
	for _, n := range []struct {
		name  string
		rcode int
	}{
		{"0000000000000000.api.inst.consul", dns.RcodeNameError},
		{"x.inst.dc1.consul", dns.RcodeNameError},
		{"a.b.api.inst.dc1.consul", dns.RcodeNameError},
		{"api.inst.dc1.consul", 0}, {"inst.dc1.consul", 0}, {"inst.consul", 0},
	} {
		for _, qtype := range []uint16{dns.TypeA, dns.TypeTXT} {
			if m, _ := ask(t, s, asking{name: n.name, qtype: qtype}); m.Rcode != n.rcode || len(m.Ns) != 1 || len(m.Answer) != 0 {
				t.Errorf("%s: %v", n.name, m)
			}
		}
	}
}

// A target must not be an alias (RFC 2782): host names stay what they are. The name
// of such an instance is an alias.
func TestInstanceHostName(t *testing.T) {
	s := newServer(t, standard(), perInstance)
	m, _ := ask(t, s, asking{name: "inner.service.consul", qtype: dns.TypeSRV})
	equal(t, "SRV", lines(m.Answer), []string{"inner.service.consul. 0 IN SRV 1 1 93 web-1.node.consul."})
	name := instanceLabel("inner", "inner-inner-93") + ".inner.inst.consul."
	m, _ = ask(t, s, asking{name: name, qtype: dns.TypeA})
	equal(t, "A", lines(m.Answer), []string{name + " 0 IN CNAME web-1.node.consul.", "web-1.node.consul. 0 IN A 10.0.0.1"})
}

// The name lives exactly as long as the instance: over changes of its health,
// address and tags, until it is deregistered.
func TestInstanceLifetime(t *testing.T) {
	c := newCatalog()
	c.add(instance("a", "10.0.0.1", "web", 1))
	c.add(instance("b", "10.0.0.2", "web", 1))
	s := newServer(t, c, perInstance)
	m, _ := ask(t, s, asking{name: "web.service.consul", qtype: dns.TypeSRV})
	var name string
	for _, rr := range m.Extra {
		if strings.HasSuffix(rr.String(), "10.0.0.1") {
			name = rr.Header().Name
		}
	}
	for _, change := range []struct {
		to   []*model.Instance
		want []string
	}{
		{[]*model.Instance{instance("a", "10.0.0.1", "web", 1, status("critical")), instance("b", "10.0.0.2", "web", 1)}, []string{name + " 0 IN A 10.0.0.1"}},
		{[]*model.Instance{instance("A", "10.0.0.9", "Web", 1, tags("v2"), func(i *model.Instance) { i.Service.ID = "web-a-1" }), instance("b", "10.0.0.2", "web", 1)}, []string{name + " 0 IN A 10.0.0.9"}},
		{[]*model.Instance{instance("a", "10.0.0.9", "web", 1, own("10.0.5.5"))}, []string{name + " 0 IN A 10.0.5.5"}},
	} {
		c.replace("web", change.to...)
		for range 2 {
			m, _ := ask(t, s, asking{name: name, qtype: dns.TypeA})
			equal(t, "lives", lines(m.Answer), change.want)
		}
	}
	for _, to := range [][]*model.Instance{{instance("b", "10.0.0.2", "web", 1)}, nil} {
		c.replace("web", to...)
		if m, _ := ask(t, s, asking{name: name, qtype: dns.TypeA}); m.Rcode != dns.RcodeNameError || len(m.Ns) != 1 {
			t.Errorf("gone: %v", m)
		}
	}
	c.replace("web", instance("a", "10.0.0.1", "web", 1))
	m, _ = ask(t, s, asking{name: name, qtype: dns.TypeA})
	equal(t, "back", lines(m.Answer), []string{name + " 0 IN A 10.0.0.1"})
}

// Load balancers keep their slots by these names, over restarts and updates of
// Muster too.
func TestInstanceLabelsStay(t *testing.T) {
	const label = "6vh2ac9680b6ef7b"
	for in, want := range map[[2]string]string{
		{"n1", "web-1"}: instanceLabel("N1", "web-1"),
		{"n1", "web-2"}: "",
		{"n", "1web-1"}: "",
	} {
		if got := instanceLabel(in[0], in[1]); want != "" && got != want || want == "" && got == instanceLabel("n1", "web-1") {
			t.Errorf("%v: %s", in, got)
		}
	}
	if got := instanceLabel("n1", "web-1"); got != label {
		t.Errorf("the label of web-1 on n1 is %s, was %s", got, label)
	}
}

// Stable answers: always the same records in the same order, and of cut ones always
// the same part. An instance that leaves or comes changes one record, not all.
func TestStableOrder(t *testing.T) {
	c := newCatalog()
	many(c, "many", 60)
	for _, target := range []bool{false, true} {
		s := newServer(t, c, func(c *Config) { c.Settings.SRVStable, c.Settings.SRVInstance = true, target })
		for _, a := range []asking{{}, {edns: 1232}, {edns: 4096}, {tcp: true}} {
			a.name, a.qtype = "many.service.consul", dns.TypeSRV
			var last []uint16
			for range 5 {
				m, hot := ask(t, s, a)
				got := ports(m)
				if !hot || len(got) == 0 || last != nil && !slices.Equal(got, last) {
					t.Fatalf("hot %t, %v: %v", hot, a, got)
				}
				for i, p := range got { // many registers ports in the order of nodes
					if int(p) != 8000+i {
						t.Fatalf("%v: record %d has port %d", a, i, p)
					}
				}
				for i := range min(len(m.Extra), len(got)) {
					if rr := m.Extra[i]; rr.Header().Rrtype == dns.TypeA && rr.Header().Name != m.Answer[i].(*dns.SRV).Target {
						t.Fatalf("additional record %d is %s", i, rr)
					}
				}
				last = got
			}
			general := unpack(t, s.slow(t.Context(), pack(t, a.message()), !a.tcp))
			if got := ports(general); !slices.Equal(got[:min(len(got), len(last))], last[:min(len(got), len(last))]) {
				t.Errorf("general path: %v", got)
			}
		}
	}
	s := newServer(t, c, func(c *Config) { c.Settings.SRVStable = true })
	a := asking{name: "many.service.consul", qtype: dns.TypeSRV}
	var left []*model.Instance
	for i := range 60 {
		if i != 1 {
			left = append(left, instance(fmt.Sprintf("many-n%03d", i), fmt.Sprintf("10.1.0.%d", i+1), "many", 8000+i))
		}
	}
	c.replace("many", left...)
	if m, _ := ask(t, s, a); !slices.Equal(ports(m), []uint16{8000, 8002, 8003}) {
		t.Errorf("without the second: %v", ports(m))
	}
	// Addresses are shuffled still: who takes the first one spreads load by it.
	first := map[string]bool{}
	for range 50 {
		m, _ := ask(t, s, asking{name: "many.service.consul", qtype: dns.TypeA})
		first[m.Answer[0].String()] = true
	}
	if len(first) < 10 {
		t.Errorf("first addresses: %v", first)
	}
}

func ports(m *dns.Msg) (out []uint16) {
	for _, rr := range m.Answer {
		out = append(out, rr.(*dns.SRV).Port)
	}
	return out
}

// Without the option nothing changes, and the names resolve all the same, so that
// agents can be switched one by one.
func TestInstanceNamesByDefault(t *testing.T) {
	s := newServer(t, standard(), nil)
	m, _ := ask(t, s, asking{name: "six.service.consul", qtype: dns.TypeSRV})
	equal(t, "SRV", lines(m.Answer), []string{"six.service.consul. 0 IN SRV 1 1 90 six.node.dc1.consul."})
	name := instanceLabel("six", "six-six-90") + ".six.inst.consul."
	m, _ = ask(t, s, asking{name: name, qtype: dns.TypeAAAA})
	equal(t, "AAAA", lines(m.Answer), []string{name + " 0 IN AAAA 2001:db8::1"})
}
