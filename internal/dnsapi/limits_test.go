package dnsapi

import (
	"fmt"
	"testing"

	"github.com/miekg/dns"
)

func TestLimits(t *testing.T) {
	c := newCatalog()
	many(c, "many", 100)
	for _, tc := range []struct {
		settings func(*Settings)
		ask      asking
		least    int
		most     int
		tc       bool
	}{
		{nil, asking{qtype: dns.TypeA}, 3, 3, false},
		{nil, asking{qtype: dns.TypeA, edns: 100}, 3, 3, false},
		{nil, asking{qtype: dns.TypeA, edns: 512}, 3, 3, false},
		{nil, asking{qtype: dns.TypeA, edns: 513}, 25, 29, false},
		{nil, asking{qtype: dns.TypeA, edns: 1232}, 70, 74, false},
		{nil, asking{qtype: dns.TypeA, edns: 4096}, 100, 100, false},
		{nil, asking{qtype: dns.TypeA, tcp: true}, 100, 100, false},
		{nil, asking{qtype: dns.TypeANY, edns: 1232}, 70, 74, false},
		{nil, asking{qtype: dns.TypeSRV}, 3, 3, false},
		{nil, asking{qtype: dns.TypeSRV, edns: 1232}, 19, 27, false},
		{nil, asking{qtype: dns.TypeSRV, edns: 4096}, 67, 99, false},
		{nil, asking{qtype: dns.TypeSRV, tcp: true}, 100, 100, false},
		{truncating, asking{qtype: dns.TypeA}, 3, 3, true},
		{truncating, asking{qtype: dns.TypeA, edns: 1232}, 70, 74, true},
		{truncating, asking{qtype: dns.TypeANY, edns: 1232}, 70, 74, true},
		{truncating, asking{qtype: dns.TypeSRV, edns: 1232}, 19, 27, true},
		{truncating, asking{qtype: dns.TypeA, edns: 4096}, 100, 100, false},
		{truncating, asking{qtype: dns.TypeA, tcp: true}, 100, 100, false},
		{records(2, 3), asking{qtype: dns.TypeA}, 2, 2, false},
		{records(2, 3), asking{qtype: dns.TypeA, edns: 4096}, 2, 2, false},
		{records(2, 3), asking{qtype: dns.TypeA, tcp: true}, 2, 2, false},
		{records(2, 3), asking{qtype: dns.TypeANY, tcp: true}, 2, 2, false},
		{records(2, 3), asking{qtype: dns.TypeSRV}, 3, 3, false},
		{records(2, 3), asking{qtype: dns.TypeSRV, tcp: true}, 100, 100, false},
		{records(3, 2), asking{qtype: dns.TypeA}, 2, 2, false},
		{records(3, 2), asking{qtype: dns.TypeA, edns: 4096}, 3, 3, false},
		{records(0, 0), asking{qtype: dns.TypeA}, 25, 29, false},
		{records(0, 0), asking{qtype: dns.TypeSRV}, 7, 12, false},
		{uncompressed, asking{qtype: dns.TypeSRV, edns: 600}, 5, 10, false},
	} {
		name := fmt.Sprintf("%s edns %d tcp %t", dns.TypeToString[tc.ask.qtype], tc.ask.edns, tc.ask.tcp)
		s := newServer(t, c, func(c *Config) {
			if tc.settings != nil {
				tc.settings(&c.Settings)
			}
		})
		tc.ask.name = "many.service.consul"
		m, _ := ask(t, s, tc.ask)
		if n := len(m.Answer); n < tc.least || n > tc.most {
			t.Errorf("%s: %d records, want %d to %d", name, n, tc.least, tc.most)
		}
		if m.Truncated != tc.tc {
			t.Errorf("%s: TC is %t", name, m.Truncated)
		}
		checkSubset(t, name, m)
		if opt := m.IsEdns0(); (opt != nil) != (tc.ask.edns > 0) || opt != nil && opt.UDPSize() != tc.ask.edns {
			t.Errorf("%s: OPT %v", name, opt)
		}
	}
}

func truncating(s *Settings)   { s.EnableTruncate = true }
func uncompressed(s *Settings) { s.DisableCompression = true }
func records(a, udp int) func(*Settings) {
	return func(s *Settings) { s.ARecordLimit, s.UDPAnswerLimit = a, udp }
}

// checkSubset checks what holds for every answer: no record twice, and no
// additional address that belongs to no SRV record in the answer.
func checkSubset(t *testing.T, name string, m *dns.Msg) {
	t.Helper()
	seen := map[string]bool{}
	targets := map[string]bool{}
	for _, rr := range m.Answer {
		if seen[rr.String()] {
			t.Errorf("%s: twice: %s", name, rr)
		}
		seen[rr.String()] = true
		if srv, ok := rr.(*dns.SRV); ok {
			targets[srv.Target] = true
		}
	}
	for _, rr := range m.Extra {
		if rr.Header().Rrtype == dns.TypeA && !targets[rr.Header().Name] {
			t.Errorf("%s: no SRV record for %s", name, rr)
		}
	}
}

// An answer of which not even one record fits says so whatever the settings are:
// it is no valid subset.
func TestNothingFits(t *testing.T) {
	c := newCatalog()
	long := ""
	for range 300 {
		long += "x"
	}
	c.add(instance("n", "10.0.0.1", "a", 1, meta("k", long+long)))
	s := newServer(t, c, nil)
	m, _ := ask(t, s, asking{name: "n.node.consul", qtype: dns.TypeTXT})
	if len(m.Answer) != 0 || !m.Truncated {
		t.Errorf("%v", m)
	}
	// What is only extra gives way in silence (RFC 2181, section 9).
	m, hot := ask(t, s, asking{name: "n.node.consul", qtype: dns.TypeA})
	if len(m.Answer) != 1 || m.Truncated || len(m.Extra) != 0 || !hot {
		t.Errorf("%v", m)
	}
}

// More than 64 KiB by TCP is a subset with TC, not a failure.
func TestHugeTCP(t *testing.T) {
	c := newCatalog()
	many(c, "huge", 3000)
	s := newServer(t, c, func(c *Config) { truncating(&c.Settings) })
	for _, qtype := range []uint16{dns.TypeSRV, dns.TypeA, dns.TypeANY} {
		m, _ := ask(t, s, asking{name: "huge.service.consul", qtype: qtype, tcp: true})
		if n := len(m.Answer); n < 1000 || m.Truncated != (n < 3000) {
			t.Errorf("%s: %d answers, TC %t", dns.TypeToString[qtype], n, m.Truncated)
		}
		checkSubset(t, "huge", m)
	}
}

// Each record is first sometimes, and each gets into a cut answer.
func TestShuffle(t *testing.T) {
	c := newCatalog()
	many(c, "dsh", 8)
	s := newServer(t, c, nil)
	for _, qtype := range []uint16{dns.TypeA, dns.TypeSRV, dns.TypeANY} {
		first, seen := map[string]int{}, map[string]int{}
		for range 400 {
			m, _ := ask(t, s, asking{name: "dsh.service.consul", qtype: qtype})
			for i, rr := range m.Answer {
				if i == 0 {
					first[rr.String()]++
				}
				seen[rr.String()]++
			}
		}
		// 50 and 150 are expected; a right shuffle is outside of these bounds less
		// than once in a million runs.
		for rr, n := range first {
			if n < 15 || seen[rr] < 90 {
				t.Errorf("%s is first %d times of 400, seen %d times", rr, n, seen[rr])
			}
		}
		if len(first) != 8 {
			t.Errorf("%d of 8 were first", len(first))
		}
	}
}
