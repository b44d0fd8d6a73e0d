package agent

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/muster-discovery/muster/internal/acl"
	"github.com/muster-discovery/muster/internal/apply"
	"github.com/muster-discovery/muster/internal/config"
	"github.com/muster-discovery/muster/internal/event"
	"github.com/muster-discovery/muster/internal/gossip"
	"github.com/muster-discovery/muster/internal/limit"
	"github.com/muster-discovery/muster/internal/lookup"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/rpc"
	"github.com/muster-discovery/muster/internal/storage"
	"github.com/muster-discovery/muster/internal/telemetry"
	"github.com/muster-discovery/muster/internal/view"
	"github.com/muster-discovery/muster/internal/wire"
)

// node is what servers and client agents have in common: a place in gossip,
// connections to servers, and the two paths of reads and writes.
type node struct {
	cfg    *config.Config
	log    *slog.Logger
	nodeID string

	hub     *view.Hub
	resync  chan struct{} // the state was replaced; holds one signal
	pools   *gossip.Pools
	pool    *rpc.Pool
	lookup  *lookup.Lookup
	apply   *apply.Apply
	events  *events
	streams *streams
	limits  *limit.Limits
	// recorded is where a node is that gossip knows nothing of; nil: nobody knows.
	recorded func(node string) (model.Coordinate, bool)
}

// role is what servers and client agents do each in their way.
type role interface {
	// writesTo names where writes go at the moment, empty if nowhere.
	writesTo() string
	leaderAddr() string
	peers() []string
	raftServers() []wire.RaftServer
	// figures are for people, by group.
	figures() map[string]map[string]string
	// answers tells which server answers a request for the leader or for any server;
	// empty: this agent. unreachable says that the server was not to be reached.
	answers(leader bool) (id string, err error)
	unreachable(id string)
	// leave takes the agent out of the cluster in good order.
	leave(ctx context.Context) error
}

// sourcePoll is how soon a new leader or server is noticed. Nothing waits on it but
// the repair of what could not be written without one.
const sourcePoll = 50 * time.Millisecond

// onSource calls back each time that writes have somewhere to go again, or go elsewhere,
// and when the cluster's state was replaced by another.
func onSource(ctx context.Context, r role, replaced <-chan struct{}, changed func()) {
	tick := time.NewTicker(sourcePoll)
	defer tick.Stop()
	last := ""
	for {
		if to := r.writesTo(); to != last {
			last = to
			if to != "" {
				changed()
			}
		}
		select {
		case <-tick.C:
		case <-replaced:
			changed()
		case <-ctx.Done():
			return
		}
	}
}

// allowAll resolves every token: there are no rules of access yet.
func allowAll(string) (acl.Authorizer, error) { return acl.AllowAll{}, nil }

// openPool makes the connections to servers, which are dialled when first used.
func (n *node) openPool(g *group, resolve func(id string) (string, error), tel *telemetry.Telemetry) (err error) {
	if n.pool, err = rpc.NewPool(rpc.PoolConfig{
		Resolve: resolve, Datacenter: n.cfg.Node.Datacenter, NodeName: n.cfg.Node.Name,
		Admit: n.limits.RPC.Admit, CallTimeout: n.callTimeout(),
		Logger: tel.Logger("rpc"), Registry: tel.Registry(),
	}); err != nil {
		return err
	}
	g.onStop("rpc connections", n.pool.Close)
	return nil
}

// callTimeout is the setting for client agents; servers among themselves have their own.
func (n *node) callTimeout() time.Duration {
	if n.cfg.Server.Enabled {
		return 0
	}
	return n.cfg.Limits.RPCClientTimeout
}

// openGossip takes this node's place among the members, without a join yet.
func (n *node) openGossip(g *group, dir *storage.Dir, tel *telemetry.Telemetry) (err error) {
	if dir != nil {
		if err := os.MkdirAll(dir.Path("serf"), 0o700); err != nil {
			return fmt.Errorf("make the folder of gossip's snapshots: %w", err)
		}
	}
	n.events = &events{node: n.cfg.Node.Name, recent: event.NewRecent(), resolve: allowAll, log: tel.Logger("event")}
	gc := gossipConfig(n.cfg, dir, n.nodeID, tel)
	gc.OnMessage = n.events.hear
	if n.pools, err = gossip.Open(gc); err != nil {
		return err
	}
	n.events.pools = n.pools
	g.onStop("gossip", n.pools.Close)
	return nil
}

