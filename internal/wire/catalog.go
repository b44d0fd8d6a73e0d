package wire

import (
	"encoding/json"

	"github.com/muster-discovery/muster/internal/model"
)

// nodeJSON is a node as all lists show it.
type nodeJSON struct {
	ID              string
	Node            string
	Address         string
	Datacenter      string
	TaggedAddresses map[string]string // null or {} as registered
	Meta            map[string]string // the same
	CreateIndex     uint64
	ModifyIndex     uint64
}

func nodeOf(n *model.Node) *nodeJSON {
	return &nodeJSON{
		ID: n.ID, Node: n.Name, Address: n.Address, Datacenter: n.Datacenter,
		TaggedAddresses: n.TaggedAddresses, Meta: n.Meta,
		CreateIndex: n.Create, ModifyIndex: n.Modify,
	}
}

type weightsJSON struct {
	Passing int
	Warning int
}

type connectJSON struct {
	Native bool `json:",omitempty"`
}

type localityJSON struct {
	Region string `json:",omitempty"`
	Zone   string `json:",omitempty"`
}

func localityOf(l *model.Locality) *localityJSON {
	if l == nil {
		return nil
	}
	return &localityJSON{Region: l.Region, Zone: l.Zone}
}

// serviceJSON is an instance inside a node or a health answer.
type serviceJSON struct {
	Kind              string `json:",omitempty"`
	ID                string
	Service           string
	Tags              []string
	Address           string
	TaggedAddresses   map[string]model.ServiceAddress `json:",omitempty"`
	Meta              map[string]string               // null or {} as registered
	Port              int                             `json:",omitempty"`
	SocketPath        string                          `json:",omitempty"`
	Weights           weightsJSON
	EnableTagOverride bool
	Proxy             json.RawMessage
	Connect           connectJSON
	Locality          *localityJSON `json:",omitempty"`
	PeerName          string
	CreateIndex       uint64
	ModifyIndex       uint64
}

func serviceOf(s *model.Service) *serviceJSON {
	return &serviceJSON{
		Kind: s.Kind, ID: s.ID, Service: s.Name, Tags: tags(s.Tags), Address: s.Address,
		TaggedAddresses: s.TaggedAddresses, Meta: s.Meta, Port: s.Port, SocketPath: s.SocketPath,
		Weights: weightsJSON(s.Weights), EnableTagOverride: s.EnableTagOverride,
		Proxy: proxyJSON(s.Proxy), Connect: connectJSON(s.Connect), Locality: localityOf(s.Locality),
		PeerName: s.PeerName, CreateIndex: s.Create, ModifyIndex: s.Modify,
	}
}

// tags is never null on the wire.
func tags(t []string) []string {
	if t == nil {
		return []string{}
	}
	return t
}

// catalogServiceJSON is an instance with its node in one flat object.
type catalogServiceJSON struct {
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
	ServiceTaggedAddresses   map[string]model.ServiceAddress `json:",omitempty"`
	ServiceWeights           weightsJSON
	ServiceMeta              map[string]string // here never null
	ServicePort              int
	ServiceSocketPath        string
	ServiceEnableTagOverride bool
	ServiceProxy             json.RawMessage
	ServiceConnect           connectJSON
	ServiceLocality          *localityJSON
	PeerName                 string `json:",omitempty"`
	CreateIndex              uint64
	ModifyIndex              uint64
}

func catalogServiceOf(i *model.Instance) *catalogServiceJSON {
	n, s := i.Node, i.Service
	return &catalogServiceJSON{
		ID: n.ID, Node: n.Name, Address: n.Address, Datacenter: n.Datacenter,
		TaggedAddresses: n.TaggedAddresses, NodeMeta: n.Meta,
		ServiceKind: s.Kind, ServiceID: s.ID, ServiceName: s.Name, ServiceTags: tags(s.Tags),
		ServiceAddress: s.Address, ServiceTaggedAddresses: s.TaggedAddresses,
		ServiceWeights: weightsJSON(s.Weights), ServiceMeta: meta(s.Meta), ServicePort: s.Port,
		ServiceSocketPath: s.SocketPath, ServiceEnableTagOverride: s.EnableTagOverride,
		ServiceProxy: proxyJSON(s.Proxy), ServiceConnect: connectJSON(s.Connect),
		ServiceLocality: localityOf(s.Locality), PeerName: s.PeerName,
		CreateIndex: s.Create, ModifyIndex: s.Modify,
	}
}

func meta(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}

// checkJSON is a check in every list.
type checkJSON struct {
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
	Definition  json.RawMessage
	CreateIndex uint64
	ModifyIndex uint64
}

func checkOf(c *model.Check) *checkJSON {
	def := json.RawMessage(c.Definition)
	if len(def) == 0 {
		def = json.RawMessage("{}")
	}
	return &checkJSON{
		Node: c.Node, CheckID: c.ID, Name: c.Name, Status: c.Status, Notes: c.Notes, Output: c.Output,
		ServiceID: c.ServiceID, ServiceName: c.ServiceName, ServiceTags: tags(c.ServiceTags),
		Type: c.Type, Interval: c.Interval, Timeout: c.Timeout, ExposedPort: c.ExposedPort,
		Definition: def, CreateIndex: c.Create, ModifyIndex: c.Modify,
	}
}

// healthServiceJSON is an entry of a health answer.
type healthServiceJSON struct {
	Node    *nodeJSON
	Service *serviceJSON
	Checks  []*checkJSON
}

func healthServiceOf(i *model.Instance) *healthServiceJSON {
	h := &healthServiceJSON{
		Node:    nodeOf(i.Node),
		Service: serviceOf(i.Service),
		Checks:  make([]*checkJSON, len(i.Checks)),
	}
	for k, c := range i.Checks {
		h.Checks[k] = checkOf(c)
	}
	return h
}

// caRootJSON is a root certificate. The private key is not part of any answer.
type caRootJSON struct {
	ID                  string
	Name                string
	SerialNumber        uint64
	SigningKeyID        string
	ExternalTrustDomain string
	NotBefore           string
	NotAfter            string
	RootCert            string
	IntermediateCerts   []string // null
	Active              bool
	PrivateKeyType      string
	PrivateKeyBits      int
	CreateIndex         uint64
	ModifyIndex         uint64
}

type caRootsJSON struct {
	ActiveRootID string
	TrustDomain  string
	Roots        []*caRootJSON
}
