package agent

import (
	"context"
	"sync"
	"time"

	"github.com/muster-discovery/muster/internal/consensus"
	"github.com/muster-discovery/muster/internal/gossip"
)

// followMembers passes on that members changed, and begins a cluster once enough
// servers know each other.
func (s *server) followMembers(ctx context.Context) error {
	again := time.NewTimer(0)
	defer again.Stop()
	for {
		select {
		case <-again.C:
			if s.tryBootstrap(ctx) {
				again.Reset(bootstrapPause)
			}
		case e, ok := <-s.pools.Events():
			if !ok {
				<-ctx.Done()
				return nil
			}
			if e.WAN {
				continue
			}
			if e.Type == gossip.EventJoined {
				s.pool.Hint(e.Member.ID())
			}
			select {
			case s.changed <- struct{}{}:
			default: // the signal that waits is about the same list
			}
			again.Reset(0)
		case <-ctx.Done():
			return nil
		}
	}
}

// tryBootstrap gives a new cluster its first servers once as many are there as
// bootstrap_expect says. Every one of them does so with the same list. A server
// that finds a cluster already running waits to be added to it instead. It returns true
// if a peer could not be asked yet: it may be part of a cluster that lost this server's
// predecessor, and a second one must not begin beside it.
func (s *server) tryBootstrap(ctx context.Context) (again bool) {
	expect := s.cfg.Server.BootstrapExpect
	if expect < 2 || s.raft.HasState() {
		return false
	}
	var first []consensus.Server
	for _, m := range s.pools.Members(false) {
		if !m.Server() || m.Datacenter() != s.cfg.Node.Datacenter || m.Status != gossip.StatusAlive {
			continue
		}
		if m.Tags["expect"] == "" {
			s.log.Info("a server without bootstrap_expect is there: waiting to be added to its cluster", "node", m.Name)
			return false
		}
		if m.Replica() {
			continue // it is added once there is a leader, and never votes
		}
		first = append(first, consensus.Server{ID: m.ID(), Addr: m.ServerAddr(), Voter: true})
	}
	if len(first) < expect {
		s.log.Debug("waiting for servers", "count", len(first), "expect", expect)
		return false
	}
	for _, peer := range first {
		if peer.ID == s.nodeID {
			continue
		}
		belongs, err := s.belongsToACluster(ctx, peer.ID)
		if err != nil {
			s.log.Info("a peer does not answer yet: waiting with the beginning of a cluster", "peer", peer.ID, "addr", peer.Addr, "err", err)
			return true
		}
		if belongs {
			s.log.Info("a peer belongs to a running cluster: waiting to be added to it", "peer", peer.ID)
			return false
		}
	}
	if err := s.raft.Bootstrap(first); err != nil {
		s.log.Error("cannot begin a cluster", "err", err)
		return false
	}
	s.log.Info("began a cluster", "count", len(first))
	return false
}

// bootstrapPause is between two questions to a peer that does not answer.
const bootstrapPause = 250 * time.Millisecond

// belongsToACluster asks a peer.
func (s *server) belongsToACluster(ctx context.Context, id string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	identity, err := s.pool.Identity(ctx, id)
	return identity.HasState, err
}

// followLeadership does the leader's duties while this server leads.
func (s *server) followLeadership(ctx context.Context) error {
	stop := func() {}
	defer func() { stop() }()
	changes := s.raft.LeaderChanges()
	leading := false
	drain(s.restored) // by a snapshot of its own, at the start
	for {
		select {
		case <-s.restored:
			if leading { // all that the duties know is about another state
				stop()
				stop = s.lead(ctx)
			}
		case leads, ok := <-changes:
			if !ok {
				changes = nil // consensus has stopped; so will this part
				continue
			}
			stop()
			stop, leading = func() {}, leads
			if leads {
				stop = s.lead(ctx)
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// lead starts the leader's duties and returns what ends and awaits them.
func (s *server) lead(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	began := make(chan struct{})
	var duties sync.WaitGroup
	duties.Go(func() {
		s.leader.Run(ctx, func() {
			s.cluster.established.Store(true)
			s.log.Info("leader: duties have begun")
			close(began)
		})
	})
	duties.Go(func() {
		select {
		case <-began: // its configuration is there
			s.pilot.Run(ctx)
		case <-ctx.Done():
		}
	})
	return func() {
		s.cluster.established.Store(false)
		cancel()
		duties.Wait()
	}
}
