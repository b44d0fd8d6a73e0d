package wire

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/muster-discovery/muster/internal/model"
)

// upstreamTypes are what an upstream may lead to. Empty is a service.
var upstreamTypes = map[string]bool{"": true, "service": true, "prepared_query": true}

// ValidateService checks what the mesh asks of a service, with all mistakes in one
// text.
func ValidateService(s *model.Service) error { return serviceProblems(s, false).err() }

// serviceProblems: a sidecar gets its port later.
func serviceProblems(s *model.Service, sidecar bool) problems {
	var p problems
	noPort := s.Port == 0 && s.SocketPath == ""
	if s.Kind == model.KindConnectProxy {
		if noPort && !sidecar {
			p = append(p, "Port or SocketPath must be set for a "+s.Kind)
		}
		p = append(p, proxyProblems(s)...)
	}
	if s.Connect.Native {
		if s.Kind != model.KindTypical {
			p = append(p, "A Proxy cannot also be Connect Native, only typical services")
		}
		if noPort {
			p = append(p, "Port or SocketPath must be set for a Connect native service.")
		}
	}
	return p
}

func proxyProblems(s *model.Service) problems {
	var p problems
	c := proxyOf(s.Proxy)
	switch strings.TrimSpace(c.DestinationServiceName) {
	case "":
		p = append(p, "Proxy.DestinationServiceName must be non-empty for Connect proxy services")
	case "*":
		p = append(p, "Proxy.DestinationServiceName must not be a wildcard for Connect proxy services")
	}
	binds, names := map[string]bool{}, map[string]bool{}
	for k := range c.Upstreams {
		u := &c.Upstreams[k]
		if why := u.problem(); why != "" {
			p = append(p, why)
			continue
		}
		if u.CentrallyConfigured {
			continue
		}
		if bind := u.bind(); binds[bind] {
			p = append(p, fmt.Sprintf("upstreams cannot contain duplicates by local bind address and port or unix path; %q is specified twice", bind))
		} else {
			binds[bind] = true
		}
		if name := u.key(); names[name] {
			p = append(p, fmt.Sprintf("upstreams cannot contain duplicates of [%s]", name))
		} else {
			names[name] = true
		}
	}
	return p
}

func (u *upstream) problem() string {
	switch {
	case !upstreamTypes[u.DestinationType]:
		return fmt.Sprintf("unknown upstream destination type: %q", u.DestinationType)
	case u.DestinationName == "":
		return "upstream destination name cannot be empty"
	case u.DestinationName == "*" && !u.CentrallyConfigured:
		return "upstream destination name cannot be a wildcard"
	case u.LocalBindPort == 0 && u.LocalBindSocketPath == "" && !u.CentrallyConfigured:
		return "upstream local bind port or local socket path must be defined and nonzero"
	}
	return ""
}

func (u *upstream) bind() string {
	if u.LocalBindSocketPath != "" {
		return u.LocalBindSocketPath
	}
	host := u.LocalBindAddress
	if host == "" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, strconv.Itoa(u.LocalBindPort))
}

func (u *upstream) key() string {
	kind := u.DestinationType
	if kind == "" {
		kind = "service"
	}
	return fmt.Sprintf("type=%q, name=%q, partition=%q, namespace=%q, peer=%q, datacenter=%q",
		kind, u.DestinationName, u.DestinationPartition, u.DestinationNamespace, u.DestinationPeer, u.Datacenter)
}

// defaults are what an agent adds to a proxy that is registered with it.
func (c *proxyConfig) defaults() {
	for k := range c.Upstreams {
		if c.Upstreams[k].DestinationType == "" {
			c.Upstreams[k].DestinationType = "service"
		}
	}
}
