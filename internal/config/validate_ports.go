package config

import (
	"net/netip"
)

// listener is a claim to a port, for finding two of our own that collide.
type listener struct {
	key      string
	port     int
	endpoint []Endpoint
}

func (f *finisher) checkPorts() {
	c := &f.draft.Config
	p, l := c.Ports, c.Listen
	list := []listener{
		{"ports.dns", p.DNS, l.DNS}, {"ports.http", p.HTTP, l.HTTP}, {"ports.https", p.HTTPS, l.HTTPS},
		{"ports.grpc", p.GRPC, l.GRPC}, {"ports.grpc_tls", p.GRPCTLS, l.GRPCTLS},
		{"ports.serf_lan", p.SerfLAN, []Endpoint{l.SerfLAN}}, {"ports.serf_wan", p.SerfWAN, []Endpoint{l.SerfWAN}},
		{"ports.server", p.Server, []Endpoint{l.Server}},
	}
	for i, a := range list {
		if a.port < -1 || a.port > 65535 {
			f.bad(a.key, "%d: want 1 to 65535, or -1 to switch it off", a.port)
			continue
		}
		for _, b := range list[:i] {
			if f.collide(a, b) {
				at := f.at(a.key)
				if !f.isSet(a.key) {
					at = f.at(b.key)
				}
				f.errorf(at, a.key, "%d is also %s; each needs a port of its own", a.port, b.key)
			}
		}
	}
	if p.SerfLAN <= 0 && p.SerfLAN >= -1 {
		f.bad("ports.serf_lan", "can't be switched off: agents find each other by it")
	}
	if c.Server.Enabled && p.Server <= 0 && p.Server >= -1 {
		f.bad("ports.server", "can't be switched off on a server")
	}
	f.portRange("ports.sidecar_min_port", p.SidecarMin, "ports.sidecar_max_port", p.SidecarMax)
	f.portRange("ports.expose_min_port", p.ExposeMin, "ports.expose_max_port", p.ExposeMax)
}

// portRange checks a range that ports are handed out from. Zero for both is none.
func (f *finisher) portRange(minKey string, lo int, maxKey string, hi int) {
	for _, k := range []struct {
		key  string
		port int
	}{{minKey, lo}, {maxKey, hi}} {
		if k.port < 0 || k.port > 65535 {
			f.bad(k.key, "%d: want 0 to 65535", k.port)
		}
	}
	if lo > hi {
		key := minKey
		if !f.isSet(key) {
			key = maxKey
		}
		f.bad(key, "%s %d is above %s %d", minKey, lo, maxKey, hi)
	}
}

func (f *finisher) collide(a, b listener) bool {
	if a.port <= 0 || a.port != b.port {
		return false
	}
	for _, x := range a.endpoint {
		for _, y := range b.endpoint {
			if overlap(x, y) {
				return true
			}
		}
	}
	return false
}

// overlap says whether two endpoints can't both be listened on.
func overlap(x, y Endpoint) bool {
	if x.Network != "tcp" || y.Network != "tcp" {
		return x.Network == y.Network && x.Network == "unix" && x.Address == y.Address
	}
	a, errA := netip.ParseAddrPort(x.Address)
	b, errB := netip.ParseAddrPort(y.Address)
	if errA != nil || errB != nil || a.Port() != b.Port() {
		return false
	}
	return a.Addr() == b.Addr() || a.Addr().IsUnspecified() || b.Addr().IsUnspecified()
}

// Port is the port of an endpoint, 0 for a socket.
func (e Endpoint) Port() int {
	ap, err := netip.ParseAddrPort(e.Address)
	if err != nil {
		return 0
	}
	return int(ap.Port())
}

// Host is the address of an endpoint without its port.
func (e Endpoint) Host() string {
	ap, err := netip.ParseAddrPort(e.Address)
	if err != nil {
		return ""
	}
	return ap.Addr().String()
}
