package dnsapi

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/miekg/dns"
	"pgregory.net/rapid"

	"github.com/muster-discovery/muster/internal/model"
)

var (
	genAddress = rapid.Custom(func(t *rapid.T) string {
		if rapid.IntRange(0, 3).Draw(t, "six") == 0 {
			return fmt.Sprintf("2001:db8::%x", rapid.IntRange(1, 20).Draw(t, "low"))
		}
		return fmt.Sprintf("10.0.%d.%d", rapid.IntRange(0, 3).Draw(t, "net"), rapid.IntRange(1, 30).Draw(t, "host"))
	})
	genState = rapid.SampledFrom([]string{"passing", "warning", "critical"})
	genTags  = rapid.SliceOfN(rapid.SampledFrom([]string{"v1", "V2", "blue"}), 0, 2)
)

func genInstance(t *rapid.T, i int) *model.Instance {
	node := rapid.SampledFrom([]string{"n", "Web-Node", "a.b", "bad node", "really-long-node-name-that-takes-much-room-in-each-of-the-answers"}).Draw(t, "node")
	in := instance(fmt.Sprintf("%s%d", node, i), genAddress.Draw(t, "address"), "Web", rapid.IntRange(0, 70000).Draw(t, "port"),
		tags(genTags.Draw(t, "tags")...), status(rapid.SliceOfN(genState, 0, 2).Draw(t, "states")...),
		weights(rapid.IntRange(0, 70000).Draw(t, "passing"), rapid.IntRange(0, 3).Draw(t, "warning")))
	if rapid.Bool().Draw(t, "own") {
		in.Service.Address = genAddress.Draw(t, "service address")
	}
	if rapid.Bool().Draw(t, "tagged") {
		in.Service.TaggedAddresses = map[string]model.ServiceAddress{
			"lan_ipv4": {Address: genAddress.Draw(t, "lan4")}, "lan_ipv6": {Address: genAddress.Draw(t, "lan6")}}
		in.Node.TaggedAddresses = map[string]string{"lan_ipv6": genAddress.Draw(t, "node lan6")}
	}
	if rapid.Bool().Draw(t, "meta") {
		in.Node.Meta = rapid.MapOfN(rapid.SampledFrom([]string{"k", "a=b", "rfc1035-x", "é"}), rapid.StringN(0, 40, 300), 0, 3).Draw(t, "node meta")
	}
	in.Service.Connect.Native = rapid.Bool().Draw(t, "native")
	return in
}

// The hot and the general path give the same answers, as far as chance allows:
// equal sets where everything fits, else equal rcode and subsets of the same set.
func TestPathsAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newCatalog()
		for i := range rapid.IntRange(0, 30).Draw(t, "instances") {
			c.add(genInstance(t, i))
		}
		set := DefaultSettings()
		set.UDPAnswerLimit = rapid.IntRange(0, 5).Draw(t, "udp limit")
		set.ARecordLimit = rapid.IntRange(0, 5).Draw(t, "a limit")
		set.EnableTruncate = rapid.Bool().Draw(t, "truncate")
		set.DisableCompression = rapid.Bool().Draw(t, "uncompressed")
		set.NodeMetaTXT = rapid.Bool().Draw(t, "txt")
		set.OnlyPassing = rapid.Bool().Draw(t, "passing")
		set.SRVStable = rapid.Bool().Draw(t, "stable")
		set.SRVInstance = rapid.Bool().Draw(t, "per instance")
		cfg := DefaultConfig()
		cfg.Lookup, cfg.Settings = c.lookup(), set
		s, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		w := s.newReader()
		a := asking{
			name: rapid.SampledFrom([]string{"web.service.consul", "V1.Web.service.dc1.CONSUL", "_web._blue.consul", "web.connect.consul",
				"nope.service.consul", "n1.node.consul", "a.b0.node.consul", "service.consul", "x.y.consul", "web.service.dc2.consul",
				"_v1.service.consul", "v1.blue.web.service.consul", "web.inst.consul", instanceLabel("n1", "Web-n1-0") + ".web.inst.dc1.consul"}).Draw(t, "name"),
			qtype: rapid.SampledFrom([]uint16{dns.TypeA, dns.TypeAAAA, dns.TypeSRV}).Draw(t, "type"),
			edns:  rapid.SampledFrom([]uint16{0, 100, 600, 1232, 4096}).Draw(t, "edns"),
			tcp:   rapid.Bool().Draw(t, "tcp"),
		}
		in, err := a.message().Pack()
		if err != nil {
			t.Fatal(err)
		}
		reply, general := w.handle(context.Background(), in, nil, !a.tcp)
		if general {
			return
		}
		hot, slow := new(dns.Msg), new(dns.Msg)
		if err := hot.Unpack(reply); err != nil {
			t.Fatalf("hot: %v: %x", err, reply)
		}
		other := s.slow(context.Background(), in, !a.tcp)
		if err := slow.Unpack(other); err != nil {
			t.Fatalf("general: %v", err)
		}
		limit := s.settings.Load().sizeLimit(!a.tcp, a.edns > 0, int(a.edns))
		if len(reply) > limit || len(other) > limit {
			t.Fatalf("sizes %d and %d, limit %d", len(reply), len(other), limit)
		}
		compare(t, s, a, hot, slow)
	})
}

func compare(t *rapid.T, s *Server, a asking, hot, slow *dns.Msg) {
	if hot.MsgHdr != slow.MsgHdr {
		t.Errorf("headers: hot %+v\ngeneral %+v", hot.MsgHdr, slow.MsgHdr)
	}
	if (hot.IsEdns0() == nil) != (slow.IsEdns0() == nil) {
		t.Errorf("OPT: hot %v, general %v", hot.IsEdns0(), slow.IsEdns0())
	}
	// What each of them took its records from, without limits.
	whole := s.settings.Load().Settings
	whole.ARecordLimit = 0
	s.Reload(whole)
	in, _ := asking{name: a.name, qtype: a.qtype}.message().Pack()
	all := new(dns.Msg)
	if err := all.Unpack(s.slow(context.Background(), in, false)); err != nil {
		t.Fatal(err)
	}
	// SRV records differ in length, so how many fit hangs on the draw.
	cut := a.qtype == dns.TypeSRV && len(hot.Answer) < len(all.Answer) && len(slow.Answer) < len(all.Answer)
	if len(hot.Answer) != len(slow.Answer) && !cut {
		t.Errorf("answers: hot %d, general %d of %d", len(hot.Answer), len(slow.Answer), len(all.Answer))
	}
	for _, c := range []struct {
		what             string
		hot, general, of []dns.RR
	}{
		{"answer", hot.Answer, slow.Answer, all.Answer},
		{"authority", hot.Ns, slow.Ns, all.Ns},
		{"additional", hot.Extra, slow.Extra, all.Extra},
	} {
		x, y, z := lines(c.hot), lines(c.general), lines(c.of)
		if len(x) == len(z) && !slices.Equal(x, y) && len(y) == len(z) {
			t.Errorf("%s: hot %q\ngeneral %q", c.what, x, y)
		}
		for _, l := range append(x, y...) {
			if !slices.Contains(z, l) {
				t.Errorf("%s: %s is not in %q", c.what, l, z)
			}
		}
	}
}
