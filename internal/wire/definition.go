package wire

import (
	"net/netip"
	"time"

	"github.com/muster-discovery/muster/internal/model"
)

// serviceDefinition is a service as an agent is told of it.
type serviceDefinition struct {
	Kind              string
	ID                string
	Name              string
	Tags              []string
	Address           string
	TaggedAddresses   map[string]model.ServiceAddress
	Meta              map[string]string
	Port              int
	SocketPath        string
	Check             *checkDefinition
	Checks            []*checkDefinition
	Weights           *weightsJSON
	Token             string
	EnableTagOverride bool
	Proxy             *proxyConfig
	Connect           *connectDefinition
	Locality          *localityJSON
	Namespace         string
	Partition         string
}

type connectDefinition struct {
	Native         bool
	SidecarService *serviceDefinition
}

// checkDefinition is a check as an agent is told of it, alone or inside a service.
type checkDefinition struct {
	ID                     string
	CheckID                string `spelling:"camel"`
	Name                   string
	Notes                  string
	ServiceID              string
	Token                  string
	Status                 string
	ScriptArgs             []string `alias:"Args"`
	HTTP                   string
	Header                 map[string][]string
	Method                 string
	Body                   string
	DisableRedirects       bool
	TCP                    string
	TCPUseTLS              bool
	UDP                    string
	H2PING                 string
	H2PingUseTLS           *bool // unset: with TLS
	GRPC                   string
	GRPCUseTLS             bool
	OSService              string
	TTL                    time.Duration
	AliasNode              string
	AliasService           string
	DockerContainerID      string
	Shell                  string
	Interval               time.Duration
	Timeout                time.Duration
	TLSServerName          string
	TLSSkipVerify          bool
	OutputMaxSize          int
	ProxyHTTP              string
	ProxyGRPC              string
	SuccessBeforePassing   int
	FailuresBeforeWarning  int
	FailuresBeforeCritical int
	Namespace              string
	Partition              string

	DeregisterCriticalServiceAfter time.Duration
}

// DecodeServiceDefinition reads a service definition of a configuration file, as
// JSON with Consul's field names in either spelling, and checks it. Defaults that
// depend on what else is registered, such as a sidecar's port, are for local.
func DecodeServiceDefinition(data []byte) (*model.ServiceDefinition, error) {
	return decodeService(data, fileBody)
}

// DecodeServiceRequest is DecodeServiceDefinition for the body of an agent
// registration, where Consul is stricter.
func DecodeServiceRequest(data []byte) (*model.ServiceDefinition, error) {
	return decodeService(data, agentBody)
}

// DecodeCheckDefinition reads a check definition of a configuration file.
func DecodeCheckDefinition(data []byte) (*model.CheckDefinition, error) {
	return decodeCheck(data, fileBody)
}

// DecodeCheckRequest reads the body of a check registration at the agent.
func DecodeCheckRequest(data []byte) (*model.CheckDefinition, error) {
	return decodeCheck(data, agentBody)
}

func decodeService(data []byte, d dialect) (*model.ServiceDefinition, error) {
	var in serviceDefinition
	if err := decode(data, &in, d); err != nil {
		return nil, decodeFailed(err)
	}
	def, err := in.definition()
	if err != nil {
		return nil, err
	}
	if err := ValidateService(&def.Service); err != nil {
		return nil, invalid("Service", "Validation failed: %v", err)
	}
	if in.Connect != nil && in.Connect.SidecarService != nil {
		if def.Sidecar, err = in.Connect.SidecarService.sidecar(def); err != nil {
			return nil, err
		}
	}
	return def, nil
}

