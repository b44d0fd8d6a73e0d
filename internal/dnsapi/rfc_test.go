package dnsapi

import (
	"encoding/hex"
	"fmt"
	"testing"

	"github.com/miekg/dns"
)

// What the RFCs ask of a server for questions that it does not know, each with its
// section. Questions of type A go the hot path, of type ANY the general one.
func TestUnknownQuestions(t *testing.T) {
	s := newServer(t, standard(), nil)
	w := s.newReader()
	for _, c := range []struct {
		rfc    string
		change func(m *dns.Msg)
		rcode  int
		bare   bool // a header without any section
		opt    bool
	}{
		// RFC 1035, section 4.1.1: NOTIMP for kinds of queries that are not supported.
		// What follows the header may have any form, so nothing of it is repeated.
		{rfc: "1035 4.1.1 IQUERY", change: opcode(1), rcode: dns.RcodeNotImplemented, bare: true},
		{rfc: "1035 4.1.1 STATUS", change: opcode(2), rcode: dns.RcodeNotImplemented, bare: true},
		{rfc: "1035 4.1.1 unassigned", change: opcode(3), rcode: dns.RcodeNotImplemented, bare: true},
		{rfc: "1996 3.2 NOTIFY to a server without a secondary's duties", change: opcode(4), rcode: dns.RcodeNotImplemented, bare: true},
		{rfc: "2136 2 UPDATE", change: opcode(5), rcode: dns.RcodeNotImplemented, bare: true},
		{rfc: "8490 5.1.1 DSO to a server that does not know it", change: opcode(6), rcode: dns.RcodeNotImplemented, bare: true},
		{rfc: "8906 3.1.4 the last opcode", change: opcode(15), rcode: dns.RcodeNotImplemented, bare: true},
		// RFC 3597, section 2 and RFC 8906, section 3.1.2: types without a meaning are as
		// good as any: the name exists and has no such records.
		{rfc: "3597 TYPE1000", change: qtype(1000)},
		{rfc: "3597 TYPE65535", change: qtype(65535)},
		{rfc: "3597 TYPE0", change: qtype(0)},
		{rfc: "3597 HTTPS", change: qtype(dns.TypeHTTPS)},
		{rfc: "6895 3.1 a meta type that is no question: OPT", change: qtype(dns.TypeOPT)},
		{rfc: "6895 3.1 a meta type that is no question: TSIG", change: qtype(dns.TypeTSIG)},
		{rfc: "3597 the same with EDNS", change: both(qtype(1000), edns(0)), opt: true},
		// RFC 5936, section 2.2.1: a transfer is refused in an answer of its own.
		{rfc: "5936 AXFR", change: qtype(dns.TypeAXFR), rcode: dns.RcodeNotImplemented},
		// RFC 1035, section 4.1.1 (REFUSED: "for policy reasons") and RFC 6895, section
		// 3.2: there is no zone of another class here.
		{rfc: "6895 3.2 CH", change: qclass(dns.ClassCHAOS), rcode: dns.RcodeRefused},
		{rfc: "6895 3.2 HS", change: qclass(dns.ClassHESIOD), rcode: dns.RcodeRefused},
		{rfc: "6895 3.2 NONE", change: qclass(dns.ClassNONE), rcode: dns.RcodeRefused},
		{rfc: "6895 3.2 unassigned", change: qclass(1000), rcode: dns.RcodeRefused},
		{rfc: "6895 3.2 class 0", change: qclass(0), rcode: dns.RcodeRefused},
		// RFC 6891, section 6.1.3: BADVERS and the version that is known, whatever the
		// question is, since what a newer version changes is unknown.
		{rfc: "6891 6.1.3 version 1", change: edns(1), rcode: dns.RcodeBadVers, opt: true},
		{rfc: "6891 6.1.3 version 255", change: edns(255), rcode: dns.RcodeBadVers, opt: true},
		{rfc: "6891 6.1.3 version 1 with a type unknown", change: both(qtype(1000), edns(1)), rcode: dns.RcodeBadVers, opt: true},
		{rfc: "6891 6.1.3 version 1 with options", change: both(edns(1), option(65001, "0102")), rcode: dns.RcodeBadVers, opt: true},
		{rfc: "6891 6.1.3 version 1 with a client subnet of another form", change: both(edns(1), option(8, "ff")), rcode: dns.RcodeBadVers, opt: true},
		// RFC 6891, section 6.1.2: options that are not known are ignored.
		{rfc: "6891 6.1.2 unknown option", change: both(edns(0), option(65001, "010203")), opt: true},
		{rfc: "6891 6.1.2 unknown option without data", change: both(edns(0), option(65534, "")), opt: true},
		{rfc: "7873 a cookie, not supported", change: both(edns(0), option(10, "0102030405060708")), opt: true},
		// RFC 6891, section 6.1.4: flags that are not known are ignored and not set.
		{rfc: "6891 6.1.4 unknown flags", change: both(edns(0), ednsFlags(0x7fff)), opt: true},
		// RFC 6891, section 6.1.1: one OPT record at most.
		{rfc: "6891 6.1.1 two OPT records", change: both(edns(0), edns(0)), rcode: dns.RcodeFormatError},
	} {
		for _, q := range []uint16{dns.TypeA, dns.TypeANY} {
			for _, udp := range []bool{true, false} {
				m := asking{name: "web.service.consul", qtype: q}.message()
				c.change(m)
				b, _ := s.exchange(t, w, pack(t, m), udp)
				out := unpack(t, b)
				name := fmt.Sprintf("RFC %s (asked with %s, udp %t)", c.rfc, dns.TypeToString[q], udp)
				if out.Rcode != c.rcode || !out.Response || out.Id != m.Id || out.Opcode != m.Opcode {
					t.Errorf("%s: %v", name, out)
				}
				if c.bare && len(b) != headerSize || !c.bare && (len(out.Question) != 1 || out.Question[0] != m.Question[0]) && c.rcode != dns.RcodeFormatError {
					t.Errorf("%s: question %v, %d bytes", name, out.Question, len(b))
				}
				opt := out.IsEdns0()
				if (opt != nil) != c.opt || opt != nil && (opt.Version() != 0 || len(opt.Option) > 0 || opt.Hdr.Ttl&0xffff != 0) {
					t.Errorf("%s: OPT %v", name, opt)
				}
			}
		}
	}
}

