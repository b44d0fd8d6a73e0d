package agent

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"

	"google.golang.org/grpc"

	"github.com/muster-discovery/muster/internal/apply"
	"github.com/muster-discovery/muster/internal/config"
	"github.com/muster-discovery/muster/internal/consensus"
	"github.com/muster-discovery/muster/internal/fsm"
	"github.com/muster-discovery/muster/internal/leader"
	"github.com/muster-discovery/muster/internal/lookup"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/rpc"
	"github.com/muster-discovery/muster/internal/rpcapi"
	"github.com/muster-discovery/muster/internal/state"
	"github.com/muster-discovery/muster/internal/storage"
	"github.com/muster-discovery/muster/internal/telemetry"
	"github.com/muster-discovery/muster/internal/version"
	"github.com/muster-discovery/muster/internal/view"
	"github.com/muster-discovery/muster/internal/wire"
)

// server is what an agent in server mode adds: the replicated state and its log,
// and the port at which other agents ask for it.
type server struct {
	*node
	store   *state.Store
	raft    *consensus.Log
	mux     *rpc.Mux
	grpc    *grpc.Server
	cluster *cluster
	leader  *leader.Leader
	changed chan struct{} // members changed; holds one signal
}

// newServer builds the parts in the order of their dependence and leaves their
// end to the group, also when a later part fails.
func newServer(g *group, cfg *config.Config, dir *storage.Dir, nodeID string, tel *telemetry.Telemetry) (*server, error) {
	s := &server{
		node:  &node{cfg: cfg, log: tel.Logger("server"), nodeID: nodeID},
		store: state.New(), changed: make(chan struct{}, 1),
	}
	s.hub = view.NewHub(s.store, view.DefaultConfig())
	machine := fsm.New(s.store, s.hub.Publish)
	g.start("views", s.hub.Run)

	var err error
	resolve := addressOf(s.members, cfg.Node.Datacenter)
	if s.mux, err = rpc.Listen(rpc.MuxConfig{
		Addr: cfg.Listen.Server.Address, Advertise: serverAddr(cfg),
		Logger: tel.Logger("rpc"), Registry: tel.Registry(),
	}); err != nil {
		return nil, err
	}
	g.onStop("server port", s.mux.Close)

	if err := s.openPool(g, resolve, tel); err != nil {
		return nil, err
	}
	if err := s.openGossip(g, dir, tel); err != nil {
		return nil, err
	}
	if s.raft, err = consensus.Open(raftConfig(cfg, dir, nodeID, s.mux, resolve, tel), machine); err != nil {
		return nil, err
	}
	g.onStop("consensus", s.raft.Close)

	s.cluster = &cluster{log: s.raft, store: s.store, rpc: s.pool, self: nodeID}
	s.lookup = lookup.New(lookup.Config{
		Hub: s.hub, Leader: s.cluster, Resolve: allowAll,
		Datacenter: cfg.Node.Datacenter, Node: cfg.Node.Name, Catalog: stateReader{s.store}, Reader: stateReader{s.store},
		Distance:    s.distance,
		DefaultWait: cfg.Queries.DefaultTime, MaxWait: cfg.Queries.MaxTime, Hold: cfg.RPC.HoldTimeout,
	})
	s.apply = apply.New(apply.Config{
		Committer: s.raft, Forwarder: s.cluster, Resolve: allowAll,
		Datacenter: cfg.Node.Datacenter, Hold: cfg.RPC.HoldTimeout,
		SessionTTLMin: cfg.Queries.SessionTTLMin, SessionNode: stateReader{s.store}.SessionNode,
		QueryName: stateReader{s.store}.QueryName,
		Renew:     func(ctx context.Context, id string) (*model.Session, error) { return s.leader.Renew(ctx, id) },
	})
	s.leader = leader.New(leader.Config{
		Datacenter: cfg.Node.Datacenter, Self: cfg.Node.Name,
		Writer: leaderWriter{s.apply}, Catalog: stateReader{s.store}, Voters: voters{s.raft},
		Clocked: leaderClock{s.store, s.hub, s.raft, s.apply},
		Members: s.members, Changed: s.changed,
		Mesh: cfg.Connect.Enabled, ClusterID: cfg.Connect.ClusterID,
		Logger: tel.Logger("leader"),
	})

	s.grpc = rpc.NewServer(tel.Logger("rpc"))
	rpcapi.New(s.apply, leaderReads{s.cluster}, rpcapi.Identity{
		NodeID: nodeID, NodeName: cfg.Node.Name, Datacenter: cfg.Node.Datacenter,
		Version: version.Muster, LogFormat: fsm.Format, SnapshotFormat: fsm.Format,
		HasState: s.raft.HasState,
	}).Register(s.grpc)
	g.start("rpc server", s.serveRPC)
	g.start("members", s.followMembers)
	g.start("leadership", s.followLeadership)
	g.start("join", s.join)
	g.start("coordinates", s.followCoordinates)
	return s, nil
}

