package dnsapi

import (
	"context"
	"encoding/hex"
	"testing"

	"github.com/miekg/dns"
)

// Messages that are no proper questions. "-" means silence.
func TestBadMessages(t *testing.T) {
	s := newServer(t, standard(), nil)
	w := s.newReader()
	for _, c := range []struct{ what, in, want string }{
		{"nothing", "", "-"},
		{"short header", "0001", "-"},
		{"no question", "000201000000000000000000", "FORMERR"},
		{"two questions", "00030100000200000000000006636f6e73756c000001000106636f6e73756c0000010001", "FORMERR"},
		{"cut name", "00040100000100000000000006636f6e", "FORMERR"},
		{"compression loop", "000501000001000000000000c00c00010001", "FORMERR"},
		{"an answer", "00068100000100000000000006636f6e73756c0000010001", "-"},
		{"an answer with another opcode", "0006a100000100000000000006636f6e73756c0000010001", "-"},
		{"cut type", "00070100000100000000000006636f6e73756c0000", "FORMERR"},
		{"cut OPT", "00080100000100000000000106636f6e73756c000001000100002904d0", "FORMERR"},
		{"OPT shorter than it says", "00080100000100000000000106636f6e73756c000001000100002904d0000000000005", "FORMERR"},
		{"bytes behind the question", "00070100000100000000000006636f6e73756c0000060001ffff", "NOERROR"},
		{"IQUERY", "00070900000100000000000006636f6e73756c0000010001", "NOTIMP"},
		{"STATUS", "00071100000100000000000006636f6e73756c0000010001", "NOTIMP"},
		{"NOTIFY", "00072100000100000000000006636f6e73756c0000010001", "NOTIMP"},
		{"UPDATE", "00072900000100000000000006636f6e73756c0000010001", "NOTIMP"},
		{"class CH", "00070100000100000000000006636f6e73756c0000010003", "REFUSED"},
		{"class ANY", "00070100000100000000000006636f6e73756c00000100ff", "NOERROR"},
		{"EDNS version 1", "00080100000100000000000106636f6e73756c000001000100002904d0000100000000", "BADVERS"},
		{"two OPT records", "00080100000100000000000206636f6e73756c000001000100002904d000000000000000002904d0000000000000", "FORMERR"},
		{"another additional record", "00080100000100000000000106636f6e73756c0000010001000001000100000000000401020304", "NOERROR"},
	} {
		in, err := hex.DecodeString(c.in)
		if err != nil {
			t.Fatal(c.what, err)
		}
		for _, udp := range []bool{true, false} {
			out, _ := s.exchange(t, w, in, udp)
			if c.want == "-" {
				if out != nil {
					t.Errorf("%s: answer %x", c.what, out)
				}
				continue
			}
			m := unpack(t, out)
			if got := dns.RcodeToString[m.Rcode]; got != c.want && !(c.want == "BADVERS" && m.Rcode == dns.RcodeBadVers) {
				t.Errorf("%s: %s, want %s", c.what, got, c.want)
			}
			if m.Id != uint16(in[0])<<8|uint16(in[1]) || !m.Response || !m.RecursionDesired || m.Opcode != int(in[2]>>3&15) {
				t.Errorf("%s: header %v", c.what, m.MsgHdr)
			}
		}
	}
}

// RD and CD are echoed, AD and Z are not; the OPT record comes back if one was
// sent, without the DO bit.
func TestHeaderBits(t *testing.T) {
	s := newServer(t, standard(), nil)
	w := s.newReader()
	for _, qtype := range []uint16{dns.TypeA, dns.TypeANY} { // hot, general
		for bits := range 16 {
			m := asking{name: "web.service.consul", qtype: qtype}.message()
			m.RecursionDesired, m.CheckingDisabled, m.AuthenticatedData = bits&1 != 0, bits&2 != 0, bits&4 != 0
			m.Zero = true
			if bits&8 != 0 {
				m.SetEdns0(1232, true)
			}
			b, hot := s.exchange(t, w, pack(t, m), true)
			out := unpack(t, b)
			if hot != (qtype == dns.TypeA) {
				t.Errorf("hot: %t", hot)
			}
			if out.RecursionDesired != m.RecursionDesired || out.CheckingDisabled != m.CheckingDisabled || out.AuthenticatedData || out.Zero || !out.Authoritative {
				t.Errorf("asked %v, answered %v", m.MsgHdr, out.MsgHdr)
			}
			if opt := out.IsEdns0(); (opt != nil) != (bits&8 != 0) || opt != nil && (opt.Do() || opt.UDPSize() != 1232 || opt.Version() != 0) {
				t.Errorf("OPT %v", opt)
			}
		}
	}
}

// EDNS options do not take a question off the hot path: resolvers send cookies and
// client subnets with everything.
func TestOptionsStayHot(t *testing.T) {
	s := newServer(t, standard(), nil)
	m := asking{name: "web.service.consul", qtype: dns.TypeA, edns: 1232}.message()
	opt := m.IsEdns0()
	opt.Option = append(opt.Option, &dns.EDNS0_COOKIE{Code: dns.EDNS0COOKIE, Cookie: "0102030405060708"})
	reply, general := s.newReader().handle(context.Background(), pack(t, m), nil, true)
	if general || len(unpack(t, reply).Answer) != 2 {
		t.Errorf("general %t, %x", general, reply)
	}
}

