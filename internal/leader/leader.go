package leader

import (
	"context"
	"log/slog"
	"time"

	"github.com/muster-discovery/muster/internal/gossip"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/retry"
)

// Writer is the write path.
type Writer interface {
	Register(ctx context.Context, r *model.Registration) error
	Deregister(ctx context.Context, d *model.Deregistration) error
	SetCARoots(ctx context.Context, s *model.CARootSet) error
}

// Catalog is what the duties read. Each call sees the newest state.
type Catalog interface {
	Node(name string) *model.Node
	Nodes() []*model.Node
	NodeServices(name string) *model.NodeServices
	NodeChecks(name string) []*model.Check
	HasCARoots() bool
}

// Voters is who takes part in consensus.
type Voters interface {
	// Voters are the addresses by server id, as recorded.
	Voters() map[string]string
	// AddVoter adds a server or records its new address.
	AddVoter(id, addr string) error
	RemoveServer(id string) error
}

// Config joins the duties to the server's other parts.
type Config struct {
	Datacenter string
	Self       string // name of this server's node
	Writer     Writer
	Catalog    Catalog
	Clocked    Clocked // nil: nothing ends by time
	Voters     Voters
	Members    func() []gossip.Member
	// Changed tells that a member joined, left, failed or changed its tags.
	Changed <-chan struct{}
	// Mesh is whether a root is wanted; ClusterID may be empty, then one is made.
	Mesh      bool
	ClusterID string
	// Interval of the full reconciliation, which repairs what single events missed.
	Interval time.Duration
	Logger   *slog.Logger
}

// DefaultInterval is Consul's: a repair, not the way news travels.
const DefaultInterval = time.Minute

// Leader does the leader's duties.
type Leader struct {
	cfg    Config
	timers *timers
}

// New makes the duties of one server.
func New(cfg Config) *Leader {
	if cfg.Interval == 0 {
		cfg.Interval = DefaultInterval
	}
	return &Leader{cfg: cfg, timers: newTimers(cfg.Clocked)}
}

// Renew starts a session's time to live anew and returns the session. It answers once
// this server is known to have led after the call; NotLeader sends the caller on.
func (l *Leader) Renew(ctx context.Context, id string) (*model.Session, error) {
	return l.timers.renew(ctx, id)
}

// Run works until ctx ends. It calls established once the catalog holds this
// server and the mesh its root: from then on clients may rely on both.
func (l *Leader) Run(ctx context.Context, established func()) {
	defer l.keepTime(ctx)()

	backoff := retry.Backoff{Min: 50 * time.Millisecond, Max: 5 * time.Second, Jitter: 0.5}
	for {
		err := l.establish(ctx)
		if err == nil {
			break
		}
		l.cfg.Logger.Warn("cannot take up the leader's duties yet", "err", err)
		if !backoff.Wait(ctx) {
			return
		}
	}
	established()

	tick := time.NewTicker(l.cfg.Interval)
	defer tick.Stop()
	for {
		if err := l.reconcile(ctx); err != nil && ctx.Err() == nil {
			l.cfg.Logger.Warn("cannot reconcile members with the catalog", "err", err)
			if !backoff.Wait(ctx) {
				return
			}
			continue
		}
		backoff.Reset()
		select {
		case <-l.cfg.Changed:
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// keepTime starts the timers and returns what awaits their end.
func (l *Leader) keepTime(ctx context.Context) (wait func()) {
	if l.cfg.Clocked == nil {
		return func() {}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.timers.run(ctx)
	}()
	return func() { <-done }
}

func (l *Leader) establish(ctx context.Context) error {
	for _, m := range l.cfg.Members() {
		if m.Name == l.cfg.Self {
			if err := l.reconcileMember(ctx, m); err != nil {
				return err
			}
		}
	}
	return l.ensureRoot(ctx)
}
