package consensus

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/raft"
	autopilot "github.com/hashicorp/raft-autopilot"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/muster-discovery/muster/internal/model"
)

// Autopilot alone changes who votes: it takes new servers in without a vote, gives
// them one when they have been healthy for a while, and removes dead ones. It works
// on the leader, while Run does.
type Autopilot struct {
	log   *Log
	cfg   AutopilotConfig
	pilot *autopilot.Autopilot

	healthy   prometheus.Gauge
	tolerance prometheus.Gauge
}

// AutopilotConfig joins autopilot to what it asks and tells. All functions may be
// called at the same time.
type AutopilotConfig struct {
	// Settings are the replicated ones; nil until a leader has written them.
	Settings func() *model.Autopilot
	// Peers are the servers that gossip knows, this one included.
	Peers func() []Peer
	// Progress asks another server how far its log is.
	Progress func(ctx context.Context, id string) (Progress, error)
	// Forget tells gossip that a dead server will not come back. What follows from
	// that, the end of its place in the cluster too, comes by the usual way.
	Forget func(Peer)

	// UpdateInterval is how often servers are asked, ReconcileInterval how often
	// something is done about the answers. Default 1 s each: that costs a call to
	// each server, and a server is promoted within 2 s of its time.
	UpdateInterval, ReconcileInterval time.Duration
}

// PeerStatus is what gossip thinks of a server.
type PeerStatus string

const (
	PeerAlive  PeerStatus = "alive"
	PeerFailed PeerStatus = "failed"
	PeerLeft   PeerStatus = "left"
)

// Peer is a server as gossip knows it.
type Peer struct {
	ID, Name, Addr, Version string
	Status                  PeerStatus
	Replica                 bool // never votes
	Meta                    map[string]string
}

// Progress is how far a server's log is.
type Progress struct {
	LastContact         time.Duration // since it heard from the leader; negative: not known
	LastTerm, LastIndex uint64
}

// NewAutopilot makes the autopilot of this server; there is one at most.
func (l *Log) NewAutopilot(c AutopilotConfig) *Autopilot {
	orDefault(&c.UpdateInterval, time.Second)
	orDefault(&c.ReconcileInterval, time.Second)
	auto := promauto.With(l.config.Registry)
	a := &Autopilot{
		log: l, cfg: c,
		healthy: auto.NewGauge(prometheus.GaugeOpts{
			Name: "muster_autopilot_healthy",
			Help: "On the leader, whether all servers are healthy: 1 or 0.",
		}),
		tolerance: auto.NewGauge(prometheus.GaugeOpts{
			Name: "muster_autopilot_failure_tolerance",
			Help: "On the leader, the number of servers that may fail without an outage.",
		}),
	}
	a.pilot = autopilot.New(l.raft, application{a},
		autopilot.WithLogger(newRaftLogger(l.config.Logger)),
		autopilot.WithUpdateInterval(c.UpdateInterval),
		autopilot.WithReconcileInterval(c.ReconcileInterval),
		autopilot.WithPromoter(&promoter{}),
	)
	return a
}

// Run works until ctx ends, which is when leadership is lost.
func (a *Autopilot) Run(ctx context.Context) {
	a.pilot.Start(ctx)
	_, done := a.pilot.IsRunning()
	<-ctx.Done()
	<-done
}

// Add takes a server into the cluster, without a vote at first, or records its new
// address. A server with another id at the same address was its predecessor and goes,
// unless the cluster would lose its majority by that.
func (a *Autopilot) Add(id, addr string) error {
	err := a.pilot.AddServer(&autopilot.Server{ID: raft.ServerID(id), Address: raft.ServerAddress(addr)})
	return a.log.leaderError("add server "+id, err)
}

// Remove takes a server out of the cluster. One that isn't there is no error.
func (a *Autopilot) Remove(id string) error {
	return a.log.leaderError("remove server "+id, a.pilot.RemoveServer(raft.ServerID(id)))
}

// Progress is how far this server's log is.
func (l *Log) Progress() Progress {
	p := Progress{LastContact: l.LastContact()}
	if p.LastContact > year { // never
		p.LastContact = -1
	}
	s := l.Standing()
	p.LastTerm, p.LastIndex = s.LastTerm, s.LastIndex
	return p
}

const year = 365 * 24 * time.Hour

// application is the other side of the library: what it asks us.
type application struct{ *Autopilot }

var _ autopilot.ApplicationIntegration = application{}

// AutopilotConfig implements autopilot.ApplicationIntegration.
func (a application) AutopilotConfig() *autopilot.Config {
	s := a.cfg.Settings()
	if s == nil {
		return nil
	}
	return &autopilot.Config{
		CleanupDeadServers: s.CleanupDeadServers, LastContactThreshold: s.LastContactThreshold,
		MaxTrailingLogs: s.MaxTrailingLogs, MinQuorum: uint(s.MinQuorum), ServerStabilizationTime: s.ServerStabilizationTime,
	}
}

// NotifyState implements autopilot.ApplicationIntegration.
func (a application) NotifyState(s *autopilot.State) {
	a.healthy.Set(boolGauge(s.Healthy))
	a.tolerance.Set(float64(s.FailureTolerance))
}

// KnownServers implements autopilot.ApplicationIntegration.
func (a application) KnownServers() map[raft.ServerID]*autopilot.Server {
	leader, _ := a.log.Leader()
	known := make(map[raft.ServerID]*autopilot.Server)
	for _, p := range a.cfg.Peers() {
		s := &autopilot.Server{
			ID: raft.ServerID(p.ID), Name: p.Name, Address: raft.ServerAddress(p.Addr), Version: p.Version,
			NodeStatus: autopilot.NodeStatus(p.Status), Meta: p.Meta, RaftVersion: 3,
			IsLeader: p.ID == leader, NodeType: autopilot.NodeVoter,
		}
		if p.Replica {
			s.NodeType = nodeReplica
		}
		// Two members may have one id while one of them gives way: the living one counts.
		if old := known[s.ID]; old == nil || s.NodeStatus == autopilot.NodeAlive {
			known[s.ID] = s
		}
	}
	return known
}

// FetchServerStats implements autopilot.ApplicationIntegration. A server that does not
// answer in time is told as such: with its last answer it would stay healthy.
func (a application) FetchServerStats(ctx context.Context, servers map[raft.ServerID]*autopilot.Server) map[raft.ServerID]*autopilot.ServerStats {
	var mu sync.Mutex
	stats := make(map[raft.ServerID]*autopilot.ServerStats, len(servers))
	var asked sync.WaitGroup
	for id := range servers {
		asked.Go(func() {
			p := a.progressOf(ctx, string(id))
			mu.Lock()
			defer mu.Unlock()
			stats[id] = &autopilot.ServerStats{LastContact: p.LastContact, LastTerm: p.LastTerm, LastIndex: p.LastIndex}
		})
	}
	asked.Wait()
	return stats
}

func (a *Autopilot) progressOf(ctx context.Context, id string) Progress {
	if id == a.log.config.NodeID {
		return a.log.Progress()
	}
	p, err := a.cfg.Progress(ctx, id)
	if err != nil {
		return Progress{LastContact: -1}
	}
	return p
}

// RemoveFailedServer implements autopilot.ApplicationIntegration.
func (a application) RemoveFailedServer(s *autopilot.Server) {
	a.log.config.Logger.Info("autopilot: removing a dead server", "node", s.Name, "id", string(s.ID), "addr", string(s.Address))
	a.cfg.Forget(Peer{ID: string(s.ID), Name: s.Name, Addr: string(s.Address), Status: PeerStatus(s.NodeStatus)})
}
