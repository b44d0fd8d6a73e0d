package dnsapi

import (
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/muster-discovery/muster/internal/model"
)

func standard() *catalog {
	c := newCatalog()
	c.add(instance("n1", "127.0.0.1", "consul", 8300, meta("env", "prod", "a=b", "c", "rfc1035-note", "raw")))
	c.add(instance("web-1", "10.0.0.1", "Web", 81, tags("v1"), own("10.0.1.1"), weights(7, 2)))
	c.add(instance("web-2", "10.0.0.2", "Web", 82, tags("v2", "Blue"), status("passing", "warning"), weights(9, 3)))
	c.add(instance("web-3", "10.0.0.3", "Web", 83, status("critical")))
	c.add(instance("six", "2001:db8::1", "six", 90))
	c.add(instance("dual", "10.0.2.1", "dual", 91, func(i *model.Instance) {
		i.Service.Address = "10.0.3.1"
		i.Service.TaggedAddresses = map[string]model.ServiceAddress{"lan_ipv6": {Address: "2001:db8::3"}, "wan": {Address: "192.0.2.1"}}
		i.Node.TaggedAddresses = map[string]string{"lan_ipv6": "2001:db8::2"}
	}))
	c.add(instance("ext", "backend.example.com", "ext", 92))
	c.add(instance("inner", "10.0.4.1", "inner", 93, own("web-1.node.consul")))
	c.add(instance("loop", "loop.node.consul", "loop", 94))
	c.add(instance("odd name", "10.0.5.1", "odd", 95))
	c.add(instance("px", "10.0.6.1", "web-proxy", 96, func(i *model.Instance) {
		i.Service.Kind = model.KindConnectProxy
		i.Service.Proxy = &model.Proxy{DestinationServiceName: "Web"}
		i.Service.TaggedAddresses = map[string]model.ServiceAddress{"consul-virtual": {Address: "240.0.0.1"}}
	}))
	c.add(instance("same", "10.0.7.1", "same", 1))
	c.add(instance("same", "10.0.7.1", "same", 2))
	return c
}

const (
	soaLine  = "consul. 0 IN SOA ns.consul. hostmaster.consul. 0 3600 600 86400 0"
	loopback = "127.0.0.1"
)