// definition checks what concerns the service alone, in the order in which Consul
// does, since only the first mistake is told.
func (in *serviceDefinition) definition() (*model.ServiceDefinition, error) {
	if err := (enterprise{in.Namespace, in.Partition}).refuse(); err != nil {
		return nil, err
	}
	if in.Name == "" {
		return nil, invalid("Name", "Missing service name")
	}
	if a, err := netip.ParseAddr(in.Address); err == nil && a.IsUnspecified() {
		return nil, invalid("Address", "Invalid service address")
	}
	if in.Port < 0 || in.Port > maxPort {
		return nil, invalid("Port", "Invalid service port %d: must be between 0 and %d", in.Port, maxPort)
	}
	weights := weightsOf(in.Weights)
	if err := validateWeights(weights); err != nil {
		return nil, err
	}
	if err := model.CheckMeta(in.Meta, in.Kind == model.KindMeshGateway); err != nil {
		return nil, invalid("Meta", "Invalid Service Meta: %v", err)
	}
	def := &model.ServiceDefinition{Token: in.Token}
	s := &def.Service
	*s = model.Service{
		ID: in.ID, Name: in.Name, Kind: in.Kind, Tags: in.Tags, Address: in.Address, Port: in.Port,
		SocketPath: in.SocketPath, TaggedAddresses: in.TaggedAddresses, Meta: in.Meta, Weights: weights,
		EnableTagOverride: in.EnableTagOverride, Locality: in.Locality.model(),
	}
	if s.ID == "" {
		s.ID = s.Name
	}
	if in.Connect != nil {
		s.Connect.Native = in.Connect.Native
	}
	if in.Proxy != nil {
		in.Proxy.defaults()
		p, err := in.Proxy.proxyModel()
		if err != nil {
			return nil, decodeFailed(err)
		}
		s.Proxy = p
	}
	checks, err := in.checks()
	if err != nil {
		return nil, err
	}
	def.Checks = checks
	return def, nil
}

const maxPort = 65535

// checks are the definitions nested in a service. Ids and names that they don't
// have follow from the service; local gives them.
func (in *serviceDefinition) checks() ([]*model.CheckDefinition, error) {
	var defs []*model.CheckDefinition
	for _, c := range append([]*checkDefinition{in.Check}, in.Checks...) {
		if c == nil {
			continue
		}
		def, err := c.definition()
		if err != nil {
			return nil, err
		}
		if def.Token == "" {
			def.Token = in.Token
		}
		defs = append(defs, def)
	}
	return defs, nil
}

func decodeCheck(data []byte, d dialect) (*model.CheckDefinition, error) {
	var in checkDefinition
	if err := decode(data, &in, d); err != nil {
		return nil, decodeFailed(err)
	}
	if in.Name == "" {
		return nil, invalid("Name", "Missing check name")
	}
	def, err := in.definition()
	if err != nil {
		return nil, err
	}
	if def.ID == "" {
		def.ID = def.Name
	}
	return def, nil
}

func (in *checkDefinition) definition() (*model.CheckDefinition, error) {
	if err := (enterprise{in.Namespace, in.Partition}).refuse(); err != nil {
		return nil, err
	}
	def := &model.CheckDefinition{
		ID: in.ID, Name: in.Name, Notes: in.Notes, ServiceID: in.ServiceID, Token: in.Token, Status: in.Status,
		HTTP: in.HTTP, TCP: in.TCP, UDP: in.UDP, GRPC: in.GRPC, H2PING: in.H2PING, TTL: in.TTL,
		ScriptArgs: in.ScriptArgs, AliasNode: in.AliasNode, AliasService: in.AliasService,
		OSService: in.OSService, DockerContainerID: in.DockerContainerID, Shell: in.Shell,
		Method: in.Method, Header: in.Header, Body: in.Body, Interval: in.Interval, Timeout: in.Timeout,
		TLSServerName: in.TLSServerName, TLSSkipVerify: in.TLSSkipVerify, TCPUseTLS: in.TCPUseTLS,
		GRPCUseTLS: in.GRPCUseTLS, H2PingUseTLS: in.H2PING != "" && (in.H2PingUseTLS == nil || *in.H2PingUseTLS), DisableRedirects: in.DisableRedirects,
		OutputMaxSize: in.OutputMaxSize, ProxyHTTP: in.ProxyHTTP, ProxyGRPC: in.ProxyGRPC,
		SuccessBeforePassing: in.SuccessBeforePassing, FailuresBeforeWarning: in.FailuresBeforeWarning,
		FailuresBeforeCritical:         in.FailuresBeforeCritical,
		DeregisterCriticalServiceAfter: in.DeregisterCriticalServiceAfter,
	}
	if in.CheckID != "" {
		def.ID = in.CheckID
	}
	return def, validateCheck(def)
}
