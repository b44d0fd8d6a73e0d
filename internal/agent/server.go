package agent

import (
	"context"
	"path/filepath"
	"strconv"

	"google.golang.org/grpc"

	"github.com/muster-discovery/muster/internal/apply"
	"github.com/muster-discovery/muster/internal/config"
	"github.com/muster-discovery/muster/internal/consensus"
	"github.com/muster-discovery/muster/internal/failover"
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
	pilot   *consensus.Autopilot
	hints   *failover.Hints
	changed chan struct{} // members changed; holds one signal

	snapshots *snapshots
	restored  chan struct{} // the state was replaced: for the leader's duties; holds one signal
	replaced  chan struct{} // the same, for the agent's own registrations
}

// newServer builds the parts in the order of their dependence and leaves their
// end to the group, also when a later part fails.
func newServer(g *group, cfg *config.Config, dir *storage.Dir, space *storage.Space, nodeID string, tel *telemetry.Telemetry) (*server, error) {
	s := &server{
		node:  &node{cfg: cfg, log: tel.Logger("server"), nodeID: nodeID, resync: make(chan struct{}, 1), limits: newLimits(cfg, tel)},
		store: state.New(), changed: make(chan struct{}, 1),
		restored: make(chan struct{}, 1), replaced: make(chan struct{}, 1),
	}
	s.recorded = func(node string) (model.Coordinate, bool) { return s.store.Snapshot().Coordinate(node) }
	s.hub = view.NewHub(s.store, view.DefaultConfig())
	machine := fsm.New(s.store, s.publish)
	g.start("views", s.hub.Run)

	var err error
	resolve := s.addressOf
	if s.mux, err = rpc.Listen(rpc.MuxConfig{
		Addr: cfg.Listen.Server.Address, Advertise: serverAddr(cfg),
		Admit: s.limits.RPCConns.Admit, HandshakeTimeout: cfg.Limits.RPCHandshakeTimeout,
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
	if s.raft, err = consensus.Open(raftConfig(cfg, dir, space, nodeID, s.mux, resolve, tel), machine); err != nil {
		return nil, err
	}
	g.onStop("consensus", s.raft.Close)

	s.cluster = &cluster{log: s.raft, store: s.store, rpc: s.pool, self: nodeID}
	s.cluster.reads = newGather(s.cluster.askLeader)
	s.lookup = lookup.New(lookup.Config{
		Hub: s.hub, Leader: s.cluster, LeaderChanged: s.raft.LeaderChanged, Resolve: allowAll,
		Datacenter: cfg.Node.Datacenter, Node: cfg.Node.Name, Catalog: stateReader{s.store}, Reader: stateReader{s.store},
		Distance:    s.distance,
		DefaultWait: cfg.Queries.DefaultTime, MaxWait: cfg.Queries.MaxTime, Hold: cfg.RPC.HoldTimeout,
	})
	s.apply = apply.New(apply.Config{
		Committer: s.raft, Forwarder: s.cluster, LeaderChanged: s.raft.LeaderChanged, Leaderless: s.raft.Leaderless, Resolve: allowAll,
		Datacenter: cfg.Node.Datacenter, Hold: cfg.RPC.HoldTimeout,
		SessionTTLMin: cfg.Queries.SessionTTLMin, SessionNode: stateReader{s.store}.SessionNode,
		QueryName: stateReader{s.store}.QueryName,
		Space:     leaderSpace{space, s.raft}, Registered: stateReader{s.store}.Registered,
		Renew: func(ctx context.Context, id string) (*model.Session, error) { return s.leader.Renew(ctx, id) },
	})
	s.pilot = s.newAutopilot()
	s.hints = s.newHints(resolve, tel)
	s.leader = leader.New(leader.Config{
		Datacenter: cfg.Node.Datacenter, Self: cfg.Node.Name,
		Writer: leaderWriter{s.apply}, Catalog: stateReader{s.store}, Servers: members{s.raft, s.pilot}, Autopilot: autopilotSeed(cfg),
		History: historySetting(cfg),
		Clocked: leaderClock{s.store, s.hub, s.raft, s.apply},
		Members: s.hints.Members, Changed: s.changed,
		Mesh: cfg.Connect.Enabled, ClusterID: cfg.Connect.ClusterID,
		Logger: tel.Logger("leader"),
	})

	if s.snapshots, err = newSnapshots(s, machine, dir, tel); err != nil {
		return nil, err
	}

	s.grpc = rpc.NewServer(tel.Logger("rpc"))
	rpcapi.New(limitedWrites{s.apply, s.limits}, limitedReads{serveReads{s.cluster, s.lookup}, s.limits}, rpcapi.Identity{
		NodeID: nodeID, NodeName: cfg.Node.Name, Datacenter: cfg.Node.Datacenter,
		Version: version.Muster, LogFormat: fsm.Format, SnapshotFormat: fsm.Format,
		HasState: s.raft.HasBegun, Stats: s.stats,
	}).Register(s.grpc)
	if err := s.openStreams(tel); err != nil {
		return nil, err
	}
	s.streams.service.Register(s.grpc)
	g.start("rpc server", s.serveRPC)
	g.start("members", s.followMembers)
	g.start("hints", s.hints.Run)
	g.start("leadership", s.followLeadership)
	g.start("restores", s.followRestores)
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
		s.streams.service.Wait()
		return nil
	}
}

func raftConfig(cfg *config.Config, dir *storage.Dir, space *storage.Space, nodeID string, mux *rpc.Mux, resolve func(string) (string, error), tel *telemetry.Telemetry) consensus.Config {
	c := consensus.Config{
		NodeID: nodeID, Stream: mux.Raft(), AddressOf: resolve,
		// A cluster of one needs no one's word to begin.
		Bootstrap:  cfg.Dev || cfg.Server.Bootstrap || cfg.Server.BootstrapExpect == 1,
		Multiplier: cfg.Raft.Multiplier,
		Logger:     tel.Logger("raft"), Registry: tel.Registry(),
		SnapshotThreshold: uint64(cfg.Raft.SnapshotThreshold), SnapshotInterval: cfg.Raft.SnapshotInterval,
		TrailingEntries: uint64(cfg.Raft.TrailingLogs),
		MaxCommand:      maxCommand(cfg.Limits), MakeRoom: space.MakeRoom,
	}
	if dir != nil {
		c.Dir = filepath.Join(dir.Path(), "raft")
	}
	return c
}

var _ role = (*server)(nil)

// writesTo and leaderAddr implement role.
func (s *server) writesTo() string   { return s.cluster.leaderAddr() }
func (s *server) leaderAddr() string { return s.cluster.leaderAddr() }

// answers implements role.
func (s *server) answers(leader bool) (string, error) {
	if !leader || s.raft.IsLeader() {
		return "", nil
	}
	id, _ := s.raft.Leader()
	if id == "" || id == s.nodeID {
		return "", model.Errorf(model.KindNoLeader, "No cluster leader")
	}
	return id, nil
}

// unreachable implements role: there is only one leader to ask.
func (s *server) unreachable(string) {}

// figures implements role.
func (s *server) figures() map[string]map[string]string {
	return map[string]map[string]string{
		"consul": {
			"server": "true", "leader": strconv.FormatBool(s.raft.IsLeader()),
			"leader_addr": s.cluster.leaderAddr(), "state_index": strconv.FormatUint(s.store.Index(), 10),
		},
		"raft":     s.raft.Stats(),
		"serf_wan": s.pools.Stats(true),
	}
}

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
	members := byID(s.pools.Members(false))
	leader, _ := s.raft.Leader()
	list := []wire.RaftServer{}
	for _, p := range s.raft.Servers() {
		w := wire.RaftServer{ID: p.ID, Node: members[p.ID].Name, Address: p.Addr, Leader: p.ID == leader, Voter: p.Voter, ProtocolVersion: "3"}
		if w.Node == "" {
			w.Node = "(unknown)"
		}
		if progress, ok := s.progress(p.ID); ok {
			w.LastIndex = progress
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
	if len(s.raft.Servers()) == 1 {
		return s.leaveGossip(ctx)
	}
	s.hints.Leave(ctx)
	if s.raft.IsLeader() {
		if err := s.raft.TransferLeadership(); err != nil {
			s.log.Warn("cannot hand over leadership before leaving", "err", err)
		}
	}
	s.withdraw(ctx)
	return s.leaveGossip(ctx)
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