func TestAnswers(t *testing.T) {
	s := newServer(t, standard(), nil)
	soa := []string{soaLine}
	for _, c := range []struct {
		name    string
		qtype   uint16
		rcode   int
		answer  []string
		ns      []string
		extra   []string
		general bool
	}{
		{name: "web.service.consul", qtype: dns.TypeA, answer: []string{"web.service.consul. 0 IN A 10.0.1.1", "web.service.consul. 0 IN A 10.0.0.2"}},
		{name: "wEb.SerVice.cOnsul", qtype: dns.TypeA, answer: []string{"wEb.SerVice.cOnsul. 0 IN A 10.0.1.1", "wEb.SerVice.cOnsul. 0 IN A 10.0.0.2"}},
		{name: "web.service.dc1.consul", qtype: dns.TypeA, answer: []string{"web.service.dc1.consul. 0 IN A 10.0.1.1", "web.service.dc1.consul. 0 IN A 10.0.0.2"}},
		{name: "web.service.DC1.dc.consul", qtype: dns.TypeA, answer: []string{"web.service.DC1.dc.consul. 0 IN A 10.0.1.1", "web.service.DC1.dc.consul. 0 IN A 10.0.0.2"}},
		{name: "v1.web.service.consul", qtype: dns.TypeA, answer: []string{"v1.web.service.consul. 0 IN A 10.0.1.1"}},
		{name: "blue.web.service.consul", qtype: dns.TypeA, answer: []string{"blue.web.service.consul. 0 IN A 10.0.0.2"}},
		{name: "v3.web.service.consul", qtype: dns.TypeA, rcode: 3, ns: soa},
		{name: "_web._v2.service.consul", qtype: dns.TypeSRV, answer: []string{"_web._v2.service.consul. 0 IN SRV 1 3 82 web-2.node.dc1.consul."}, extra: []string{"web-2.node.dc1.consul. 0 IN A 10.0.0.2"}},
		{name: "_Web._TCP.Service.CONSUL", qtype: dns.TypeSRV,
			answer: []string{"_Web._TCP.Service.CONSUL. 0 IN SRV 1 7 81 0a000101.addr.dc1.CONSUL.", "_Web._TCP.Service.CONSUL. 0 IN SRV 1 3 82 web-2.node.dc1.CONSUL."},
			extra:  []string{"0a000101.addr.dc1.CONSUL. 0 IN A 10.0.1.1", "web-2.node.dc1.CONSUL. 0 IN A 10.0.0.2"}},
		{name: "_web._tcp.consul", qtype: dns.TypeA, answer: []string{"_web._tcp.consul. 0 IN A 10.0.1.1", "_web._tcp.consul. 0 IN A 10.0.0.2"}},
		{name: "_web._v1.x.service.consul", qtype: dns.TypeSRV, rcode: 3, ns: soa},
		{name: "web.service.consul", qtype: dns.TypeAAAA, ns: soa},
		{name: "web.service.consul", qtype: dns.TypeMX, ns: soa, general: true},
		{name: "web.service.consul", qtype: dns.TypeTXT, ns: soa, general: true},
		{name: "web.service.consul", qtype: dns.TypeANY, answer: []string{"web.service.consul. 0 IN A 10.0.1.1", "web.service.consul. 0 IN A 10.0.0.2"}, general: true},
		{name: "nope.service.consul", qtype: dns.TypeMX, rcode: 3, ns: soa, general: true},
		{name: "_grpc_config.web.service.consul", qtype: dns.TypeTXT, rcode: 3, ns: soa},
		{name: "same.service.consul", qtype: dns.TypeA, answer: []string{"same.service.consul. 0 IN A 10.0.7.1"}},
		{name: "same.service.consul", qtype: dns.TypeSRV,
			answer: []string{"same.service.consul. 0 IN SRV 1 1 1 same.node.dc1.consul.", "same.service.consul. 0 IN SRV 1 1 2 same.node.dc1.consul."},
			extra:  []string{"same.node.dc1.consul. 0 IN A 10.0.7.1", "same.node.dc1.consul. 0 IN A 10.0.7.1"}},
		{name: "six.service.consul", qtype: dns.TypeAAAA, answer: []string{"six.service.consul. 0 IN AAAA 2001:db8::1"}},
		{name: "six.service.consul", qtype: dns.TypeA, ns: soa},
		{name: "six.service.consul", qtype: dns.TypeSRV, answer: []string{"six.service.consul. 0 IN SRV 1 1 90 six.node.dc1.consul."}, extra: []string{"six.node.dc1.consul. 0 IN AAAA 2001:db8::1"}},
		{name: "dual.service.consul", qtype: dns.TypeAAAA, answer: []string{"dual.service.consul. 0 IN AAAA 2001:db8::3"}},
		{name: "dual.service.consul", qtype: dns.TypeA, answer: []string{"dual.service.consul. 0 IN A 10.0.3.1"}},
		{name: "dual.node.consul", qtype: dns.TypeAAAA, answer: []string{"dual.node.consul. 0 IN AAAA 2001:db8::2"}},
		{name: "odd.service.consul", qtype: dns.TypeSRV, answer: []string{"odd.service.consul. 0 IN SRV 1 1 95 0a000501.addr.dc1.consul."}, extra: []string{"0a000501.addr.dc1.consul. 0 IN A 10.0.5.1"}},

		{name: "ext.service.consul", qtype: dns.TypeA, answer: []string{"ext.service.consul. 0 IN CNAME backend.example.com."}, general: true},
		{name: "ext.service.consul", qtype: dns.TypeSRV, answer: []string{"ext.service.consul. 0 IN SRV 1 1 92 backend.example.com."}, general: true},
		{name: "ext.node.consul", qtype: dns.TypeAAAA, answer: []string{"ext.node.consul. 0 IN CNAME backend.example.com."}, general: true},
		{name: "inner.service.consul", qtype: dns.TypeA, answer: []string{"inner.service.consul. 0 IN CNAME web-1.node.consul.", "web-1.node.consul. 0 IN A 10.0.0.1"}, general: true},
		{name: "inner.service.consul", qtype: dns.TypeSRV, answer: []string{"inner.service.consul. 0 IN SRV 1 1 93 web-1.node.consul."}, extra: []string{"web-1.node.consul. 0 IN A 10.0.0.1"}, general: true},

		{name: "n1.node.consul", qtype: dns.TypeA, answer: []string{"n1.node.consul. 0 IN A 127.0.0.1"},
			extra: []string{`n1.node.consul. 0 IN TXT "env=prod"`, "n1.node.consul. 0 IN TXT \"a`=b=c\"", `n1.node.consul. 0 IN TXT "raw"`}},
		{name: "N1.node.dc1.consul", qtype: dns.TypeTXT, general: true,
			answer: []string{`N1.node.dc1.consul. 0 IN TXT "env=prod"`, "N1.node.dc1.consul. 0 IN TXT \"a`=b=c\"", `N1.node.dc1.consul. 0 IN TXT "raw"`}},
		{name: "web-1.node.consul", qtype: dns.TypeAAAA, ns: soa},
		{name: "nope.node.consul", qtype: dns.TypeA, rcode: 3, ns: soa},

		{name: "0a300001.addr.consul", qtype: dns.TypeA, answer: []string{"0a300001.addr.consul. 0 IN A 10.48.0.1"}, general: true},
		{name: "0A300001.addr.dc1.consul", qtype: dns.TypeANY, answer: []string{"0A300001.addr.dc1.consul. 0 IN A 10.48.0.1"}, general: true},
		{name: "0a300001.addr.consul", qtype: dns.TypeAAAA, ns: soa, general: true},
		{name: "20010db8000000000000000000000048.addr.consul", qtype: dns.TypeAAAA, answer: []string{"20010db8000000000000000000000048.addr.consul. 0 IN AAAA 2001:db8::48"}, general: true},
		{name: "0a30000111.addr.consul", qtype: dns.TypeA, rcode: 3, ns: soa},
		{name: "x.0a300001.addr.consul", qtype: dns.TypeA, rcode: 3, ns: soa},

		{name: "web.connect.consul", qtype: dns.TypeA, answer: []string{"web.connect.consul. 0 IN A 10.0.6.1"}},
		{name: "same.connect.consul", qtype: dns.TypeA, rcode: 3, ns: soa},
		{name: "web.virtual.consul", qtype: dns.TypeA, answer: []string{"web.virtual.consul. 0 IN A 240.0.0.1"}, general: true},
		{name: "same.virtual.consul", qtype: dns.TypeA, ns: soa, general: true},
		{name: "nope.virtual.consul", qtype: dns.TypeA, rcode: 3, ns: soa, general: true},
		{name: "web.ingress.consul", qtype: dns.TypeA, rcode: 3, ns: soa},
		{name: "web.query.consul", qtype: dns.TypeA, rcode: 3, ns: soa, general: true},

		// RFC 8020: these names exist, as others exist below them.
		{name: "consul", qtype: dns.TypeA, ns: soa},
		{name: "service.consul", qtype: dns.TypeA, ns: soa},
		{name: "node.dc1.consul", qtype: dns.TypeAAAA, ns: soa},
		{name: "dc1.consul", qtype: dns.TypeA, ns: soa},
		{name: "_tcp.service.consul", qtype: dns.TypeSRV, ns: soa, general: true},
		{name: "service.dc9.consul", qtype: dns.TypeA, rcode: 3, ns: soa},
		{name: "web.service.dc9.consul", qtype: dns.TypeA, rcode: 3, ns: soa},
		{name: "web.service.dc9.consul", qtype: dns.TypeMX, rcode: 3, ns: soa, general: true},
		{name: "foo.consul", qtype: dns.TypeA, rcode: 3, ns: soa},
		{name: `od\032d.service.consul`, qtype: dns.TypeA, rcode: 3, ns: soa},

		{name: "consul", qtype: dns.TypeNS, answer: []string{"consul. 0 IN NS n1.node.dc1.consul."}, extra: []string{"n1.node.dc1.consul. 0 IN A 127.0.0.1"}, general: true},
		{name: "a.b.CONSUL", qtype: dns.TypeNS, answer: []string{"CONSUL. 0 IN NS n1.node.dc1.consul."}, extra: []string{"n1.node.dc1.consul. 0 IN A 127.0.0.1"}, general: true},
		{name: "consul", qtype: dns.TypeSOA, answer: soa, ns: []string{"consul. 0 IN NS n1.node.dc1.consul."}, extra: []string{"n1.node.dc1.consul. 0 IN A 127.0.0.1"}, general: true},
		{name: "nope.service.consul", qtype: dns.TypeSOA, answer: soa, ns: []string{"consul. 0 IN NS n1.node.dc1.consul."}, extra: []string{"n1.node.dc1.consul. 0 IN A 127.0.0.1"}, general: true},

		{name: "1.0.0.10.in-addr.arpa", qtype: dns.TypePTR, answer: []string{"1.0.0.10.in-addr.arpa. 0 IN PTR web-1.node.dc1.consul."}, general: true},
		{name: "1.1.0.10.IN-ADDR.ARPA", qtype: dns.TypePTR, answer: []string{"1.1.0.10.IN-ADDR.ARPA. 0 IN PTR Web.service.dc1.consul."}, general: true},
		{name: "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa", qtype: dns.TypePTR,
			answer: []string{"1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa. 0 IN PTR six.node.dc1.consul."}, general: true},
		{name: "9.9.9.9.in-addr.arpa", qtype: dns.TypePTR, rcode: 3, ns: soa, general: true},
		{name: "9.9.in-addr.arpa", qtype: dns.TypePTR, rcode: 3, ns: soa, general: true},
		{name: "1.0.0.10.in-addr.arpa", qtype: dns.TypeA, ns: soa, general: true},

		{name: "www.example.com", qtype: dns.TypeA, rcode: dns.RcodeRefused, general: true},
		{name: "notconsul", qtype: dns.TypeA, rcode: dns.RcodeRefused, general: true},
		{name: ".", qtype: dns.TypeA, rcode: dns.RcodeRefused, general: true},
		{name: "consul", qtype: dns.TypeAXFR, rcode: dns.RcodeNotImplemented, general: true},
	} {
		t.Run(c.name+" "+dns.TypeToString[c.qtype], func(t *testing.T) {
			for _, tcp := range []bool{false, true} {
				m, hot := ask(t, s, asking{name: c.name, qtype: c.qtype, tcp: tcp})
				if m.Rcode != c.rcode {
					t.Errorf("rcode %s, want %s", dns.RcodeToString[m.Rcode], dns.RcodeToString[c.rcode])
				}
				equal(t, "answer", lines(m.Answer), c.answer)
				equal(t, "authority", lines(m.Ns), c.ns)
				equal(t, "additional", lines(m.Extra), c.extra)
				if hot == c.general {
					t.Errorf("answered on the hot path: %t", hot)
				}
				if want := c.rcode == 0 || c.rcode == 3; m.Authoritative != want || m.Truncated || m.RecursionAvailable {
					t.Errorf("header %v", m.MsgHdr)
				}
				if m.Question[0].Name != dns.Fqdn(c.name) && c.name != `od\032d.service.consul` {
					t.Errorf("question is echoed as %s", m.Question[0].Name)
				}
			}
		})
	}
}