func TestNotSynchronized(t *testing.T) {
	c := standard()
	s := newServer(t, c, nil)
	c.down.Store(true)
	for _, a := range []asking{
		{name: "web.service.consul", qtype: dns.TypeA}, {name: "web.service.consul", qtype: dns.TypeANY},
		{name: "nope.service.consul", qtype: dns.TypeA}, {name: "consul", qtype: dns.TypeNS},
		{name: "1.0.0.10.in-addr.arpa", qtype: dns.TypePTR},
	} {
		m, _ := ask(t, s, a)
		if m.Rcode != dns.RcodeServerFailure || m.Authoritative || len(m.Answer)+len(m.Ns) != 0 {
			t.Errorf("%s: %v", a.name, m)
		}
	}
	if s.metrics.troubles.Load() == 0 {
		t.Error("not counted")
	}
	c.down.Store(false)
	if m, _ := ask(t, s, asking{name: "web.service.consul", qtype: dns.TypeA}); len(m.Answer) != 2 {
		t.Errorf("afterwards: %v", m)
	}
}

// Without a leader, stale answers go on; beyond max_stale, or if stale answers are
// not allowed, they fail.
func TestStale(t *testing.T) {
	c := standard()
	s := newServer(t, c, nil)
	question := asking{name: "web.service.consul", qtype: dns.TypeA}
	c.contact.Store(int64(3600e9))
	if m, hot := ask(t, s, question); len(m.Answer) != 2 || !hot {
		t.Errorf("stale allowed: %v", m)
	}
	set := DefaultSettings()
	set.MaxStale = 10e9
	s.Reload(set)
	if m, hot := ask(t, s, question); m.Rcode != dns.RcodeServerFailure || hot {
		t.Errorf("beyond max_stale: hot %t, %v", hot, m)
	}
	c.contact.Store(int64(5e9))
	if m, hot := ask(t, s, question); len(m.Answer) != 2 || !hot {
		t.Errorf("within max_stale: %v", m)
	}
	c.contact.Store(int64(3600e9))
	set.AllowStale, set.MaxStale = false, 0
	s.Reload(set)
	if m, hot := ask(t, s, question); m.Rcode != dns.RcodeServerFailure || hot {
		t.Errorf("stale not allowed: %v", m)
	}
	c.contact.Store(0)
	if m, hot := ask(t, s, question); len(m.Answer) != 2 || hot {
		t.Errorf("at the leader: %v", m)
	}
}

func TestOnlyPassing(t *testing.T) {
	s := newServer(t, standard(), func(c *Config) { c.Settings.OnlyPassing = true })
	m, _ := ask(t, s, asking{name: "web.service.consul", qtype: dns.TypeA})
	equal(t, "answer", lines(m.Answer), []string{"web.service.consul. 0 IN A 10.0.1.1"})
}

func TestNodeMetaTXT(t *testing.T) {
	c := standard()
	c.add(instance("m1", "10.3.0.1", "metered", 1, meta("k", "v")))
	c.add(instance("m2", "10.3.0.2", "metered", 2, meta("k", "v2"), own("10.3.1.2")))
	for _, on := range []bool{true, false} {
		s := newServer(t, c, func(c *Config) { c.Settings.NodeMetaTXT = on })
		m, hot := ask(t, s, asking{name: "metered.service.consul", qtype: dns.TypeSRV})
		want := []string{"m1.node.dc1.consul. 0 IN A 10.3.0.1", "0a030102.addr.dc1.consul. 0 IN A 10.3.1.2"}
		if on {
			want = append(want, `m1.node.dc1.consul. 0 IN TXT "k=v"`, `m2.node.dc1.consul. 0 IN TXT "k=v2"`)
		}
		equal(t, "additional", lines(m.Extra), want)
		m, _ = ask(t, s, asking{name: "m1.node.consul", qtype: dns.TypeA})
		if (len(m.Extra) == 1) != on || !hot {
			t.Errorf("node: %v", m)
		}
		m, _ = ask(t, s, asking{name: "m1.node.consul", qtype: dns.TypeANY, tcp: true})
		if len(m.Answer) != 2 {
			t.Errorf("ANY: %v", m)
		}
	}
}

func TestWeights(t *testing.T) {
	for _, c := range []struct {
		passing, warning int
		states           []string
		want             uint16
	}{
		{7, 2, nil, 7},
		{7, 2, []string{"passing"}, 7},
		{7, 2, []string{"passing", "warning"}, 2},
		{65535, 0, []string{"warning"}, 0},
		{65536, 1, nil, 1},
		{0, 1, nil, 1},
		{-1, -1, []string{"warning"}, 1},
	} {
		if got := weight(instance("n", "10.0.0.1", "s", 1, weights(c.passing, c.warning), status(c.states...))); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}
