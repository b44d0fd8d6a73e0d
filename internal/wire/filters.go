package wire

import "github.com/muster-discovery/muster/internal/model"

// The structs in this file are what filter expressions select from. Their fields
// are the selectors that Consul documents for each list; indexes and free-form
// configuration can't be selected.

type nodeFilter struct {
	ID              string
	Node            string
	Address         string
	Datacenter      string
	TaggedAddresses map[string]string
	Meta            map[string]string
}

func nodeFilterOf(n *model.Node) *nodeFilter {
	return &nodeFilter{
		ID: n.ID, Node: n.Name, Address: n.Address, Datacenter: n.Datacenter,
		TaggedAddresses: n.TaggedAddresses, Meta: n.Meta,
	}
}

type serviceFilter struct {
	Kind              string
	ID                string
	Service           string
	Tags              []string
	Address           string
	TaggedAddresses   map[string]model.ServiceAddress
	Meta              map[string]string
	Port              int
	SocketPath        string
	Weights           weightsJSON
	EnableTagOverride bool
	Proxy             proxyConfig
	Connect           connectJSON
	Locality          localityJSON
	PeerName          string
}

func serviceFilterOf(s *model.Service) *serviceFilter {
	f := &serviceFilter{
		Kind: s.Kind, ID: s.ID, Service: s.Name, Tags: s.Tags, Address: s.Address,
		TaggedAddresses: s.TaggedAddresses, Meta: s.Meta, Port: s.Port, SocketPath: s.SocketPath,
		Weights: weightsJSON(s.Weights), EnableTagOverride: s.EnableTagOverride,
		Proxy: *proxyOf(s.Proxy), Connect: connectJSON(s.Connect), PeerName: s.PeerName,
	}
	if s.Locality != nil {
		f.Locality = localityJSON(*s.Locality)
	}
	return f
}

type checkFilter struct {
	Node        string
	CheckID     string
	Name        string
	Status      string
	Notes       string
	Output      string
	ServiceID   string
	ServiceName string
	ServiceTags []string
	Type        string
	Interval    string
	Timeout     string
	ExposedPort int
}

func checkFilterOf(c *model.Check) *checkFilter {
	return &checkFilter{
		Node: c.Node, CheckID: c.ID, Name: c.Name, Status: c.Status, Notes: c.Notes, Output: c.Output,
		ServiceID: c.ServiceID, ServiceName: c.ServiceName, ServiceTags: c.ServiceTags,
		Type: c.Type, Interval: c.Interval, Timeout: c.Timeout, ExposedPort: c.ExposedPort,
	}
}

type healthFilter struct {
	Node    nodeFilter
	Service serviceFilter
	Checks  []checkFilter
}

func healthFilterOf(i *model.Instance) *healthFilter {
	f := &healthFilter{
		Node:    *nodeFilterOf(i.Node),
		Service: *serviceFilterOf(i.Service),
		Checks:  make([]checkFilter, len(i.Checks)),
	}
	for k, c := range i.Checks {
		f.Checks[k] = *checkFilterOf(c)
	}
	return f
}

type catalogServiceFilter struct {
	ID                       string
	Node                     string
	Address                  string
	Datacenter               string
	TaggedAddresses          map[string]string
	NodeMeta                 map[string]string
	ServiceKind              string
	ServiceID                string
	ServiceName              string
	ServiceTags              []string
	ServiceAddress           string
	ServiceTaggedAddresses   map[string]model.ServiceAddress
	ServiceWeights           weightsJSON
	ServiceMeta              map[string]string
	ServicePort              int
	ServiceSocketPath        string
	ServiceEnableTagOverride bool
	ServiceProxy             proxyConfig
	ServiceConnect           connectJSON
	ServiceLocality          localityJSON
	PeerName                 string
}

func catalogServiceFilterOf(i *model.Instance) *catalogServiceFilter {
	n, s := i.Node, serviceFilterOf(i.Service)
	return &catalogServiceFilter{
		ID: n.ID, Node: n.Name, Address: n.Address, Datacenter: n.Datacenter,
		TaggedAddresses: n.TaggedAddresses, NodeMeta: n.Meta,
		ServiceKind: s.Kind, ServiceID: s.ID, ServiceName: s.Service, ServiceTags: s.Tags,
		ServiceAddress: s.Address, ServiceTaggedAddresses: s.TaggedAddresses, ServiceWeights: s.Weights,
		ServiceMeta: s.Meta, ServicePort: s.Port, ServiceSocketPath: s.SocketPath,
		ServiceEnableTagOverride: s.EnableTagOverride, ServiceProxy: s.Proxy,
		ServiceConnect: s.Connect, ServiceLocality: s.Locality, PeerName: s.PeerName,
	}
}