// A chain of names that leads back to itself ends, with what was found.
func TestLoopEnds(t *testing.T) {
	s := newServer(t, standard(), nil)
	for _, qtype := range []uint16{dns.TypeA, dns.TypeAAAA, dns.TypeSRV, dns.TypeANY} {
		for _, name := range []string{"loop.service.consul", "loop.node.consul"} {
			start := time.Now()
			m, _ := ask(t, s, asking{name: name, qtype: qtype})
			if m.Rcode != 0 || time.Since(start) > time.Second {
				t.Errorf("%s: %v", name, m)
			}
		}
	}
}

func TestTTLs(t *testing.T) {
	c := standard()
	c.add(instance("d", "10.9.0.1", "db-main", 1))
	c.add(instance("d", "10.9.0.1", "db-other", 1))
	s := newServer(t, c, func(c *Config) {
		c.Settings.NodeTTL = 7 * time.Second
		c.Settings.ServiceTTL = map[string]time.Duration{"*": 10 * time.Second, "db-*": 20 * time.Second, "DB-main": 30 * time.Second, "d*": 15 * time.Second}
		c.Settings.SOA = SOA{Refresh: 1800, Retry: 300, Expire: 43200, MinTTL: 60}
	})
	for _, c := range []struct {
		name  string
		qtype uint16
		ttl   uint32
	}{
		{"db-main.service.consul", dns.TypeA, 30},
		{"DB-MAIN.service.consul", dns.TypeSRV, 30},
		{"db-other.service.consul", dns.TypeSRV, 20},
		{"dual.service.consul", dns.TypeAAAA, 15},
		{"web.service.consul", dns.TypeA, 10},
		{"web.service.consul", dns.TypeANY, 10},
		{"ext.service.consul", dns.TypeA, 10},
		{"n1.node.consul", dns.TypeA, 7},
		{"0a300001.addr.consul", dns.TypeA, 7},
		{"consul", dns.TypeNS, 7},
		{"nope.service.consul", dns.TypeA, 60},
		{"nope.service.consul", dns.TypeMX, 60},
		{"web.service.consul", dns.TypeAAAA, 60},
	} {
		m, _ := ask(t, s, asking{name: c.name, qtype: c.qtype})
		for _, section := range [][]dns.RR{m.Answer, m.Ns, m.Extra} {
			for _, rr := range section {
				if rr.Header().Ttl != c.ttl {
					t.Errorf("%s: %s, want TTL %d", c.name, rr, c.ttl)
				}
			}
		}
		if len(m.Answer)+len(m.Ns) == 0 {
			t.Errorf("%s: nothing", c.name)
		}
	}
	m, _ := ask(t, s, asking{name: "nope.service.consul", qtype: dns.TypeA})
	equal(t, "SOA", lines(m.Ns), []string{"consul. 60 IN SOA ns.consul. hostmaster.consul. 0 1800 300 43200 60"})
}

