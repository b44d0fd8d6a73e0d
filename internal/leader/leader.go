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
	SetAutopilot(ctx context.Context, s *model.AutopilotSet) error
	SetHistory(ctx context.Context, s *model.KVHistorySet) error
}

// Catalog is what the duties read. Each call sees the newest state.
type Catalog interface {
	Node(name string) *model.Node
	Nodes() []*model.Node
	NodeServices(name string) *model.NodeServices
	NodeChecks(name string) []*model.Check
	HasCARoots() bool
	HasAutopilot() bool
	History() *model.KVHistory // nil: never set
}

// Servers is who takes part in consensus. Who of them has a vote is autopilot's.
type Servers interface {
	// Servers are the addresses by server id, as recorded.
	Servers() map[string]string
	// Add takes a server in, or records its new address.
	Add(id, addr string) error
	Remove(id string) error
}

// Config joins the duties to the server's other parts.
type Config struct {
	Datacenter string
	Self       string // name of this server's node
	Writer     Writer
	Catalog    Catalog
	Clocked    Clocked // nil: nothing ends by time
	Servers    Servers
	Members    func() []gossip.Member
	// Changed tells that a member joined, left, failed or changed its tags.
	Changed <-chan struct{}
	// Mesh is whether a root is wanted; ClusterID may be empty, then one is made.
	Mesh      bool
	ClusterID string
	// Autopilot is the configuration of a cluster that has none yet.
	Autopilot model.Autopilot
	// History is how much is kept of the past of keys while this server leads.
	History model.KVHistory
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
	told   map[string]string // members that wait for another one's node id, by name
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
// server, autopilot its configuration and the mesh its root: from then on clients may
// rely on all three.
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
	if err := l.ensureAutopilot(ctx); err != nil {
		return err
	}
	if err := l.ensureHistory(ctx); err != nil {
		return err
	}
	return l.ensureRoot(ctx)
}

// ensureHistory makes this server's setting the cluster's: it is in the state, since
// servers with different ones must keep the same all the same.
func (l *Leader) ensureHistory(ctx context.Context) error {
	if now := l.cfg.Catalog.History(); now == nil && l.cfg.History.Revisions == 0 || now != nil && now.Same(&l.cfg.History) {
		return nil
	}
	return l.cfg.Writer.SetHistory(ctx, &model.KVHistorySet{Config: l.cfg.History})
}

// ensureAutopilot writes the first configuration of autopilot. The write is
// conditional on there being none, so that an operator's is never overwritten.
func (l *Leader) ensureAutopilot(ctx context.Context) error {
	if l.cfg.Catalog.HasAutopilot() {
		return nil
	}
	return l.cfg.Writer.SetAutopilot(ctx, &model.AutopilotSet{Config: l.cfg.Autopilot, ExpectIndex: new(uint64)})
}