func opcode(n int) func(*dns.Msg)       { return func(m *dns.Msg) { m.Opcode = n } }
func qtype(n uint16) func(*dns.Msg)     { return func(m *dns.Msg) { m.Question[0].Qtype = n } }
func qclass(n uint16) func(*dns.Msg)    { return func(m *dns.Msg) { m.Question[0].Qclass = n } }
func ednsFlags(n uint32) func(*dns.Msg) { return func(m *dns.Msg) { lastOPT(m).Hdr.Ttl |= n } }

func edns(version uint8) func(*dns.Msg) {
	return func(m *dns.Msg) {
		o := &dns.OPT{Hdr: dns.RR_Header{Name: ".", Rrtype: dns.TypeOPT, Class: 1232}}
		o.SetVersion(version)
		m.Extra = append(m.Extra, o)
	}
}

func lastOPT(m *dns.Msg) *dns.OPT { return m.Extra[len(m.Extra)-1].(*dns.OPT) }

func option(code uint16, data string) func(*dns.Msg) {
	return func(m *dns.Msg) {
		b, err := hex.DecodeString(data)
		if err != nil {
			panic(err)
		}
		o := lastOPT(m)
		o.Option = append(o.Option, &dns.EDNS0_LOCAL{Code: code, Data: b})
	}
}

func both(changes ...func(*dns.Msg)) func(*dns.Msg) {
	return func(m *dns.Msg) {
		for _, c := range changes {
			c(m)
		}
	}
}

