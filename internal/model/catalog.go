package model

import "time"

// Node is a machine of the catalog. Values are immutable once they are in the
// state: a change makes a new Node.
type Node struct {
	ID              string // UUID, may be empty for nodes registered from outside
	Name            string // as registered; lookups fold its case
	Address         string
	Datacenter      string
	TaggedAddresses map[string]string // nil and empty are told apart: clients see null or {}
	Meta            map[string]string // the same
	Indexes
}

// Indexes are the state's indexes at which an object came into being and last
// changed.
type Indexes struct {
	Create uint64
	Modify uint64
}

// Kinds of services. The empty kind is an ordinary one.
const (
	KindTypical            = ""
	KindConnectProxy       = "connect-proxy"
	KindMeshGateway        = "mesh-gateway"
	KindTerminatingGateway = "terminating-gateway"
	KindIngressGateway     = "ingress-gateway"
	KindAPIGateway         = "api-gateway"
)

// Service is one instance of a service on one node. Immutable once in the state.
type Service struct {
	Node              string // name of its node
	ID                string
	Name              string
	Kind              string
	Tags              []string
	Address           string // empty: the node's address
	Port              int
	SocketPath        string
	TaggedAddresses   map[string]ServiceAddress
	Meta              map[string]string
	Weights           Weights
	EnableTagOverride bool
	Proxy             *Proxy // nil unless the instance is a proxy or gateway
	Connect           Connect
	Locality          *Locality
	PeerName          string
	// RegisteredAt is the proposer's time of the command that created the
	// instance. It is kept over updates.
	RegisteredAt time.Time
	Indexes
}

// ServiceAddress is one of a service's tagged addresses.
type ServiceAddress struct {
	Address string
	Port    int
}

// Weights are the shares of traffic of a passing and of a warning instance.
type Weights struct {
	Passing int
	Warning int
}

// Connect says whether an instance speaks the mesh protocol itself.
type Connect struct {
	Native bool
}

// Locality places an instance or node in a region and zone.
type Locality struct {
	Region string
	Zone   string
}

// Proxy is the configuration of a mesh proxy or gateway. Raw holds the whole
// object in the shape clients sent it, normalized to Consul's field names, so
// that fields which Muster does not interpret yet are returned unchanged.
type Proxy struct {
	DestinationServiceName string
	DestinationServiceID   string
	LocalServiceAddress    string
	LocalServicePort       int
	Raw                    []byte // JSON object
}

// Health states, from best to worst. Maintenance is not stored: it is a
// critical check with a reserved id.
const (
	StatusPassing  = "passing"
	StatusWarning  = "warning"
	StatusCritical = "critical"
)

// Reserved check ids.
const (
	CheckSerfHealth               = "serfHealth"
	CheckNodeMaintenance          = "_node_maintenance"
	CheckServiceMaintenancePrefix = "_service_maintenance:"
)

// Check is the state of one health check in the catalog. Immutable once in the
// state.
type Check struct {
	Node        string
	ID          string
	Name        string
	Status      string
	Notes       string
	Output      string
	ServiceID   string   // empty: the check concerns the whole node
	ServiceName string   // filled in by the state from the service
	ServiceTags []string // the same
	Type        string
	Interval    string
	Timeout     string
	ExposedPort int
	// Definition is the probe's definition as registered in the catalog by an
	// external monitor, as a JSON object with Consul's field names; nil if none.
	Definition []byte
	// StatusSince is the proposer's time of the command that last changed Status.
	StatusSince time.Time
	Indexes
}

// Instance is a service instance with all that decides whether it may be used.
// Checks holds the node's checks first, then the service's own, each sorted by id.
type Instance struct {
	Node    *Node
	Service *Service
	Checks  []*Check
}

// Status is the worst state of the instance's checks; passing without checks. A
// state that is none of the three comes from an external monitor: it is not
// passing, and only critical takes an instance out for good.
func (i *Instance) Status() string {
	worst := StatusPassing
	for _, c := range i.Checks {
		switch c.Status {
		case StatusPassing:
		case StatusCritical:
			return StatusCritical
		default:
			worst = StatusWarning
		}
	}
	return worst
}

// NodeServices is a node with its services, sorted by id.
type NodeServices struct {
	Node     *Node
	Services []*Service
}

// ServiceSummary is an entry of the list of services: a name with the union of
// its instances' tags, sorted.
type ServiceSummary struct {
	Name string
	Tags []string
}

// CARoot is a root certificate of the mesh.
type CARoot struct {
	ID                  string // SHA-1 fingerprint of the certificate, colon-separated hex
	Name                string
	SerialNumber        uint64
	SigningKeyID        string // colon-separated hex
	ExternalTrustDomain string // the cluster id, without a suffix
	NotBefore           time.Time
	NotAfter            time.Time
	CertPEM             string
	KeyPEM              string // private; only the state and the CA see it
	KeyType             string // "ec"
	KeyBits             int
	Active              bool
	Indexes
}
