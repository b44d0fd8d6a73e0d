package config

import (
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/go-sockaddr"
	"github.com/hashicorp/go-sockaddr/template"
)

// addresses turns address keys into Listen and Advertise.
func (f *finisher) addresses() {
	c := &f.draft.Config
	c.Listen.DNS = f.listen("dns", c.Addresses.DNS, c.Ports.DNS, false)
	c.Listen.HTTP = f.listen("http", c.Addresses.HTTP, c.Ports.HTTP, true)
	c.Listen.HTTPS = f.listen("https", c.Addresses.HTTPS, c.Ports.HTTPS, true)
	c.Listen.GRPC = f.listen("grpc", c.Addresses.GRPC, c.Ports.GRPC, true)
	c.Listen.GRPCTLS = f.listen("grpc_tls", c.Addresses.GRPCTLS, c.Ports.GRPCTLS, true)
	if c.Ports.HTTPS > 0 && c.TLS.HTTPS.CertFile == "" {
		// The port alone is what Consul's test library always writes.
		c.Listen.HTTPS = nil
	}
	bind := f.single("bind_addr", c.Addresses.Bind)
	if !bind.IsValid() {
		return
	}
	c.Addresses.Bind = bind.String()
	f.advertise(bind)
	f.listenCluster(bind)
}

// expand evaluates go-sockaddr templates and splits the result.
func (f *finisher) expand(key, text string) []string {
	if strings.Contains(text, "{{") {
		out, err := template.Parse(text)
		if err != nil {
			f.errorf(f.at(key), key, "address template %q: %v", text, err)
			return nil
		}
		if strings.TrimSpace(out) == "" {
			f.errorf(f.at(key), key, "address template %q matches no address of this host", text)
			return nil
		}
		text = out
	}
	return strings.Fields(text)
}

// single reads a key that must be one IP. The zero Addr means that a mistake was
// reported, or that the key is empty.
func (f *finisher) single(key, text string) netip.Addr {
	list := f.expand(key, text)
	if len(list) == 0 {
		if text == "" && f.isSet(key) {
			f.errorf(f.at(key), key, "must not be empty")
		}
		return netip.Addr{}
	}
	if len(list) > 1 {
		f.errorf(f.at(key), key, "%q gives %d addresses (%s); one is wanted", text, len(list), strings.Join(list, ", "))
		return netip.Addr{}
	}
	ip, err := netip.ParseAddr(list[0])
	if err != nil {
		f.errorf(f.at(key), key, "%q is not an IP address; names are not looked up here", list[0])
		return netip.Addr{}
	}
	return ip.Unmap()
}

// optional is single for a key with a fallback.
func (f *finisher) optional(key, text string, fallback netip.Addr) netip.Addr {
	if text == "" {
		return fallback
	}
	return f.single(key, text)
}

// advertise finds what others are told. An unspecified bind address stands for all
// interfaces and is no address to be reached at.
func (f *finisher) advertise(bind netip.Addr) {
	c := &f.draft.Config
	lan := f.optional("advertise_addr", c.Addresses.Advertise, bind)
	if lan.IsValid() && lan.IsUnspecified() {
		if f.isSet("advertise_addr") {
			f.errorf(f.at("advertise_addr"), "advertise_addr", "%s is no address that others can reach", lan)
			return
		}
		lan = f.private(bind)
	}
	if !lan.IsValid() {
		return
	}
	wan := f.optional("advertise_addr_wan", c.Addresses.AdvertiseWAN, lan)
	if !wan.IsValid() {
		return
	}
	c.Advertise = Advertise{LAN: lan.String(), WAN: wan.String(), Tagged: map[string]string{"lan": lan.String(), "wan": wan.String()}}
	for _, t := range []struct {
		tag, key, text string
		of             netip.Addr
		v4             bool
	}{
		{"lan_ipv4", "advertise_addr_ipv4", c.Addresses.AdvertiseIPv4, lan, true},
		{"lan_ipv6", "advertise_addr_ipv6", c.Addresses.AdvertiseIPv6, lan, false},
		{"wan_ipv4", "advertise_addr_wan_ipv4", c.Addresses.AdvertiseWANIPv4, wan, true},
		{"wan_ipv6", "advertise_addr_wan_ipv6", c.Addresses.AdvertiseWANIPv6, wan, false},
	} {
		ip := f.optional(t.key, t.text, t.of)
		if !ip.IsValid() || ip.Is4() != t.v4 {
			if t.text != "" && ip.IsValid() {
				f.errorf(f.at(t.key), t.key, "%s is of the other address family", ip)
			}
			continue
		}
		c.Advertise.Tagged[t.tag] = ip.String()
	}
}

// private is the host's private IPv4 address, that of the default route if there are
// several.
func (f *finisher) private(bind netip.Addr) netip.Addr {
	const remedy = "set advertise_addr or bind_addr"
	preferred, _ := sockaddr.GetPrivateIP()
	all, _ := sockaddr.GetPrivateIPs()
	var found []netip.Addr
	for _, text := range strings.Fields(preferred + " " + all) {
		ip, err := netip.ParseAddr(text)
		if err == nil && (ip.Is4() || bind.Is6()) && !slices.Contains(found, ip) {
			found = append(found, ip)
		}
	}
	if len(found) == 0 {
		f.errorf(f.at("bind_addr"), "bind_addr", "%s means all interfaces, and this host has no private address to advertise; %s", bind, remedy)
		return netip.Addr{}
	}
	if len(found) > 1 {
		f.warnf(f.at("bind_addr"), "advertise_addr", "this host has several private addresses %v, advertising %s; %s to choose", found, found[0], remedy)
	}
	return found[0]
}

// listenCluster places the listeners that agents use among themselves.
func (f *finisher) listenCluster(bind netip.Addr) {
	c := &f.draft.Config
	tcp := func(ip netip.Addr, port int) Endpoint {
		if !ip.IsValid() || port <= 0 {
			return Endpoint{}
		}
		return Endpoint{"tcp", netip.AddrPortFrom(ip, uint16(port)).String()}
	}
	c.Listen.SerfLAN = tcp(f.optional("serf_lan", c.Addresses.SerfLAN, bind), c.Ports.SerfLAN)
	if !c.Server.Enabled {
		return
	}
	c.Listen.SerfWAN = tcp(f.optional("serf_wan", c.Addresses.SerfWAN, bind), c.Ports.SerfWAN)
	c.Listen.Server = tcp(bind, c.Ports.Server)
}

// listen places one of the client interfaces: its own addresses, else client_addr.
func (f *finisher) listen(name, own string, port int, sockets bool) []Endpoint {
	key, text := "addresses."+name, own
	if text == "" {
		key, text = "client_addr", f.draft.Addresses.Client
	}
	var out []Endpoint
	for _, a := range f.expand(key, text) {
		if path, ok := strings.CutPrefix(a, "unix://"); ok {
			if !sockets {
				f.errorf(f.at(key), key, "%s can't listen on a unix socket", name)
				continue
			}
			if port > 0 || own != "" {
				out = append(out, Endpoint{"unix", path})
			}
			continue
		}
		ip, err := netip.ParseAddr(a)
		if err != nil {
			if name == "dns" || own != "" { // client_addr is told of once
				f.errorf(f.at(key), key, "%q is neither an IP address nor unix:///path; names are not looked up here", a)
			}
			continue
		}
		if port > 0 {
			out = append(out, Endpoint{"tcp", net.JoinHostPort(ip.String(), strconv.Itoa(port))})
		}
	}
	return out
}