// addressOf is where a server is, by its id.
func (n *node) addressOf(id string) (string, error) {
	return addressOf(n.members, n.cfg.Node.Datacenter)(id)
}

// members are those of the local pool.
func (n *node) members() []gossip.Member {
	if n.pools == nil {
		return nil // still starting: recorded addresses are used
	}
	return n.pools.Members(false)
}

func serverAddr(cfg *config.Config) string {
	return hostPort(cfg.Advertise.LAN, cfg.Ports.Server)
}

func gossipConfig(cfg *config.Config, dir *storage.Dir, nodeID string, tel *telemetry.Telemetry) gossip.Config {
	snapshot := func(name string) string {
		if dir == nil {
			return ""
		}
		return dir.Path("serf", name+".snapshot")
	}
	ring := func(name string) string {
		if dir == nil || cfg.Gossip.DisableKeyringFile {
			return ""
		}
		return dir.Path("serf", name+".keyring")
	}
	c := gossip.Config{
		Identity: gossip.Identity{
			NodeName: cfg.Node.Name, NodeID: nodeID, Datacenter: cfg.Node.Datacenter,
			Server: cfg.Server.Enabled, Build: build(),
			ServerPort: cfg.Ports.Server, GRPCPort: cfg.Ports.GRPC, GRPCTLSPort: cfg.Ports.GRPCTLS,
			BootstrapExpect: cfg.Server.BootstrapExpect, Bootstrap: cfg.Server.Bootstrap && !cfg.Dev, ACLs: cfg.ACL.Enabled,
			Replica: cfg.Server.ReadReplica,
		},
		LAN: gossip.PoolConfig{
			BindAddr: host(cfg.Listen.SerfLAN.Address), BindPort: cfg.Ports.SerfLAN,
			AdvertiseAddr: cfg.Advertise.LAN, SnapshotPath: snapshot("local"), KeyringPath: ring("local"),
			Timing: gossip.Timing{
				ProbeInterval: cfg.Gossip.LANProbeInterval, ProbeTimeout: cfg.Gossip.LANProbeTimeout,
				SuspicionMult: cfg.Gossip.LANSuspicionMultiplier, GossipInterval: cfg.Gossip.LANInterval,
				GossipNodes: cfg.Gossip.LANNodes, RetransmitMult: cfg.Gossip.LANRetransmit,
				ReconnectTimeout: cfg.Gossip.ReconnectTimeoutLAN,
			},
		},
		EncryptKey:       string(cfg.Gossip.EncryptKey),
		AcceptPlain:      !cfg.Gossip.EncryptVerifyIncoming,
		SendPlain:        !cfg.Gossip.EncryptVerifyOutgoing,
		RejoinAfterLeave: cfg.Lifecycle.RejoinAfterLeave,
		Logger:           tel.Logger("gossip"), Registry: tel.Registry(),
	}
	if cfg.Server.Enabled && cfg.Listen.SerfWAN.Address != "" {
		c.WAN = &gossip.PoolConfig{
			BindAddr: host(cfg.Listen.SerfWAN.Address), BindPort: cfg.Ports.SerfWAN,
			AdvertiseAddr: cfg.Advertise.WAN, SnapshotPath: snapshot("remote"), KeyringPath: ring("remote"),
		}
	}
	return c
}

// join looks for the other agents until one answers.
func (n *node) join(ctx context.Context) error {
	lan := append(append([]string{}, n.cfg.Join.StartLAN...), n.cfg.Join.RetryLAN...)
	if len(lan) > 0 {
		err := n.pools.RetryJoin(ctx, gossip.RetryConfig{Addrs: lan, Interval: n.cfg.Join.RetryIntervalLAN, MaxAttempts: n.cfg.Join.RetryMaxLAN})
		if err != nil && ctx.Err() == nil {
			return err // retry_max is an order to give up
		}
	}
	wan := append(append([]string{}, n.cfg.Join.StartWAN...), n.cfg.Join.RetryWAN...)
	if len(wan) > 0 {
		err := n.pools.RetryJoin(ctx, gossip.RetryConfig{Addrs: wan, WAN: true, Interval: n.cfg.Join.RetryIntervalWAN, MaxAttempts: n.cfg.Join.RetryMaxWAN})
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
	<-ctx.Done()
	return nil
}

// leaveGossip tells the members.
func (n *node) leaveGossip(ctx context.Context) error {
	if err := n.pools.Leave(ctx); err != nil {
		return fmt.Errorf("leave the gossip pools: %w", err)
	}
	return nil
}
