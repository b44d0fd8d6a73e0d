package agent

import (
	"context"
	"time"

	"github.com/muster-discovery/muster/internal/consensus"
	"github.com/muster-discovery/muster/internal/gossip"
)

// followMembers passes on that members changed, and begins a cluster once enough
// servers know each other.
func (s *server) followMembers(ctx context.Context) error {
	s.tryBootstrap(ctx)
	for {
		select {
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
			s.tryBootstrap(ctx)
		case <-ctx.Done():
			return nil
		}
	}
}

// tryBootstrap gives a new cluster its first servers once as many are there as
// bootstrap_expect says. Every one of them does so with the same list. A server
// that finds a cluster already running waits to be added to it instead.
func (s *server) tryBootstrap(ctx context.Context) {
	expect := s.cfg.Server.BootstrapExpect
	if expect < 2 || s.raft.HasState() {
		return
	}
	var first []consensus.Server
	for _, m := range s.pools.Members(false) {
		if !m.Server() || m.Datacenter() != s.cfg.Node.Datacenter || m.Status != gossip.StatusAlive {
			continue
		}
		if m.Tags["expect"] == "" {
			s.log.Info("a server without bootstrap_expect is there: waiting to be added to its cluster", "node", m.Name)
			return
		}
		first = append(first, consensus.Server{ID: m.ID(), Addr: m.ServerAddr(), Voter: true})
	}
	if len(first) < expect {
		s.log.Debug("waiting for servers", "count", len(first), "expect", expect)
		return
	}
	for _, peer := range first {
		if peer.ID == s.nodeID {
			continue
		}
		if s.belongsToACluster(ctx, peer.ID) {
			s.log.Info("a peer belongs to a running cluster: waiting to be added to it", "peer", peer.ID)
			return
		}
	}
	if err := s.raft.Bootstrap(first); err != nil {
		s.log.Error("cannot begin a cluster", "err", err)
		return
	}
	s.log.Info("began a cluster", "count", len(first))
}

// belongsToACluster asks a peer. One that can't be asked counts as new: if it
// is not, its vote and its log will tell.
func (s *server) belongsToACluster(ctx context.Context, id string) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	identity, err := s.pool.Identity(ctx, id)
	return err == nil && identity.HasState
}

// join looks for the other agents until one answers.
func (s *server) join(ctx context.Context) error {
	lan := append(append([]string{}, s.cfg.Join.StartLAN...), s.cfg.Join.RetryLAN...)
	if len(lan) > 0 {
		err := s.pools.RetryJoin(ctx, gossip.RetryConfig{Addrs: lan, Interval: s.cfg.Join.RetryIntervalLAN, MaxAttempts: s.cfg.Join.RetryMaxLAN})
		if err != nil && ctx.Err() == nil {
			return err // retry_max is an order to give up
		}
	}
	wan := append(append([]string{}, s.cfg.Join.StartWAN...), s.cfg.Join.RetryWAN...)
	if len(wan) > 0 {
		err := s.pools.RetryJoin(ctx, gossip.RetryConfig{Addrs: wan, WAN: true, Interval: s.cfg.Join.RetryIntervalWAN, MaxAttempts: s.cfg.Join.RetryMaxWAN})
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
	<-ctx.Done()
	return nil
}

// followLeadership does the leader's duties while this server leads.
func (s *server) followLeadership(ctx context.Context) error {
	stop := func() {}
	defer func() { stop() }()
	changes := s.raft.LeaderChanges()
	for {
		select {
		case leads, ok := <-changes:
			if !ok {
				changes = nil // consensus has stopped; so will this part
				continue
			}
			stop()
			stop = func() {}
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
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.leader.Run(ctx, func() {
			s.cluster.established.Store(true)
			s.log.Info("leader: duties have begun")
		})
	}()
	return func() {
		s.cluster.established.Store(false)
		cancel()
		<-done
	}
}

// leaderPoll is how soon a new leader is noticed. Nothing waits on it but the
// repair of what could not be written without a leader.
const leaderPoll = 50 * time.Millisecond

// onLeader calls back each time that a leader appears or another one takes over.
func (s *server) onLeader(ctx context.Context, changed func()) {
	tick := time.NewTicker(leaderPoll)
	defer tick.Stop()
	last := ""
	for {
		if addr := s.cluster.leaderAddr(); addr != last {
			last = addr
			if addr != "" {
				changed()
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
