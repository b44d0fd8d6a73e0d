package failover

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/retry"
)

// HoldConfig is what NewHold needs.
type HoldConfig struct {
	ID, Name string // of the agent's node
	Dial     DialFunc
	// Servers are the addresses of servers that are worth a try.
	Servers func() []string
	Logger  *slog.Logger
}

// Hold is a client agent's part: one connection to any one server. Its end tells the
// servers that this agent is gone.
type Hold struct {
	cfg HoldConfig
	log *slog.Logger

	mu   sync.Mutex
	peer *asker // nil: not connected
}

// NewHold makes a client agent's part; Run has it work.
func NewHold(cfg HoldConfig) *Hold {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Hold{cfg: cfg, log: cfg.Logger.With("component", "failover")}
}

// Run keeps a connection until ctx ends.
func (d *Hold) Run(ctx context.Context) error {
	// Many agents lose their server at the same time.
	backoff := retry.Backoff{Min: linkPauseMin, Max: linkPauseMax, Jitter: 1}
	for {
		if err := d.hold(ctx); err == nil {
			backoff.Reset()
		} else {
			d.log.Debug("no connection to a server for hints", "err", err)
		}
		if !backoff.Wait(ctx) {
			return nil
		}
	}
}

func (d *Hold) hold(ctx context.Context) error {
	servers := d.cfg.Servers()
	if len(servers) == 0 {
		return model.Errorf(model.KindUnavailable, "no server is known yet")
	}
	addr := servers[rand.IntN(len(servers))]
	peer, _, err := greet(ctx, d.cfg.Dial, addr, message{Type: typeHello, ID: d.cfg.ID, Name: d.cfg.Name})
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = peer.conn.Close() })()
	d.set(peer)
	<-peer.ended
	d.set(nil)
	return nil
}

func (d *Hold) set(peer *asker) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.peer = peer
}

// leaveTimeout bounds Leave; without an answer gossip's way of leaving remains.
const leaveTimeout = 500 * time.Millisecond

// Leave tells the servers that this agent leaves, and returns once they know. After
// it nobody writes the node into the catalog again, so that the agent can take it
// out at once.
func (d *Hold) Leave(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, leaveTimeout)
	defer cancel()
	d.mu.Lock()
	peer := d.peer
	d.mu.Unlock()
	if peer == nil {
		return model.Errorf(model.KindUnavailable, "tell the servers of the leave: not connected to any")
	}
	_, err := peer.ask(ctx, message{Type: typeLeaving})
	return err
}
