package dnsapi

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// recursor is a DNS server on UDP and TCP that knows some names below example.com.
func recursor(t *testing.T) string {
	t.Helper()
	records := map[string][]string{
		"www.example.com. A":     {"www.example.com. 300 IN A 192.0.2.80"},
		"alias.example.com. A":   {"alias.example.com. 200 IN CNAME www.example.com.", "www.example.com. 300 IN A 192.0.2.80"},
		"v6.example.com. AAAA":   {"v6.example.com. 100 IN AAAA 2001:db8::80"},
		"large.example.com. TXT": {`large.example.com. 1 IN TXT "by TCP"`},
	}
	handler := dns.HandlerFunc(func(w dns.ResponseWriter, m *dns.Msg) {
		out := new(dns.Msg)
		out.SetReply(m)
		q := m.Question[0]
		_, udp := w.LocalAddr().(*net.UDPAddr)
		all, known := records[strings.ToLower(q.Name)+" "+dns.TypeToString[q.Qtype]]
		switch {
		case !m.RecursionDesired, strings.HasPrefix(q.Name, "refused"):
			out.Rcode = dns.RcodeRefused
		case strings.HasPrefix(q.Name, "forged"):
			out.Question[0].Name = "www.example.com."
		case strings.HasPrefix(q.Name, "large") && udp:
			out.Truncated = true
		case !known && strings.HasPrefix(q.Name, "nx"):
			out.Rcode = dns.RcodeNameError
		}
		for _, text := range all {
			rr, err := dns.NewRR(text)
			if err != nil {
				panic(err)
			}
			out.Answer = append(out.Answer, rr)
		}
		if out.Truncated {
			out.Answer = nil
		}
		w.WriteMsg(out)
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	pc, err := net.ListenPacket("udp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*dns.Server{{PacketConn: pc, Handler: handler}, {Listener: l, Handler: handler}} {
		up := make(chan struct{})
		s.NotifyStartedFunc = func() { close(up) }
		go s.ActivateAndServe()
		<-up
		t.Cleanup(func() { s.Shutdown() })
	}
	return l.Addr().String()
}

func TestRecursor(t *testing.T) {
	dead, err := net.ListenPacket("udp", "127.0.0.1:0") // takes questions, never answers
	if err != nil {
		t.Fatal(err)
	}
	defer dead.Close()
	c := standard()
	c.add(instance("r1", "10.7.0.1", "rec", 1, own("www.example.com")))
	c.add(instance("r2", "alias.example.com", "rec-node", 2))
	c.add(instance("r3", "10.7.0.3", "rec-six", 3, own("v6.example.com")))
	c.add(instance("r4", "10.7.0.4", "rec-nx", 4, own("nx.example.com")))
	s := newServer(t, c, func(c *Config) {
		c.Settings.Recursors = []string{dead.LocalAddr().String(), recursor(t)}
		c.Settings.RecursorTimeout = 20 * time.Millisecond
		c.Settings.ServiceTTL = map[string]time.Duration{"*": 10 * time.Second}
		c.Settings.NodeTTL = 7 * time.Second
	})
	for _, c := range []struct {
		name    string
		qtype   uint16
		rcode   int
		foreign bool
		answer  []string
		extra   []string
	}{
		{"www.example.com", dns.TypeA, 0, true, []string{"www.example.com. 300 IN A 192.0.2.80"}, nil},
		{"nx.example.com", dns.TypeA, dns.RcodeNameError, true, nil, nil},
		{"refused.example.com", dns.TypeA, dns.RcodeRefused, true, nil, nil},
		{"forged.example.com", dns.TypeA, dns.RcodeServerFailure, true, nil, nil},
		{"large.example.com", dns.TypeTXT, 0, true, []string{`large.example.com. 1 IN TXT "by TCP"`}, nil},
		{"rec.service.consul", dns.TypeA, 0, false, []string{"rec.service.consul. 10 IN CNAME www.example.com.", "www.example.com. 10 IN A 192.0.2.80"}, nil},
		{"rec.service.consul", dns.TypeSRV, 0, false, []string{"rec.service.consul. 10 IN SRV 1 1 1 www.example.com."}, []string{"www.example.com. 10 IN A 192.0.2.80"}},
		{"rec-six.service.consul", dns.TypeA, 0, false, []string{"rec-six.service.consul. 10 IN CNAME v6.example.com."}, nil},
		{"rec-six.service.consul", dns.TypeAAAA, 0, false, []string{"rec-six.service.consul. 10 IN CNAME v6.example.com.", "v6.example.com. 10 IN AAAA 2001:db8::80"}, nil},
		{"rec-six.service.consul", dns.TypeSRV, 0, false, []string{"rec-six.service.consul. 10 IN SRV 1 1 3 v6.example.com."}, []string{"v6.example.com. 10 IN AAAA 2001:db8::80"}},
		{"rec-nx.service.consul", dns.TypeA, 0, false, []string{"rec-nx.service.consul. 10 IN CNAME nx.example.com."}, nil},
		{"r2.node.consul", dns.TypeA, 0, false, []string{"r2.node.consul. 7 IN CNAME alias.example.com.", "alias.example.com. 200 IN CNAME www.example.com.", "www.example.com. 300 IN A 192.0.2.80"}, nil},
		{"same.service.consul", dns.TypeA, 0, false, []string{"same.service.consul. 10 IN A 10.0.7.1"}, nil},
		{"nope.service.consul", dns.TypeA, dns.RcodeNameError, false, nil, nil},
	} {
		m, _ := ask(t, s, asking{name: c.name, qtype: c.qtype})
		if m.Rcode != c.rcode || !m.RecursionAvailable || m.Authoritative == c.foreign {
			t.Errorf("%s: header %v", c.name, m.MsgHdr)
		}
		equal(t, c.name+" answer", lines(m.Answer), c.answer)
		equal(t, c.name+" additional", lines(m.Extra), c.extra)
	}
}

// Of several host names of one service one is answered, each in its turn.
func TestOneCNAME(t *testing.T) {
	c := newCatalog()
	c.add(instance("a", "db1.example.com", "db", 1))
	c.add(instance("b", "db2.example.com", "db", 2))
	c.add(instance("c", "10.0.0.1", "db", 3))
	s := newServer(t, c, nil)
	seen := map[string]int{}
	for range 100 {
		m, _ := ask(t, s, asking{name: "db.service.consul", qtype: dns.TypeA})
		if len(m.Answer) != 1 {
			t.Fatalf("%v", m)
		}
		seen[m.Answer[0].String()]++
	}
	if len(seen) != 3 {
		t.Errorf("%v", seen)
	}
}
