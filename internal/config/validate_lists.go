package config

import (
	"net"
	"net/netip"
	"sort"
	"strconv"
	"strings"
)

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

// checkLists validates the elements of lists and texts with a grammar.
func (f *finisher) checkLists() {
	c := &f.draft.Config
	for i, r := range c.DNS.Recursors {
		full := r
		if ip, err := netip.ParseAddr(strings.Trim(r, "[]")); err == nil {
			full = net.JoinHostPort(ip.String(), "53")
		}
		if _, err := netip.ParseAddrPort(full); err != nil {
			f.bad("recursors", "%q: want an IP address, with :port if it is not 53", r)
		}
		c.DNS.Recursors[i] = full
	}
	for _, k := range []struct {
		key  string
		list []string
	}{
		{"http_config.allow_write_http_from", c.HTTP.AllowWriteFrom},
		{"dns_config.rate_limit.exempt", c.DNS.RateLimit.Exempt},
		{"serf_lan_allowed_cidrs", c.Addresses.SerfLANAllowed},
		{"serf_wan_allowed_cidrs", c.Addresses.SerfWANAllowed},
	} {
		for _, cidr := range k.list {
			if _, err := netip.ParsePrefix(cidr); err != nil {
				f.bad(k.key, "%q: want a network like 10.0.0.0/8", cidr)
			}
		}
	}
	for _, k := range []struct {
		key  string
		list []string
	}{
		{"retry_join", c.Join.RetryLAN}, {"retry_join_wan", c.Join.RetryWAN},
		{"start_join", c.Join.StartLAN}, {"start_join_wan", c.Join.StartWAN},
	} {
		for _, a := range k.list {
			if strings.TrimSpace(a) == "" {
				f.bad(k.key, "an address is empty")
			} else if strings.HasPrefix(a, "provider=") {
				f.bad(k.key, "%q: cloud auto-join is %s; give addresses or DNS names", a, notYet)
			}
		}
	}
	for _, p := range c.HTTP.BlockEndpoints {
		if !strings.HasPrefix(p, "/") {
			f.bad("http_config.block_endpoints", "%q: want a path like /v1/kv", p)
		}
	}
	if m := c.Addresses.SocketMode; m != "" {
		if _, err := strconv.ParseUint(m, 8, 12); err != nil {
			f.bad("unix_sockets.mode", "%q: want an octal mode like \"0770\"", m)
		}
	}
	if p := c.UI.ContentPath; !strings.HasPrefix(p, "/") || !strings.HasSuffix(p, "/") {
		c.UI.ContentPath = "/" + strings.Trim(p, "/") + "/"
	}
}
