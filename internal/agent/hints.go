package agent

import (
	"context"
	"net"
	"time"

	"github.com/muster-discovery/muster/internal/apply"
	"github.com/muster-discovery/muster/internal/consensus"
	"github.com/muster-discovery/muster/internal/failover"
	"github.com/muster-discovery/muster/internal/gossip"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/rpc"
	"github.com/muster-discovery/muster/internal/telemetry"
)

// newHints makes this server's part in acting on connections that end.
func (s *server) newHints(resolve func(id string) (string, error), tel *telemetry.Telemetry) *failover.Hints {
	return failover.New(failover.Config{
		Self: s.nodeID, Name: s.cfg.Node.Name,
		Raft: standing{s.raft, s.nodeID}, Listener: s.mux.Listener(rpc.KindHint),
		Dial: dialHint, Resolve: resolve,
		Members: s.members, Knock: gossip.Knock, Ping: s.pools.Ping, Changed: s.membersChanged, Reached: s.pool.Hint,
		Logger: tel.Logger("failover"), Registry: tel.Registry(),
	})
}

// newHold makes a client agent's part: a connection whose end tells that it is gone.
func (c *client) newHold(tel *telemetry.Telemetry) *failover.Hold {
	return failover.NewHold(failover.HoldConfig{
		ID: c.nodeID, Name: c.cfg.Node.Name, Dial: dialHint, Servers: c.serverAddrs, Logger: tel.Logger("failover"),
	})
}

// serverAddrs are the ports of the datacenter's servers that gossip thinks alive.
func (n *node) serverAddrs() []string {
	var addrs []string
	for _, m := range n.members() {
		if m.Server() && m.Status == gossip.StatusAlive && m.Datacenter() == n.cfg.Node.Datacenter {
			addrs = append(addrs, m.ServerAddr())
		}
	}
	return addrs
}

// withdrawTimeout bounds how long an agent that leaves tries to take its node out of
// the catalog by itself. If it can't, the leader does once gossip tells of the leave.
const withdrawTimeout = time.Second

// withdraw takes this agent's node out of the catalog, so that nobody is sent to it any
// more, before gossip spreads that it leaves. The servers were told, and don't bring
// it back.
func (n *node) withdraw(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, withdrawTimeout)
	defer cancel()
	if _, err := n.apply.Deregister(ctx, asLeaving, &model.Deregistration{Node: n.cfg.Node.Name}); err != nil {
		n.log.Warn("cannot take this node out of the catalog; the leader will", "err", err)
		return
	}
	n.log.Debug("took this node out of the catalog")
}

var asLeaving = apply.Caller{Source: "leave"}

// dialHint connects to a server's port to hold the connection.
func dialHint(ctx context.Context, addr string) (net.Conn, error) {
	var d rpc.Dialer
	return d.Dial(ctx, addr, rpc.KindHint)
}

// membersChanged has the leader's duties look at the members again.
func (s *server) membersChanged() {
	select {
	case s.changed <- struct{}{}:
	default: // the signal that waits is about the same list
	}
}

// standing implements failover.Raft.
type standing struct {
	log  *consensus.Log
	self string
}

func (r standing) Standing() failover.Standing {
	s := r.log.Standing()
	out := failover.Standing{
		Leader: s.Leader, Follower: s.Follower, Candidate: s.Candidate, Term: s.Term,
		LastTerm: s.LastTerm, LastIndex: s.LastIndex,
	}
	for _, p := range r.log.Servers() {
		if p.Voter {
			out.Voters = append(out.Voters, p.ID)
		}
	}
	return out
}

func (r standing) Peers() []string {
	var ids []string
	for _, p := range r.log.Servers() {
		if p.ID != r.self {
			ids = append(ids, p.ID)
		}
	}
	return ids
}

func (r standing) Stand() error                   { return r.log.Stand() }
func (r standing) LeaderChanged() <-chan struct{} { return r.log.LeaderChanged() }
