package local

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/muster-discovery/muster/internal/model"
)

// recordFormat is the version of the records on disk, described in
// docs/format/local.md. A reader refuses newer ones: dropping registrations that
// it does not understand would be a loss.
const recordFormat = 1

// unitRecord is a unit on disk. Definitions from files are left out.
type unitRecord struct {
	Format  int            `json:"format"`
	Seq     uint64         `json:"seq"` // the later of two records that claim the same check wins
	Service *serviceRecord `json:"service,omitempty"`
	Sidecar *serviceRecord `json:"sidecar,omitempty"`
	Checks  []checkRecord  `json:"checks,omitempty"`
}

type serviceRecord struct {
	ID                string                   `json:"id"`
	Name              string                   `json:"name"`
	Kind              string                   `json:"kind,omitempty"`
	Tags              []string                 `json:"tags"` // null and [] are told apart
	Address           string                   `json:"address,omitempty"`
	Port              int                      `json:"port,omitempty"`
	SocketPath        string                   `json:"socket_path,omitempty"`
	TaggedAddresses   map[string]addressRecord `json:"tagged_addresses,omitempty"`
	Meta              map[string]string        `json:"meta"`
	PassingWeight     int                      `json:"passing_weight"`
	WarningWeight     int                      `json:"warning_weight"`
	EnableTagOverride bool                     `json:"enable_tag_override,omitempty"`
	Proxy             *proxyRecord             `json:"proxy,omitempty"`
	Native            bool                     `json:"native,omitempty"`
	Locality          *localityRecord          `json:"locality,omitempty"`
	PeerName          string                   `json:"peer_name,omitempty"`
	RegisteredAt      time.Time                `json:"registered_at"`
	Token             string                   `json:"token,omitempty"`
}

type addressRecord struct {
	Address string `json:"address"`
	Port    int    `json:"port"`
}

type localityRecord struct {
	Region string `json:"region"`
	Zone   string `json:"zone"`
}

type proxyRecord struct {
	DestinationServiceName string          `json:"destination_service_name,omitempty"`
	DestinationServiceID   string          `json:"destination_service_id,omitempty"`
	LocalServiceAddress    string          `json:"local_service_address,omitempty"`
	LocalServicePort       int             `json:"local_service_port,omitempty"`
	Raw                    json.RawMessage `json:"raw,omitempty"`
}

type checkRecord struct {
	Definition  definitionRecord `json:"definition"`
	Embedded    bool             `json:"embedded,omitempty"`
	Maintenance bool             `json:"maintenance,omitempty"`
	ServiceName string           `json:"service_name,omitempty"`
	ServiceTags []string         `json:"service_tags,omitempty"`
}

// definitionRecord has the fields of model.CheckDefinition in their order, so
// that the compiler notices when they drift apart. Durations are nanoseconds.
type definitionRecord struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Notes     string `json:"notes,omitempty"`
	ServiceID string `json:"service_id,omitempty"`
	Token     string `json:"token,omitempty"`
	Status    string `json:"status,omitempty"`

	HTTP              string        `json:"http,omitempty"`
	TCP               string        `json:"tcp,omitempty"`
	UDP               string        `json:"udp,omitempty"`
	GRPC              string        `json:"grpc,omitempty"`
	H2PING            string        `json:"h2ping,omitempty"`
	TTL               time.Duration `json:"ttl,omitempty"`
	ScriptArgs        []string      `json:"script_args,omitempty"`
	AliasNode         string        `json:"alias_node,omitempty"`
	AliasService      string        `json:"alias_service,omitempty"`
	OSService         string        `json:"os_service,omitempty"`
	DockerContainerID string        `json:"docker_container_id,omitempty"`

	Shell            string              `json:"shell,omitempty"`
	Method           string              `json:"method,omitempty"`
	Header           map[string][]string `json:"header,omitempty"`
	Body             string              `json:"body,omitempty"`
	Interval         time.Duration       `json:"interval,omitempty"`
	Timeout          time.Duration       `json:"timeout,omitempty"`
	TLSServerName    string              `json:"tls_server_name,omitempty"`
	TLSSkipVerify    bool                `json:"tls_skip_verify,omitempty"`
	TCPUseTLS        bool                `json:"tcp_use_tls,omitempty"`
	GRPCUseTLS       bool                `json:"grpc_use_tls,omitempty"`
	H2PingUseTLS     bool                `json:"h2ping_use_tls,omitempty"`
	DisableRedirects bool                `json:"disable_redirects,omitempty"`
	OutputMaxSize    int                 `json:"output_max_size,omitempty"`
	ExposedPort      int                 `json:"exposed_port,omitempty"`
	ProxyHTTP        string              `json:"proxy_http,omitempty"`
	ProxyGRPC        string              `json:"proxy_grpc,omitempty"`

	SuccessBeforePassing   int `json:"success_before_passing,omitempty"`
	FailuresBeforeWarning  int `json:"failures_before_warning,omitempty"`
	FailuresBeforeCritical int `json:"failures_before_critical,omitempty"`

	DeregisterCriticalServiceAfter time.Duration `json:"deregister_critical_service_after,omitempty"`
}

