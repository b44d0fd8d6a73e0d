package agent

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/muster-discovery/muster/internal/acl"
	"github.com/muster-discovery/muster/internal/apply"
	"github.com/muster-discovery/muster/internal/config"
	"github.com/muster-discovery/muster/internal/event"
	"github.com/muster-discovery/muster/internal/gossip"
	"github.com/muster-discovery/muster/internal/lookup"
	"github.com/muster-discovery/muster/internal/rpc"
	"github.com/muster-discovery/muster/internal/storage"
	"github.com/muster-discovery/muster/internal/telemetry"
	"github.com/muster-discovery/muster/internal/view"
)

// node is what servers and client agents have in common: a place in gossip,
// connections to servers, and the two paths of reads and writes.
type node struct {
	cfg    *config.Config
	log    *slog.Logger
	nodeID string

	hub    *view.Hub
	pools  *gossip.Pools
	pool   *rpc.Pool
	lookup *lookup.Lookup
	apply  *apply.Apply
	events *events
}

// allowAll resolves every token: there are no rules of access yet.
func allowAll(string) (acl.Authorizer, error) { return acl.AllowAll{}, nil }

// openPool makes the connections to servers, which are dialled when first used.
func (n *node) openPool(g *group, resolve func(id string) (string, error), tel *telemetry.Telemetry) (err error) {
	if n.pool, err = rpc.NewPool(rpc.PoolConfig{
		Resolve: resolve, Datacenter: n.cfg.Node.Datacenter, NodeName: n.cfg.Node.Name,
		Logger: tel.Logger("rpc"), Registry: tel.Registry(),
	}); err != nil {
		return err
	}
	g.onStop("rpc connections", n.pool.Close)
	return nil
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
	c := gossip.Config{
		Identity: gossip.Identity{
			NodeName: cfg.Node.Name, NodeID: nodeID, Datacenter: cfg.Node.Datacenter,
			Server: cfg.Server.Enabled, Build: build(),
			ServerPort: cfg.Ports.Server, GRPCPort: cfg.Ports.GRPC, GRPCTLSPort: cfg.Ports.GRPCTLS,
			BootstrapExpect: cfg.Server.BootstrapExpect, Bootstrap: cfg.Server.Bootstrap && !cfg.Dev, ACLs: cfg.ACL.Enabled,
		},
		LAN: gossip.PoolConfig{
			BindAddr: host(cfg.Listen.SerfLAN.Address), BindPort: cfg.Ports.SerfLAN,
			AdvertiseAddr: cfg.Advertise.LAN, SnapshotPath: snapshot("local"),
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
			AdvertiseAddr: cfg.Advertise.WAN, SnapshotPath: snapshot("remote"),
		}
	}
	return c
}
