package wire

import (
	"github.com/muster-discovery/muster/internal/model"
)

// sidecarSuffix makes a service's id and name those of its sidecar.
const sidecarSuffix = "-sidecar-proxy"

// sidecar is the definition nested in a service, completed from it as far as that
// is needed to check it. Address, port and default checks are for local.
func (in *serviceDefinition) sidecar(parent *model.ServiceDefinition) (*model.ServiceDefinition, error) {
	p := &parent.Service
	if problems := in.sidecarProblems(); len(problems) > 0 {
		return nil, invalid("Connect.SidecarService", "Validation failed: %v", problems.err())
	}
	if in.Name == "" {
		in.Name = p.Name + sidecarSuffix
	}
	in.ID = p.ID + sidecarSuffix
	in.Kind = model.KindConnectProxy
	if in.Tags == nil {
		in.Tags = p.Tags
	}
	if in.Meta == nil {
		in.Meta = p.Meta
	}
	if in.Token == "" {
		in.Token = parent.Token
	}
	if in.Proxy == nil {
		in.Proxy = &proxyConfig{}
	}
	in.Proxy.destination(p)
	def, err := in.definition()
	if err != nil {
		return nil, err
	}
	if def.Service.Locality == nil {
		def.Service.Locality = p.Locality
	}
	if problems := serviceProblems(&def.Service, true); len(problems) > 0 {
		return nil, invalid("Connect.SidecarService", "Failed Validation: %v", problems.err())
	}
	return def, nil
}

func hasSidecar(c *connectDefinition) bool { return c != nil && c.SidecarService != nil }

func (in *serviceDefinition) sidecarProblems() problems {
	var p problems
	if in.ID != "" {
		p = append(p, "A SidecarService cannot specify an ID as this is managed by the agent")
	}
	if hasSidecar(in.Connect) {
		p = append(p, "A SidecarService cannot have a nested SidecarService")
	}
	return p
}

// destination makes the proxy one for the service that it is defined in.
func (c *proxyConfig) destination(parent *model.Service) {
	if c.DestinationServiceName == "" {
		c.DestinationServiceName = parent.Name
	}
	if c.DestinationServiceID == "" {
		c.DestinationServiceID = parent.ID
	}
	if c.LocalServiceSocketPath != "" {
		return
	}
	if c.LocalServiceAddress == "" {
		c.LocalServiceAddress = "127.0.0.1"
	}
	if c.LocalServicePort == 0 {
		c.LocalServicePort = parent.Port
	}
}
