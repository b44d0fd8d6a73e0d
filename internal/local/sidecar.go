package local

import (
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/muster-discovery/muster/internal/model"
)

// sidecarID is fixed, so that the agent finds a service's sidecar again.
func sidecarID(parent string) string { return parent + "-sidecar-proxy" }

// completeSidecar fills in the defaults of a sidecar's definition. A port that it
// took from the range is reserved until releasePort. Without a free port it
// returns no definition, and the error that clients know.
func (l *Local) completeSidecar(parent *model.ServiceDefinition, old *unit) (def *model.ServiceDefinition, reserved int, err error) {
	out := *parent.Sidecar
	s := &out.Service
	p := &parent.Service
	s.ID = sidecarID(p.ID)
	s.Kind = model.KindConnectProxy
	if s.Name == "" {
		s.Name = p.Name + "-sidecar-proxy"
	}
	if s.Tags == nil {
		s.Tags = p.Tags
	}
	if s.Meta == nil {
		s.Meta = p.Meta
	}
	if s.Address == "" {
		s.Address = p.Address
	}
	if s.Locality == nil {
		s.Locality = p.Locality
	}
	if out.Token == "" {
		out.Token = parent.Token
	}
	s.Proxy = sidecarProxy(s.Proxy, p)
	if s.Port == 0 && s.SocketPath == "" {
		if reserved, err = l.reservePort(old, s.ID); err != nil {
			return nil, 0, err
		}
		s.Port = reserved
	}
	out.Checks = sidecarChecks(parent, out.Checks, s.Port)
	def, err = completeService(&out)
	return def, reserved, err
}

// sidecarChecks are the checks of a sidecar: its own if it has some, else that it
// listens and that its service is well.
func sidecarChecks(parent *model.ServiceDefinition, own []*model.CheckDefinition, port int) []*model.CheckDefinition {
	s := &model.Service{ID: sidecarID(parent.Service.ID), Name: parent.Service.Name + "-sidecar-proxy"}
	if parent.Sidecar.Service.Name != "" {
		s.Name = parent.Sidecar.Service.Name
	}
	if len(own) == 0 {
		address := parent.Sidecar.Service.Address
		if address == "" {
			address = "127.0.0.1"
		}
		own = []*model.CheckDefinition{
			{Name: "Connect Sidecar Listening", TCP: net.JoinHostPort(address, strconv.Itoa(port)), Interval: 10 * time.Second},
			{Name: "Connect Sidecar Aliasing " + parent.Service.ID, AliasService: parent.Service.ID},
		}
	}
	// The caller sees mistakes in a sidecar's checks when they are completed.
	checks, _ := completeChecks(s, own)
	return checks
}

// sidecarProxy is the proxy configuration with its destination filled in. One that
// an edge has completed is left as it is.
func sidecarProxy(given *model.Proxy, parent *model.Service) *model.Proxy {
	if given != nil && given.DestinationServiceName != "" && given.DestinationServiceID != "" {
		return given
	}
	p := model.Proxy{}
	if given != nil {
		p = *given
	}
	if p.DestinationServiceName == "" {
		p.DestinationServiceName = parent.Name
	}
	if p.DestinationServiceID == "" {
		p.DestinationServiceID = parent.ID
	}
	if p.LocalServiceAddress == "" {
		p.LocalServiceAddress = "127.0.0.1"
	}
	if p.LocalServicePort == 0 {
		p.LocalServicePort = parent.Port
	}
	p.Raw = mergeProxy(&p)
	return &p
}

// mergeProxy keeps the whole object in step with the fields that were filled in.
func mergeProxy(p *model.Proxy) []byte {
	object := map[string]json.RawMessage{}
	if len(p.Raw) > 0 && json.Unmarshal(p.Raw, &object) != nil {
		return p.Raw // not an object; the edge that let it in is at fault
	}
	set := func(name string, v any) {
		b, err := json.Marshal(v)
		if err == nil {
			object[name] = b
		}
	}
	set("DestinationServiceName", p.DestinationServiceName)
	set("DestinationServiceID", p.DestinationServiceID)
	set("LocalServiceAddress", p.LocalServiceAddress)
	set("LocalServicePort", p.LocalServicePort)
	raw, err := json.Marshal(object)
	if err != nil {
		return p.Raw
	}
	return raw
}

// reservePort finds a port for a sidecar: the one it has, else the lowest free one.
func (l *Local) reservePort(old *unit, id string) (int, error) {
	low, high := l.cfg.SidecarMinPort, l.cfg.SidecarMaxPort
	if low <= 0 || high <= 0 {
		return 0, fmt.Errorf("no port provided for sidecar_service and auto-assignment disabled in config")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if old != nil {
		if i := old.service(id); i >= 0 {
			if port := old.services[i].service.Port; port >= low && port <= high {
				l.ports[port]++
				return port, nil
			}
		}
	}
	for port := low; port <= high; port++ {
		if l.ports[port] == 0 {
			l.ports[port]++
			return port, nil
		}
	}
	return 0, model.Errorf(model.KindInternal, "no port provided for sidecar_service and none left in the configured range [%d, %d]", low, high)
}

func (l *Local) releasePort(port int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.countPortLocked(port, -1)
}

// countPortLocked notes that a service begins (1) or ends (-1) to use a port.
func (l *Local) countPortLocked(port, by int) {
	if port < l.cfg.SidecarMinPort || port > l.cfg.SidecarMaxPort || port <= 0 {
		return
	}
	if l.ports[port] += by; l.ports[port] <= 0 {
		delete(l.ports, port)
	}
}
