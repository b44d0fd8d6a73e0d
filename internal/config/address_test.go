package config

import (
	"strings"
	"testing"
)

func TestAddresses(t *testing.T) {
	for _, c := range []struct {
		name string
		set  map[string]string
		want string // HTTP listeners, advertised LAN and WAN; or a part of the error
	}{
		{"one", nil, "127.0.0.1:8500 lan 127.0.0.1 wan 127.0.0.1"},
		{"several", map[string]string{"client_addr": "127.0.0.1 ::1"}, "127.0.0.1:8500 [::1]:8500 lan 127.0.0.1 wan 127.0.0.1"},
		{"own address", map[string]string{"client_addr": "10.0.0.1", "addresses.http": "127.0.0.2"}, "127.0.0.2:8500 lan 127.0.0.1 wan 127.0.0.1"},
		{"socket", map[string]string{"addresses.http": "unix:///tmp/x.sock"}, "unix:///tmp/x.sock lan 127.0.0.1 wan 127.0.0.1"},
		{"template", map[string]string{"bind_addr": `{{ GetAllInterfaces | include "name" "^lo" | include "type" "IPv4" | attr "address" }}`, "client_addr": `{{ "127.0.0.1" }}`}, "127.0.0.1:8500 lan 127.0.0.1 wan 127.0.0.1"},
		{"wan apart", map[string]string{"advertise_addr_wan": "192.0.2.9"}, "127.0.0.1:8500 lan 127.0.0.1 wan 192.0.2.9"},
		{"all, advertised", map[string]string{"bind_addr": "0.0.0.0", "advertise_addr": "192.0.2.1"}, "127.0.0.1:8500 lan 192.0.2.1 wan 192.0.2.1"},
		{"bind to a name", map[string]string{"bind_addr": "localhost"}, `bind_addr: "localhost" is not an IP address`},
		{"bind to two", map[string]string{"bind_addr": "127.0.0.1 127.0.0.2"}, "gives 2 addresses"},
		{"bind to none", map[string]string{"bind_addr": ""}, "bind_addr: must not be empty"},
		{"advertise all", map[string]string{"advertise_addr": "0.0.0.0"}, "no address that others can reach"},
		{"no such interface", map[string]string{"bind_addr": `{{ GetInterfaceIP "nope9" }}`}, "matches no address"},
		{"broken template", map[string]string{"bind_addr": `{{ Nope }}`}, "address template"},
		{"client name", map[string]string{"client_addr": "localhost"}, `client_addr: "localhost" is neither`},
		{"DNS socket", map[string]string{"addresses.dns": "unix:///x"}, "dns can't listen on a unix socket"},
		{"family", map[string]string{"advertise_addr_ipv6": "10.0.0.1"}, "other address family"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var flags []Setting
			for _, k := range sortedKeys(c.set) {
				flags = append(flags, Setting{"-x", k, c.set[k]})
			}
			cfg, _, err := Load(Options{Dev: true, Flags: flags})
			if err != nil {
				if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
					t.Errorf("error %q, want only %q", err, c.want)
				}
				return
			}
			var got []string
			for _, e := range cfg.Listen.HTTP {
				got = append(got, e.String())
			}
			got = append(got, "lan", cfg.Advertise.LAN, "wan", cfg.Advertise.WAN)
			if s := strings.Join(got, " "); s != c.want {
				t.Errorf("got %q, want %q", s, c.want)
			}
		})
	}
}

func TestUnspecifiedBindAdvertisesAPrivateAddressOrSaysWhatToSet(t *testing.T) {
	c, _, err := Load(Options{Dev: true, Flags: []Setting{{"-bind", "bind_addr", "0.0.0.0"}}})
	switch {
	case err != nil && !strings.Contains(err.Error(), "set advertise_addr or bind_addr"):
		t.Errorf("%v", err)
	case err == nil && (c.Advertise.LAN == "" || c.Advertise.LAN == "0.0.0.0"):
		t.Errorf("advertise %q", c.Advertise.LAN)
	}
}

func TestPortsOnDifferentAddressesMayBeEqual(t *testing.T) {
	flags := func(http string) []Setting {
		return []Setting{{"-x", "ports.http", 8600}, {"-x", "addresses.http", http}}
	}
	if _, _, err := Load(Options{Dev: true, Flags: flags("127.0.0.2")}); err != nil {
		t.Error(err)
	}
	if _, _, err := Load(Options{Dev: true, Flags: flags("0.0.0.0")}); err == nil {
		t.Error("an address that covers the other one is no conflict")
	}
}
