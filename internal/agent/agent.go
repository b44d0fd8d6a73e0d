package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/muster-discovery/muster/internal/config"
	"github.com/muster-discovery/muster/internal/dnsapi"
	"github.com/muster-discovery/muster/internal/httpapi"
	"github.com/muster-discovery/muster/internal/local"
	"github.com/muster-discovery/muster/internal/storage"
	"github.com/muster-discovery/muster/internal/telemetry"
	"github.com/muster-discovery/muster/internal/watch"
)

// ErrLeave as the cause of a canceled context makes Run leave the cluster before
// it ends. Any other end looks to the others like a restart.
var ErrLeave = errors.New("leave the cluster")

// leaveTimeout bounds a graceful leave, and the wait for the answer to have reached
// whoever asked for it.
const leaveTimeout = 5 * time.Second

// Options are what an agent is made from.
type Options struct {
	Config    *config.Config
	Telemetry *telemetry.Telemetry
	// Reload reads the configuration again, for the reload endpoint and SIGHUP.
	Reload func() (*config.Config, error)
	// Started is called once everything listens; may be nil.
	Started func(*Agent)
}

// Agent is a running agent.
type Agent struct {
	cfg    *config.Config
	tel    *telemetry.Telemetry
	log    *slog.Logger
	reload func() (*config.Config, error)
	nodeID string
	start  time.Time

	dir    *storage.Dir // nil in memory
	space  *storage.Space
	node   *node
	role   role
	server *server // nil on a client agent
	local  *local.Local
	http   *httpapi.Server
	dns    *dnsapi.Server
	group  *group

	watches *watch.Set
	leave   chan leaveRequest // from the API
}

// Run builds an agent and serves until ctx ends or a part fails.
func Run(ctx context.Context, o Options) error {
	a, err := New(o)
	if err != nil {
		return err
	}
	if o.Started != nil {
		o.Started(a)
	}
	return a.serve(ctx)
}

// New builds an agent and starts its parts. What was started is stopped again if
// a later part fails.
func New(o Options) (_ *Agent, err error) {
	cfg := o.Config
	a := &Agent{
		cfg: cfg, tel: o.Telemetry, log: o.Telemetry.Logger("agent"), reload: o.Reload,
		start: time.Now(), leave: make(chan leaveRequest),
	}
	a.group = newGroup(a.log)
	defer func() {
		if err != nil {
			a.group.stop()
		}
	}()
	if err := a.open(); err != nil {
		return nil, err
	}
	if err := a.openRole(); err != nil {
		return nil, err
	}
	if err := a.openLocal(); err != nil {
		return nil, err
	}
	if err := a.listen(); err != nil {
		return nil, err
	}
	if err := a.startWatches(); err != nil {
		return nil, err
	}
	a.group.start("anti-entropy", a.syncWithCatalog)
	a.log.Info("agent running", "node", cfg.Node.Name, "node_id", a.nodeID, "dc", cfg.Node.Datacenter)
	return a, nil
}

// open takes the data dir and learns who this node is.
func (a *Agent) open() error {
	if a.cfg.Storage.DataDir == "" {
		a.nodeID = a.cfg.Node.ID
		if a.nodeID == "" {
			a.nodeID = uuid.NewString()
		}
		return nil
	}
	dir, err := storage.Open(a.cfg.Storage.DataDir)
	if err != nil {
		return err
	}
	a.dir = dir
	a.group.onStop("data dir", dir.Close)
	if err := a.openSpace(); err != nil {
		return err
	}
	if a.nodeID = a.cfg.Node.ID; a.nodeID != "" {
		return nil
	}
	if a.nodeID, err = dir.NodeID(); err != nil {
		return fmt.Errorf("read the node's id: %w", err)
	}
	return nil
}

// openRole makes the agent a server or a client agent.
func (a *Agent) openRole() error {
	if !a.cfg.Server.Enabled {
		c, err := newClient(a.group, a.cfg, a.dir, a.nodeID, a.tel)
		if err != nil {
			return err
		}
		a.node, a.role = c.node, c
		return nil
	}
	s, err := newServer(a.group, a.cfg, a.dir, a.space, a.nodeID, a.tel)
	if err != nil {
		return err
	}
	a.node, a.role, a.server = s.node, s, s
	return nil
}

func (a *Agent) openLocal() error {
	c := localConfig(a.cfg, a.nodeID, a.tel)
	c.Catalog = localCatalog{a.node.lookup, a.node.apply}
	if a.dir != nil {
		journal, err := a.dir.Journal("local")
		if err != nil {
			return fmt.Errorf("open the journal of local services and checks: %w", err)
		}
		a.group.onStop("journal", journal.Close)
		c.Journal = journal
	}
	var err error
	if a.local, err = local.Open(c); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	if err := a.local.SetFileDefinitions(ctx, a.cfg.Services, a.cfg.NodeChecks); err != nil {
		return fmt.Errorf("services and checks of the configuration: %w", err)
	}
	return nil
}

// syncWithCatalog runs checks at once, and compares with the catalog whenever
// there is somebody to write to again.
func (a *Agent) syncWithCatalog(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		onSource(ctx, a.role, a.node.resync, a.local.Sync)
	}()
	err := a.local.Run(ctx)
	<-done
	return err
}

// serve waits for the end and stops all parts.
func (a *Agent) serve(ctx context.Context) error {
	var err error
	var asked *leaveRequest
	leave := false
	select {
	case <-ctx.Done():
		leave = errors.Is(context.Cause(ctx), ErrLeave)
	case r := <-a.leave:
		asked, leave = &r, true
	case err = <-a.group.failed:
		a.log.Error("a part failed, stopping", "err", err)
	}
	if leave {
		// Anti-entropy would bring back what the leave takes out of the catalog.
		a.group.stopLast()
		lctx, cancel := context.WithTimeout(context.Background(), leaveTimeout)
		lerr := a.role.leave(lctx)
		cancel()
		if lerr != nil {
			a.log.Warn("cannot leave in good order", "err", lerr)
		}
		if asked != nil {
			asked.answer(lerr)
		}
	}
	a.group.stop()
	a.log.Info("agent stopped")
	return err
}

// leaveRequest is a call of the API that waits for the agent to have left.
type leaveRequest struct {
	result chan error      // capacity 1
	over   <-chan struct{} // closed when the caller has its answer, or is gone
}

// answer returns when the caller has the answer, so that what carries it there may
// be stopped.
func (r *leaveRequest) answer(err error) {
	r.result <- err
	timer := time.NewTimer(leaveTimeout)
	defer timer.Stop()
	select {
	case <-r.over:
	case <-timer.C:
	}
}