func (s *server) serveRPC(ctx context.Context) error {
	done := make(chan error, 1)
	go func() { done <- s.grpc.Serve(s.mux.Listener(rpc.KindGRPC)) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		s.grpc.Stop()
		<-done
		return nil
	}
}

func raftConfig(cfg *config.Config, dir *storage.Dir, nodeID string, mux *rpc.Mux, resolve func(string) (string, error), tel *telemetry.Telemetry) consensus.Config {
	c := consensus.Config{
		NodeID: nodeID, Stream: mux.Raft(), AddressOf: resolve,
		// A cluster of one needs no one's word to begin.
		Bootstrap:  cfg.Dev || cfg.Server.Bootstrap || cfg.Server.BootstrapExpect == 1,
		Multiplier: cfg.Raft.Multiplier,
		Logger:     tel.Logger("raft"), Registry: tel.Registry(),
		SnapshotThreshold: uint64(cfg.Raft.SnapshotThreshold), SnapshotInterval: cfg.Raft.SnapshotInterval,
		TrailingEntries: uint64(cfg.Raft.TrailingLogs),
		MaxCommand:      maxCommand(cfg.Limits),
	}
	if dir != nil {
		c.Dir = filepath.Join(dir.Path(), "raft")
	}
	return c
}

// voters is the cluster's configuration as the leader's duties use it.
type voters struct{ log *consensus.Log }

func (v voters) Voters() map[string]string {
	list := make(map[string]string)
	for _, s := range v.log.Servers() {
		list[s.ID] = s.Addr
	}
	return list
}

func (v voters) AddVoter(id, addr string) error { return v.log.AddVoter(id, addr) }
func (v voters) RemoveServer(id string) error   { return v.log.RemoveServer(id) }

// peers are the addresses of the servers that take part in consensus.
func (s *server) peers() []string {
	list := []string{}
	for _, p := range s.raft.Servers() {
		list = append(list, p.Addr)
	}
	return list
}

// raftServers is the cluster's configuration with the names that gossip knows.
func (s *server) raftServers() []wire.RaftServer {
	names := make(map[string]string)
	for _, m := range s.pools.Members(false) {
		names[m.ID()] = m.Name
	}
	leader, _ := s.raft.Leader()
	list := []wire.RaftServer{}
	for _, p := range s.raft.Servers() {
		w := wire.RaftServer{ID: p.ID, Node: names[p.ID], Address: p.Addr, Leader: p.ID == leader, Voter: p.Voter, ProtocolVersion: "3"}
		if w.Node == "" {
			w.Node = "(unknown)"
		}
		if p.ID == s.nodeID {
			// Stats are texts for people; this one is a number by construction.
			w.LastIndex, _ = strconv.ParseUint(s.raft.Stats()["last_log_index"], 10, 64)
		}
		list = append(list, w)
	}
	return list
}

// leave takes this server out of the cluster in good order: its vote goes before
// it does, so that the others need not wait for it.
func (s *server) leave(ctx context.Context) error {
	if s.raft.IsLeader() && len(s.raft.Servers()) > 1 {
		if err := s.raft.TransferLeadership(); err != nil {
			s.log.Warn("cannot hand over leadership before leaving", "err", err)
		}
	}
	if err := s.pools.Leave(ctx); err != nil {
		return fmt.Errorf("leave the gossip pools: %w", err)
	}
	return nil
}

// maxCommand lets through what the limits of keys and transactions let in, with
// room for what a command adds. 0 is the log's own default.
func maxCommand(l config.Limits) int {
	const room, own = 64 << 10, 1 << 20
	if need := max(l.KVMaxValueSize, l.TxnMaxReqLen) + room; need > own {
		return need
	}
	return 0
}
