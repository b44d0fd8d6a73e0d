package dnsapi

import (
	"context"
	"encoding/binary"
	"testing"

	"github.com/miekg/dns"
)

// Whatever comes in, both paths live, and what they answer can be read, keeps to
// its size and repeats the id.
func FuzzMessage(f *testing.F) {
	c := standard()
	many(c, "many", 60)
	s := newServer(f, c, func(c *Config) { c.Settings.ServiceTTL = nil })
	w := s.newReader()
	d := newDeck()
	for _, a := range []asking{
		{name: "web.service.consul", qtype: dns.TypeA}, {name: "many.service.consul", qtype: dns.TypeSRV, edns: 1232},
		{name: "n1.node.dc1.consul", qtype: dns.TypeANY}, {name: "0a300001.addr.consul", qtype: dns.TypeA},
		{name: "1.0.0.10.in-addr.arpa", qtype: dns.TypePTR}, {name: "consul", qtype: dns.TypeSOA},
		{name: "inner.service.consul", qtype: dns.TypeA}, {name: "www.example.com", qtype: dns.TypeTXT},
		{name: "_web._tcp.service.dc1.dc.consul", qtype: dns.TypeSRV}, {name: `a\.b\000.service.consul`, qtype: dns.TypeA},
	} {
		f.Add(pack(f, a.message()), true)
	}
	for _, data := range []string{"00011800c00002", "00023800" + "20010db8000100", "0001", "00030801"} {
		m := asking{name: "web.service.consul", qtype: dns.TypeA, edns: 1232}.message()
		option(8, data)(m)
		f.Add(pack(f, m), true)
	}
	f.Add(pack(f, asking{name: instanceLabel("web-1", "Web-web-1-81") + ".web.inst.consul", qtype: dns.TypeTXT}.message()), false)
	f.Fuzz(func(t *testing.T, in []byte, udp bool) {
		reply, general := w.handle(context.Background(), in, nil, udp)
		if reply != nil {
			checkReply(t, in, reply, udp)
		}
		if reply == nil && !general && len(in) >= headerSize && in[2]&0x80 == 0 {
			t.Fatalf("no answer to %x", in)
		}
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		if out := s.general(ctx, in, udp, d); out != nil {
			checkReply(t, in, out, udp)
		} else if general {
			t.Fatalf("no answer to %x", in)
		}
	})
}

func checkReply(t *testing.T, in, out []byte, udp bool) {
	var m dns.Msg
	if err := m.Unpack(out); err != nil {
		t.Fatalf("%x: answer %x: %v", in, out, err)
	}
	if m.Id != binary.BigEndian.Uint16(in) || !m.Response {
		t.Fatalf("%x: header %v", in, m.MsgHdr)
	}
	if udp && len(out) > maxUDPSize {
		t.Fatalf("%x: %d bytes", in, len(out))
	}
}
