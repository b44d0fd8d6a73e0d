package wire

import "github.com/muster-discovery/muster/internal/model"

// AgentService is a local instance as its agent shows it.
type AgentService struct {
	Kind              string `json:",omitempty"`
	ID                string
	Service           string
	Tags              []string
	Meta              map[string]string // never null here
	Port              int               // always there, unlike in health answers
	Address           string
	SocketPath        string                          `json:",omitempty"`
	TaggedAddresses   map[string]model.ServiceAddress `json:",omitempty"`
	Weights           weightsJSON
	EnableTagOverride bool
	ContentHash       string       `json:",omitempty"`
	Proxy             *agentProxy  `json:",omitempty"`
	Connect           *connectJSON `json:",omitempty"`
	PeerName          string       `json:",omitempty"`
	Datacenter        string
	Locality          *localityJSON `json:",omitempty"`
}

// agentProxy is a proxy's configuration with what is empty left out.
type agentProxy struct {
	proxyConfig
	Mode      string          `json:",omitempty"`
	Upstreams []agentUpstream `json:",omitempty"`
}

type agentUpstream struct {
	upstream
	DestinationType string `json:",omitempty"`
	Datacenter      string `json:",omitempty"`
}

// AgentServiceOf is the agent's form of a local instance. Only proxies and
// gateways show a proxy configuration.
func AgentServiceOf(s *model.Service, datacenter string) *AgentService {
	a := &AgentService{
		Kind: s.Kind, ID: s.ID, Service: s.Name, Tags: tags(s.Tags), Meta: meta(s.Meta), Port: s.Port,
		Address: s.Address, SocketPath: s.SocketPath, TaggedAddresses: s.TaggedAddresses,
		Weights: weightsJSON(s.Weights), EnableTagOverride: s.EnableTagOverride, PeerName: s.PeerName,
		Datacenter: datacenter, Locality: localityOf(s.Locality),
	}
	if s.Connect.Native {
		a.Connect = &connectJSON{Native: true}
	}
	switch s.Kind {
	case model.KindConnectProxy, model.KindMeshGateway, model.KindTerminatingGateway,
		model.KindIngressGateway, model.KindAPIGateway:
		a.Proxy = agentProxyOf(s.Proxy)
	}
	return a
}

func agentProxyOf(p *model.Proxy) *agentProxy {
	c := proxyOf(p)
	a := &agentProxy{proxyConfig: *c, Mode: c.Mode}
	for _, u := range c.Upstreams {
		a.Upstreams = append(a.Upstreams, agentUpstream{upstream: u, DestinationType: u.DestinationType, Datacenter: u.Datacenter})
	}
	return a
}

// AgentCheckOf is the agent's form of a local check: it has no indexes.
func AgentCheckOf(c *model.Check) any {
	j := checkOf(c)
	j.CreateIndex, j.ModifyIndex = 0, 0
	return j
}

// AgentHealth is the state of one local instance.
type AgentHealth struct {
	AggregatedStatus string
	Service          *AgentService
	Checks           []*AgentHealthCheck
}

// AgentHealthCheck is a check in an answer about local health. Its definition is
// always empty, and always has all its fields.
type AgentHealthCheck struct {
	Node        string
	CheckID     string
	Name        string
	Status      string
	Notes       string
	Output      string
	ServiceID   string
	ServiceName string
	ServiceTags []string // null without tags
	Type        string   // always empty
	ExposedPort int
	Definition  emptyDefinition
	CreateIndex uint64
	ModifyIndex uint64
}

type emptyDefinition struct {
	HTTP                           string
	Header                         map[string][]string
	Method                         string
	Body                           string
	TLSServerName                  string
	TLSSkipVerify                  bool
	TCP                            string
	TCPUseTLS                      bool
	UDP                            string
	GRPC                           string
	OSService                      string
	GRPCUseTLS                     bool
	Interval                       readable
	Timeout                        readable
	DeregisterCriticalServiceAfter readable
}

// AgentHealthOf puts an instance and the checks that count for it together.
func AgentHealthOf(s *model.Service, checks []*model.Check, status, datacenter string) *AgentHealth {
	h := &AgentHealth{AggregatedStatus: status, Service: AgentServiceOf(s, datacenter), Checks: []*AgentHealthCheck{}}
	for _, c := range checks {
		j := &AgentHealthCheck{
			Node: c.Node, CheckID: c.ID, Name: c.Name, Status: c.Status, Notes: c.Notes, Output: c.Output,
			ServiceID: c.ServiceID, ServiceName: c.ServiceName,
		}
		if len(c.ServiceTags) > 0 {
			j.ServiceTags = c.ServiceTags
		}
		h.Checks = append(h.Checks, j)
	}
	return h
}

// Member is an agent in a gossip pool. Status is Serf's number: 1 is alive, 2
// leaving, 3 left, 4 failed.
type Member struct {
	Name        string
	Addr        string
	Port        uint16
	Tags        map[string]string
	Status      int
	ProtocolMin uint8
	ProtocolMax uint8
	ProtocolCur uint8
	DelegateMin uint8
	DelegateMax uint8
	DelegateCur uint8
}

// AgentSelf is what an agent says of itself.
type AgentSelf struct {
	Config      AgentConfig
	DebugConfig map[string]any
	Coord       any
	Member      Member
	Stats       map[string]map[string]string
	Meta        map[string]string
	XDS         any `json:"xDS,omitempty"`
}

// AgentConfig is the part of AgentSelf that clients rely on.
type AgentConfig struct {
	Datacenter        string
	PrimaryDatacenter string
	NodeName          string
	NodeID            string
	Revision          string
	Server            bool
	Version           string
	BuildDate         string
}

// AgentVersion is the answer of the version endpoint.
type AgentVersion struct {
	SHA          string
	BuildDate    string
	HumanVersion string
	FIPS         string
}
