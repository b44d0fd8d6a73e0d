package local

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/muster-discovery/muster/internal/check"
	"github.com/muster-discovery/muster/internal/model"
)

// Catalog is where registrations go. Calls may overlap and end when ctx does.
// Deregistering what is not there succeeds or is a KindNotFound.
type Catalog interface {
	Register(ctx context.Context, token string, r *model.Registration) error
	Deregister(ctx context.Context, token string, d *model.Deregistration) error
	// NodeState returns what the catalog has of a node: its services, and its
	// checks including those of the services. An unknown node is empty, not an
	// error.
	NodeState(ctx context.Context, node string) ([]*model.Service, []*model.Check, error)
}

// NodeReader is an ability that a Catalog may have: with it, a changed or lost
// node entry is noticed at each full synchronization, without it only at the
// first and at those asked for by Sync. It returns nil for an unknown node.
type NodeReader interface {
	Node(ctx context.Context, name string) (*model.Node, error)
}

// NodeWatcher is an ability that a Catalog may have: with it, aliases of something
// on another node follow it at once, without it they look every few seconds.
//
// Both methods wait until the answer's index is higher than index and return the
// newest; with index 0 they answer at once. They may also return without news
// after some minutes. Two of them run for a node at the same time.
type NodeWatcher interface {
	// WatchNodeServices returns nil for an unknown node.
	WatchNodeServices(ctx context.Context, node string, index uint64) (*model.NodeServices, uint64, error)
	// WatchNodeChecks returns the checks of the node and of its services.
	WatchNodeChecks(ctx context.Context, node string, index uint64) ([]*model.Check, uint64, error)
}

// Journal keeps records on disk. Put and Delete return once the change is
// durable; concurrent calls share the cost.
type Journal interface {
	Load() (map[string][]byte, error)
	Put(ctx context.Context, key string, value []byte) error
	Delete(ctx context.Context, key string) error
}

// Config of the agent's registrations. Node and Catalog are needed; DefaultConfig
// has the rest.
type Config struct {
	Node    model.Node // this agent's node as it is registered
	Catalog Catalog
	Journal Journal // nil: nothing outlives the process

	// CheckUpdateInterval is how long the catalog may miss a check's new output
	// while its state stays the same. 0: outputs go out at once.
	CheckUpdateInterval time.Duration
	// SyncInterval is the time between two full comparisons with the catalog,
	// asked for anew each time since it should grow with the cluster.
	SyncInterval func() time.Duration
	// MaxWrites bounds the writes to the catalog under way at once.
	MaxWrites int
	// WriteTimeout bounds one call to the catalog.
	WriteTimeout time.Duration

	// Sidecars without a port get one of this range; 0 and 0 is none.
	SidecarMinPort int
	SidecarMaxPort int

	// Token returns the secret for writes that have no token of their own.
	Token func() string

	Checks    check.Config
	Transport *check.Env // what probes share; nil: the real network and 4 KiB of output
	Scripts   Scripts    // whose script checks run; it decides Transport.Scripts

	Logger   *slog.Logger
	Registry prometheus.Registerer
}

// DefaultConfig has the values that existing agents are known for.
func DefaultConfig() Config {
	return Config{
		CheckUpdateInterval: 5 * time.Minute,
		SyncInterval:        func() time.Duration { return time.Minute },
		// With a commit of a millisecond this is 32,000 writes a second, and the
		// leader's batcher sees enough of them to fill a log entry.
		MaxWrites:      32,
		WriteTimeout:   10 * time.Second,
		SidecarMinPort: 21000,
		SidecarMaxPort: 21255,
	}
}

func (c *Config) setDefaults() {
	d := DefaultConfig()
	if c.SyncInterval == nil {
		c.SyncInterval = d.SyncInterval
	}
	if c.MaxWrites <= 0 {
		c.MaxWrites = d.MaxWrites
	}
	if c.WriteTimeout <= 0 {
		c.WriteTimeout = d.WriteTimeout
	}
	env := check.Env{}
	if c.Transport != nil {
		env = *c.Transport
	}
	env.Scripts = c.Scripts != ScriptsOff
	c.Transport = &env
	if c.Token == nil {
		c.Token = func() string { return "" }
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Checks.Registry == nil {
		c.Checks.Registry = c.Registry
	}
}