// RFC 7871: family, source length and address are repeated and the scope is 0, as the
// answer is the same for everyone (section 7.2.1); wrong forms are FORMERR (the
// same, and section 6). Answers keep to their size with the option in them.
func TestClientSubnet(t *testing.T) {
	c := standard()
	many(c, "many", 100)
	s := newServer(t, c, nil)
	w := s.newReader()
	for _, c := range []struct {
		what, in, want string // want empty: FORMERR; "-": no option
	}{
		{"IPv4 /24", "0001" + "1800" + "c00002", "0001" + "1800" + "c00002"},
		{"IPv4 /32", "0001" + "2000" + "c0000201", "0001" + "2000" + "c0000201"},
		{"IPv4 /17", "0001" + "1100" + "c00080", "0001" + "1100" + "c00080"},
		{"IPv4 /0, nobody is to know", "0001" + "0000", "0001" + "0000"},
		{"IPv6 /56", "0002" + "3800" + "20010db8000100", "0002" + "3800" + "20010db8000100"},
		{"IPv6 /128", "0002" + "8000" + "20010db8000000000000000000000001", "0002" + "8000" + "20010db8000000000000000000000001"},
		{"no family, no address", "0000" + "0000", "0000" + "0000"},
		{"unknown family", "0003" + "0800" + "01", ""},
		{"too few octets", "0001" + "1800" + "c000", ""},
		{"too many octets", "0001" + "1800" + "c0000200", ""},
		{"bits behind the source length", "0001" + "1400" + "c0000f", ""},
		{"more bits than the family has", "0001" + "2100" + "c000020100", ""},
		{"a scope in a question", "0001" + "1818" + "c00002", ""},
		{"cut", "0001", ""},
		{"empty", "", ""},
	} {
		for _, a := range []asking{
			{name: "web.service.consul", qtype: dns.TypeA, edns: 1232}, // hot
			{name: "nope.service.consul", qtype: dns.TypeA, edns: 1232},
			{name: "web.service.consul", qtype: dns.TypeANY, edns: 1232}, // general
			{name: "many.service.consul", qtype: dns.TypeSRV, edns: 600},
			{name: "many.service.consul", qtype: dns.TypeANY, edns: 600},
		} {
			m := a.message()
			option(8, c.in)(m)
			b, _ := s.exchange(t, w, pack(t, m), true)
			out := unpack(t, b)
			if len(b) > int(a.edns) {
				t.Errorf("%s: %d bytes", c.what, len(b))
			}
			if c.want == "" {
				if out.Rcode != dns.RcodeFormatError {
					t.Errorf("%s: %v", c.what, out)
				}
				continue
			}
			var got string
			if opt := out.IsEdns0(); opt != nil && len(opt.Option) == 1 {
				got = optionHex(t, opt.Option[0])
			}
			if got != c.want || out.Rcode == dns.RcodeFormatError {
				t.Errorf("%s, %s %s: option %q, rcode %d", c.what, a.name, dns.TypeToString[a.qtype], got, out.Rcode)
			}
		}
	}
	// Without the question no answer has it (section 7.2.2).
	if m, _ := ask(t, s, asking{name: "web.service.consul", qtype: dns.TypeA, edns: 1232}); len(m.IsEdns0().Option) != 0 {
		t.Errorf("%v", m)
	}
	// The first of several counts, among options that are not known.
	m := asking{name: "web.service.consul", qtype: dns.TypeA, edns: 1232}.message()
	both(option(65001, "01"), option(8, "00011800c00002"), option(8, "00010800c0"), option(10, "0102030405060708"))(m)
	b, hot := s.exchange(t, w, pack(t, m), true)
	if opt := unpack(t, b).IsEdns0(); !hot || len(opt.Option) != 1 || optionHex(t, opt.Option[0]) != "00011800c00002" {
		t.Errorf("hot %t: %v", hot, opt)
	}
}

// optionHex is an option's data as it stands in the message.
func optionHex(t *testing.T, o dns.EDNS0) string {
	t.Helper()
	m := new(dns.Msg)
	m.Extra = []dns.RR{&dns.OPT{Hdr: dns.RR_Header{Name: ".", Rrtype: dns.TypeOPT}, Option: []dns.EDNS0{o}}}
	b := pack(t, m)
	return hex.EncodeToString(b[headerSize+optSize+4:])
}
