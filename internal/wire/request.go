package wire

import (
	"encoding/json"
	"time"

	"github.com/muster-discovery/muster/internal/model"
)

// enterprise are the fields of a body that name things of Consul's paid edition.
type enterprise struct{ namespace, partition string }

// refuse accepts only what means "none".
func (e enterprise) refuse() error {
	if e.namespace != "" && e.namespace != "default" {
		return model.Errorf(model.KindInvalid, "Request decode failed: Namespace %q: namespaces are not supported", e.namespace)
	}
	if e.partition != "" && e.partition != "default" {
		return model.Errorf(model.KindInvalid, "Request decode failed: Partition %q: partitions are not supported", e.partition)
	}
	return nil
}

// decodeFailed is the error of a body that does not fit.
func decodeFailed(err error) error {
	return model.Errorf(model.KindInvalid, "Request decode failed: %v", err)
}

type serviceRequest struct {
	Kind              string
	ID                string
	Service           string
	Tags              []string
	Address           string
	TaggedAddresses   map[string]model.ServiceAddress
	Meta              map[string]string
	Port              int
	SocketPath        string
	Weights           *weightsJSON
	EnableTagOverride bool
	Proxy             proxyConfig
	Connect           struct{ Native bool }
	Locality          *localityJSON
	PeerName          string
	Namespace         string
	Partition         string

	// Clients send back what they were given; these are not the caller's to set.
	Datacenter, ContentHash, CreateIndex, ModifyIndex any
}

type checkRequest struct {
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
	Definition  checkProbe
	PeerName    string
	Namespace   string
	Partition   string

	CreateIndex, ModifyIndex any
}

// checkProbe is what an external monitor is to do for a check of the catalog.
// Zero fields are not kept.
type checkProbe struct {
	HTTP              string              `json:",omitempty"`
	TLSServerName     string              `json:",omitempty"`
	TLSSkipVerify     bool                `json:",omitempty"`
	Header            map[string][]string `json:",omitempty"`
	Method            string              `json:",omitempty"`
	Body              string              `json:",omitempty"`
	DisableRedirects  bool                `json:",omitempty"`
	TCP               string              `json:",omitempty"`
	TCPUseTLS         bool                `json:",omitempty"`
	UDP               string              `json:",omitempty"`
	H2PING            string              `json:",omitempty"`
	H2PingUseTLS      bool                `json:",omitempty"`
	OSService         string              `json:",omitempty"`
	ScriptArgs        []string            `json:",omitempty"`
	DockerContainerID string              `json:",omitempty"`
	Shell             string              `json:",omitempty"`
	GRPC              string              `json:",omitempty"`
	GRPCUseTLS        bool                `json:",omitempty"`
	AliasNode         string              `json:",omitempty"`
	AliasService      string              `json:",omitempty"`
	SessionName       string              `json:",omitempty"`
	Interval          time.Duration       `json:"-"`
	Timeout           time.Duration       `json:"-"`
	TTL               time.Duration       `json:"-"`
	OutputMaxSize     int                 `json:",omitempty"`

	DeregisterCriticalServiceAfter time.Duration `json:"-"`

	// The Go client sends the durations under these names too.
	IntervalDuration, TimeoutDuration, DeregisterCriticalServiceAfterDuration time.Duration `json:"-"`
}

func (p *checkProbe) raw() []byte {
	type shape checkProbe
	b := encode(struct {
		shape
		Interval                       optionalDuration `json:",omitzero"`
		Timeout                        optionalDuration `json:",omitzero"`
		TTL                            optionalDuration `json:",omitzero"`
		DeregisterCriticalServiceAfter optionalDuration `json:",omitzero"`
	}{
		shape(*p),
		optionalDuration(max(p.Interval, p.IntervalDuration)),
		optionalDuration(max(p.Timeout, p.TimeoutDuration)),
		optionalDuration(p.TTL),
		optionalDuration(max(p.DeregisterCriticalServiceAfter, p.DeregisterCriticalServiceAfterDuration)),
	})
	if string(b) == "{}" {
		return nil
	}
	return b
}

