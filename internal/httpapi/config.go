package httpapi

import (
	"context"
	"io"
	"log/slog"
	"net/netip"
	"time"

	"github.com/muster-discovery/muster/internal/apply"
	"github.com/muster-discovery/muster/internal/consumer"
	"github.com/muster-discovery/muster/internal/lookup"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/view"
	"github.com/muster-discovery/muster/internal/wire"
)

// Lookup is the read path. Calls may overlap.
type Lookup interface {
	Find(ctx context.Context, r *lookup.Request, a *lookup.Answer) error
	Prepare(e *view.Encoder, q lookup.Question) (*view.Variant, error)
	OpenStream(token string) (*lookup.Stream, error)
}

// Catalog is the write path. Calls may overlap.
type Catalog interface {
	Register(ctx context.Context, c apply.Caller, r *model.Registration) (index uint64, err error)
	Deregister(ctx context.Context, c apply.Caller, d *model.Deregistration) (index uint64, err error)
}

// Local is what is registered on this agent. Calls may overlap; what the lists
// hold must not be modified.
type Local interface {
	AddService(ctx context.Context, d *model.ServiceDefinition, replaceChecks bool) error
	RemoveService(ctx context.Context, id string) error
	AddCheck(ctx context.Context, d *model.CheckDefinition) error
	RemoveCheck(ctx context.Context, id string) error
	UpdateTTL(ctx context.Context, checkID, status, output string) error
	Services() []*model.Service
	Service(id string) (*model.Service, bool)
	Checks() []*model.Check
	// Watch returns a channel that is closed when the service changes or goes.
	Watch(id string) <-chan struct{}
	SetServiceMaintenance(ctx context.Context, id string, on bool, reason string) error
	SetNodeMaintenance(ctx context.Context, on bool, reason, token string) error
}

// Agent is this agent and its cluster. Calls may overlap.
type Agent interface {
	Self(ctx context.Context) (*wire.AgentSelf, error)
	Members(wan bool) []*wire.Member
	Leader() string // RPC address; empty if there is none
	Peers() []string
	RaftServers() []wire.RaftServer
	Datacenters() []string
	Join(ctx context.Context, address string, wan bool) error
	Leave(ctx context.Context) error // the agent ends once it has left and ctx is over
	ForceLeave(ctx context.Context, node string, prune, wan bool) error
	Reload(ctx context.Context) error
	Version() wire.AgentVersion
	Host(ctx context.Context) (any, error)
	// Monitor follows the log from now on; lines are lost, not queued, for a slow
	// reader. The caller calls stop.
	Monitor(level slog.Level, json bool) (lines <-chan []byte, stop func())
	Metrics(ctx context.Context) (any, error)
	// WriteMetrics writes Prometheus' text format.
	WriteMetrics(ctx context.Context, w io.Writer) error
}

// Config is what the HTTP edge needs. Start from DefaultConfig.
type Config struct {
	Lookup  Lookup
	Catalog Catalog
	Local   Local
	Agent   Agent
	Keys    Keys
	Txns    Txns
	// Histories is for servers; client agents pass such requests on.
	Histories Histories
	Queries   Queries
	Events    Events
	// Elsewhere answers what this agent can't; nil: it is all that there is.
	Elsewhere Elsewhere
	Logger    *slog.Logger

	// Consumers are who follows streams, on all protocols.
	Consumers *consumer.Registry

	Coordinates Coordinates
	Operator    Operator
	Snapshots   Snapshots
	Keyring     Keyring
	// Accusations are what this agent saw of agents that held others for dead.
	Accusations func() []wire.Accusation
	// ComesBack says why a service, or with service empty a node, may soon be in the
	// catalog again that was just removed; empty if nothing speaks for it. Nil: unknown.
	ComesBack func(node, service string) string

	Datacenter string
	// DefaultPolicy is told to clients with every answer.
	DefaultPolicy string
	// ConnectDisabled makes the mesh's endpoints answer that it is off.
	ConnectDisabled bool
	// TranslateWANAddrs is told to clients; the addresses themselves change only
	// in answers from other datacenters.
	TranslateWANAddrs bool

	// EnableDebug serves profiles below /debug/pprof.
	EnableDebug bool

	ResponseHeaders map[string]string
	// BlockEndpoints are path prefixes that are refused.
	BlockEndpoints []string
	// AllowWriteFrom, if not empty, is from where requests may change anything.
	AllowWriteFrom []netip.Prefix

	// MaxBody bounds request bodies, BodyTimeout the time to read one.
	MaxBody     int64
	BodyTimeout time.Duration
	// MaxWait bounds waits on the agent's own services, as lookup does for others.
	MaxWait time.Duration

	// Requests bounds what is asked; nil: nothing does.
	Requests Requests
	// Gate bounds snapshots to streams; nil: nothing does.
	Gate Gate

	// Node is the own node: that of sessions which name none.
	Node string
	// MaxValue bounds the values of keys, MaxTxnBody the bodies of transactions and
	// MaxTxnOps the operations in one.
	MaxValue, MaxTxnBody int64
	MaxTxnOps            int
}

// DefaultConfig has Consul's defaults where it has any.
func DefaultConfig() Config {
	return Config{
		DefaultPolicy: "allow",
		// A command must fit a log entry with room to spare, and a registration
		// of this size has thousands of checks.
		MaxBody:     4 << 20,
		BodyTimeout: 30 * time.Second,
		MaxWait:     10 * time.Minute,
		MaxValue:    512 << 10,
		MaxTxnBody:  512 << 10,
		MaxTxnOps:   128,
	}
}
