package dnsapi

import (
	"encoding/hex"
	"strings"
	"testing"
)

func TestPackTXT(t *testing.T) {
	for _, c := range []struct{ key, value, want string }{
		{"env", "prod", "\x08env=prod"},
		{"a=b", "c", "\x06a`=b=c"},
		{"a b`", "c", "\x08a` b``=c"},
		{"rfc1035-note", "raw value", "\x09raw value"},
		{"RFC1035-x", "", "\x00"},
		{"empty", "", "\x06empty="},
		{"q", `a"b\c`, "\x06q=a\"bc"},
		{"q", `\065\\\`, "\x04q=A\\"},
		{"q", `\999`, "\x05q=999"},
		{"long", strings.Repeat("x", 300), "\xfflong=" + strings.Repeat("x", 250) + "\x32" + strings.Repeat("x", 50)},
	} {
		got := packTXT(map[string]string{c.key: c.value})
		if len(got) != 1 || string(got[0]) != c.want {
			t.Errorf("%s: %q, want %q", c.key, got, c.want)
		}
	}
}

func TestTargets(t *testing.T) {
	for _, c := range []struct{ node, address, own, want string }{
		{"n", "10.0.0.1", "", "n.node.dc1"},
		{"a.b", "10.0.0.1", "", "a.b.node.dc1"},
		{"n", "10.0.0.1", "10.0.0.1", "0a000001.addr.dc1"},
		{"n", "10.0.0.1", "::ffff:10.0.0.2", "0a000002.addr.dc1"},
		{"n", "fe80::1%eth0", "", "n.node.dc1"},
		{"bad node", "10.0.0.1", "", "0a000001.addr.dc1"},
		{"a..b", "10.0.0.1", "", "0a000001.addr.dc1"},
		{strings.Repeat("x", 64), "10.0.0.1", "", "0a000001.addr.dc1"},
		{strings.Repeat("x.", 100) + "x", "10.0.0.1", "", "0a000001.addr.dc1"},
		{"n", "bad host name..", "", ""},
		{"n", "", "", ""},
	} {
		i := instance(c.node, c.address, "s", 1, own(c.own))
		i.Node.Datacenter = "DC1"
		p := packInstance(i)
		got := ""
		for b := p.srv[min(len(p.srv), srvNumbers):]; len(b) > 0; b = b[1+b[0]:] {
			got += "." + string(b[1:1+b[0]])
		}
		if strings.TrimPrefix(got, ".") != c.want {
			t.Errorf("%+v: %s (%s)", c, got, hex.EncodeToString(p.srv))
		}
	}
	p := packInstance(instance("n", "10.0.0.1", "s", 1, own("db.example.com")))
	if !p.whole || p.host != "db.example.com." || string(p.srv[srvNumbers:]) != "\x02db\x07example\x03com\x00" {
		t.Errorf("host name: %+v", p)
	}
}