func TestDomains(t *testing.T) {
	s := newServer(t, standard(), func(c *Config) { c.Domain, c.AltDomain = "Corp.Example.", "alt.example" })
	for name, target := range map[string]string{
		"v1.web.service.corp.example": "0a000101.addr.dc1.corp.example.",
		"v1.web.service.CORP.example": "0a000101.addr.dc1.CORP.example.",
		"v1.web.service.alt.example":  "0a000101.addr.dc1.alt.example.",
	} {
		m, hot := ask(t, s, asking{name: name, qtype: dns.TypeSRV})
		if len(m.Answer) != 1 || m.Answer[0].(*dns.SRV).Target != target || m.Extra[0].Header().Name != target || !hot {
			t.Errorf("%s: %v", name, m)
		}
	}
	m, _ := ask(t, s, asking{name: "web.service.consul", qtype: dns.TypeA})
	if m.Rcode != dns.RcodeRefused || m.Authoritative {
		t.Errorf("another domain: %v", m)
	}
	m, _ = ask(t, s, asking{name: "nope.service.alt.example", qtype: dns.TypeA})
	equal(t, "SOA of the second domain", lines(m.Ns), []string{"alt.example. 0 IN SOA ns.alt.example. hostmaster.alt.example. 0 3600 600 86400 0"})
	m, _ = ask(t, s, asking{name: "alt.example", qtype: dns.TypeNS})
	equal(t, "NS of the second domain", lines(m.Answer), []string{"alt.example. 0 IN NS n1.node.dc1.alt.example."})
	m, _ = ask(t, s, asking{name: "2.0.0.10.in-addr.arpa", qtype: dns.TypePTR})
	equal(t, "reverse", lines(m.Answer), []string{"2.0.0.10.in-addr.arpa. 0 IN PTR web-2.node.dc1.corp.example."})
}