// DecodeRegistration reads the body of a catalog registration. What is not given
// gets its default; whether the result makes sense is for apply to say.
func DecodeRegistration(data []byte) (*model.Registration, error) {
	var in struct {
		Datacenter      string
		ID              string
		Node            string
		Address         string
		TaggedAddresses map[string]string
		NodeMeta        map[string]string
		Locality        *localityJSON
		Service         *serviceRequest
		Check           *checkRequest
		Checks          []*checkRequest
		SkipNodeUpdate  bool
		PeerName        string
		Namespace       string
		Partition       string
		WriteRequest    any // an empty object in some clients' bodies

		CreateIndex, ModifyIndex any
	}
	if err := decode(data, &in, catalogBody); err != nil {
		return nil, decodeFailed(err)
	}
	if err := (enterprise{in.Namespace, in.Partition}).refuse(); err != nil {
		return nil, err
	}
	r := &model.Registration{
		Datacenter: in.Datacenter,
		Node: model.Node{
			ID: in.ID, Name: in.Node, Address: in.Address, Datacenter: in.Datacenter,
			TaggedAddresses: in.TaggedAddresses, Meta: in.NodeMeta,
		},
		SkipNodeUpdate: in.SkipNodeUpdate,
	}
	if in.Service != nil {
		s, err := in.Service.model()
		if err != nil {
			return nil, err
		}
		s.Node = in.Node
		r.Service = s
	}
	checks := in.Checks
	if in.Check != nil {
		checks = append([]*checkRequest{in.Check}, checks...)
	}
	for _, c := range checks {
		if c == nil {
			continue
		}
		if err := (enterprise{c.Namespace, c.Partition}).refuse(); err != nil {
			return nil, err
		}
		r.Checks = append(r.Checks, c.model(in.Node))
	}
	return r, nil
}

func (in *serviceRequest) model() (*model.Service, error) {
	if err := (enterprise{in.Namespace, in.Partition}).refuse(); err != nil {
		return nil, err
	}
	proxy, err := in.Proxy.proxyModel()
	if err != nil {
		return nil, decodeFailed(err)
	}
	s := &model.Service{
		ID: in.ID, Name: in.Service, Kind: in.Kind, Tags: in.Tags, Address: in.Address, Port: in.Port,
		SocketPath: in.SocketPath, TaggedAddresses: in.TaggedAddresses, Meta: in.Meta,
		Weights: weightsOf(in.Weights), EnableTagOverride: in.EnableTagOverride, Proxy: proxy,
		Connect: model.Connect(in.Connect), Locality: in.Locality.model(), PeerName: in.PeerName,
	}
	if s.ID == "" {
		s.ID = s.Name
	}
	return s, nil
}

func (in *checkRequest) model(node string) *model.Check {
	c := &model.Check{
		Node: in.Node, ID: in.CheckID, Name: in.Name, Status: in.Status, Notes: in.Notes, Output: in.Output,
		ServiceID: in.ServiceID, ServiceName: in.ServiceName, ServiceTags: in.ServiceTags, Type: in.Type,
		Interval: in.Interval, Timeout: in.Timeout, ExposedPort: in.ExposedPort, Definition: in.Definition.raw(),
	}
	if c.Node == "" {
		c.Node = node
	}
	if c.ID == "" {
		c.ID = c.Name
	}
	if c.Status == "" {
		c.Status = model.StatusCritical
	}
	if c.Type == "" {
		c.Type = in.Definition.kind()
	}
	return c
}

// kind is the type of a check that is only defined for an external monitor, as an agent
// would call it.
func (p *checkProbe) kind() string {
	switch {
	case p.HTTP != "":
		return "http"
	case p.TCP != "":
		return "tcp"
	case p.UDP != "":
		return "udp"
	case p.GRPC != "":
		return "grpc"
	case p.H2PING != "":
		return "h2ping"
	case p.OSService != "":
		return "os_service"
	case p.TTL > 0:
		return "ttl"
	}
	return ""
}

// defaultWeights treat all instances alike.
var defaultWeights = model.Weights{Passing: 1, Warning: 1}

func weightsOf(w *weightsJSON) model.Weights {
	if w == nil {
		return defaultWeights
	}
	return model.Weights(*w)
}

func (l *localityJSON) model() *model.Locality {
	if l == nil {
		return nil
	}
	return &model.Locality{Region: l.Region, Zone: l.Zone}
}

// DecodeDeregistration reads the body of a catalog deregistration.
func DecodeDeregistration(data []byte) (*model.Deregistration, error) {
	var in struct {
		Datacenter string
		Node       string
		Address    string // accepted, without a meaning
		ServiceID  string
		CheckID    string
		PeerName   string
		Namespace  string
		Partition  string

		WriteRequest any
	}
	if err := decode(data, &in, catalogBody); err != nil {
		return nil, decodeFailed(err)
	}
	if err := (enterprise{in.Namespace, in.Partition}).refuse(); err != nil {
		return nil, err
	}
	return &model.Deregistration{Datacenter: in.Datacenter, Node: in.Node, ServiceID: in.ServiceID, CheckID: in.CheckID}, nil
}

// CheckUpdate is the report of a TTL check's owner.
type CheckUpdate struct {
	Status string
	Output string
}

// DecodeCheckUpdate reads the body of an update of a TTL check.
func DecodeCheckUpdate(data []byte) (*CheckUpdate, error) {
	var u CheckUpdate
	if err := decode(data, &u, agentBody); err != nil {
		return nil, decodeFailed(err)
	}
	switch u.Status {
	case model.StatusPassing, model.StatusWarning, model.StatusCritical:
		return &u, nil
	}
	return nil, model.Errorf(model.KindInvalid, "Invalid check status: '%s'", u.Status)
}

var _ json.Marshaler = readable(0)