// encodeUnit is the record of a unit, nil if there is nothing to store.
func encodeUnit(u *unit, seq uint64) ([]byte, error) {
	r := unitRecord{Format: recordFormat, Seq: seq}
	if !u.fromFile {
		for i, s := range u.services {
			if i == 0 {
				r.Service = newServiceRecord(s)
			} else {
				r.Sidecar = newServiceRecord(s)
			}
		}
	}
	for _, c := range u.checks {
		if !c.fromFile {
			r.Checks = append(r.Checks, checkRecord{
				Definition: definitionRecord(*c.def), Embedded: c.embedded, Maintenance: c.maintenance,
				ServiceName: c.serviceName, ServiceTags: c.serviceTags,
			})
		}
	}
	if r.Service == nil && len(r.Checks) == 0 {
		return nil, nil
	}
	return json.Marshal(r)
}

// decodeUnit is the inverse of encodeUnit.
func decodeUnit(key, node string, value []byte) (*unit, uint64, error) {
	var r unitRecord
	if err := json.Unmarshal(value, &r); err != nil {
		return nil, 0, err
	}
	if r.Format != recordFormat {
		return nil, 0, fmt.Errorf("format %d is not known to this version, which reads format %d; run the version that wrote it", r.Format, recordFormat)
	}
	u := &unit{key: key}
	for _, s := range []*serviceRecord{r.Service, r.Sidecar} {
		if s != nil {
			u.services = append(u.services, s.def(node))
		}
	}
	for _, c := range r.Checks {
		def := model.CheckDefinition(c.Definition)
		u.checks = append(u.checks, checkDef{
			def: &def, embedded: c.Embedded, maintenance: c.Maintenance,
			serviceName: c.ServiceName, serviceTags: c.ServiceTags,
		})
	}
	return u, r.Seq, nil
}

func newServiceRecord(d serviceDef) *serviceRecord {
	s := d.service
	r := &serviceRecord{
		ID: s.ID, Name: s.Name, Kind: s.Kind, Tags: s.Tags,
		Address: s.Address, Port: s.Port, SocketPath: s.SocketPath, Meta: s.Meta,
		PassingWeight: s.Weights.Passing, WarningWeight: s.Weights.Warning,
		EnableTagOverride: s.EnableTagOverride, Native: s.Connect.Native,
		PeerName: s.PeerName, RegisteredAt: s.RegisteredAt, Token: d.token,
	}
	if len(s.TaggedAddresses) > 0 {
		r.TaggedAddresses = make(map[string]addressRecord, len(s.TaggedAddresses))
		for name, a := range s.TaggedAddresses {
			r.TaggedAddresses[name] = addressRecord(a)
		}
	}
	if p := s.Proxy; p != nil {
		r.Proxy = &proxyRecord{p.DestinationServiceName, p.DestinationServiceID, p.LocalServiceAddress, p.LocalServicePort, p.Raw}
	}
	if s.Locality != nil {
		l := localityRecord(*s.Locality)
		r.Locality = &l
	}
	return r
}

func (r *serviceRecord) def(node string) serviceDef {
	s := &model.Service{
		Node: node, ID: r.ID, Name: r.Name, Kind: r.Kind, Tags: r.Tags,
		Address: r.Address, Port: r.Port, SocketPath: r.SocketPath, Meta: r.Meta,
		Weights:           model.Weights{Passing: r.PassingWeight, Warning: r.WarningWeight},
		EnableTagOverride: r.EnableTagOverride, Connect: model.Connect{Native: r.Native},
		PeerName: r.PeerName, RegisteredAt: r.RegisteredAt,
	}
	if len(r.TaggedAddresses) > 0 {
		s.TaggedAddresses = make(map[string]model.ServiceAddress, len(r.TaggedAddresses))
		for name, a := range r.TaggedAddresses {
			s.TaggedAddresses[name] = model.ServiceAddress(a)
		}
	}
	if p := r.Proxy; p != nil {
		s.Proxy = &model.Proxy{
			DestinationServiceName: p.DestinationServiceName, DestinationServiceID: p.DestinationServiceID,
			LocalServiceAddress: p.LocalServiceAddress, LocalServicePort: p.LocalServicePort, Raw: p.Raw,
		}
	}
	if r.Locality != nil {
		l := model.Locality(*r.Locality)
		s.Locality = &l
	}
	return serviceDef{service: s, token: r.Token}
}
