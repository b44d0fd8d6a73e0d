package consensus

import (
	"cmp"
	"slices"
	"time"

	"github.com/hashicorp/raft"
	autopilot "github.com/hashicorp/raft-autopilot"
)

// nodeReplica is the type of servers that never vote.
const nodeReplica autopilot.NodeType = "read-replica"

// promoter decides who votes and which dead servers go. It differs from the library's
// in two ways: read replicas never vote, and a dead server is removed only where that
// makes the cluster withstand more failures. One that merely restarts would otherwise
// lose its place within seconds, and of three servers the two that are left withstand
// no more without it than with it.
type promoter struct{ autopilot.StablePromoter }

var _ autopilot.Promoter = (*promoter)(nil)

// GetNodeTypes implements autopilot.Promoter.
func (*promoter) GetNodeTypes(_ *autopilot.Config, s *autopilot.State) map[raft.ServerID]autopilot.NodeType {
	types := make(map[raft.ServerID]autopilot.NodeType, len(s.Servers))
	for id, srv := range s.Servers {
		types[id] = cmp.Or(srv.Server.NodeType, autopilot.NodeVoter)
	}
	return types
}

// CalculatePromotionsAndDemotions implements autopilot.Promoter.
func (p *promoter) CalculatePromotionsAndDemotions(c *autopilot.Config, s *autopilot.State) autopilot.RaftChanges {
	isReplica := func(id raft.ServerID) bool { return s.Servers[id].Server.NodeType == nodeReplica }
	changes := p.StablePromoter.CalculatePromotionsAndDemotions(c, s)
	changes.Promotions = slices.DeleteFunc(changes.Promotions, isReplica)
	slices.Sort(changes.Promotions)
	for _, id := range s.Voters {
		// Became one while it voted. A leader goes on: it would have to give up first.
		if isReplica(id) && id != s.Leader {
			changes.Demotions = append(changes.Demotions, id)
		}
	}
	return changes
}

// staleGrace is how long a voter may be unknown to gossip before it is removed: after a
// restart of all servers gossip may need a while to find everybody again.
const staleGrace = 30 * time.Second

// FilterFailedServerRemovals implements autopilot.Promoter.
func (*promoter) FilterFailedServerRemovals(c *autopilot.Config, s *autopilot.State, f *autopilot.FailedServers) *autopilot.FailedServers {
	known := func(id raft.ServerID) bool {
		srv := s.Servers[id]
		return srv == nil || srv.Health.Healthy || time.Since(srv.Health.StableSince) < staleGrace
	}
	f.StaleVoters = slices.DeleteFunc(f.StaleVoters, known)
	f.StaleNonVoters = slices.DeleteFunc(f.StaleNonVoters, known)
	voters, alive := census(s, f)
	f.StaleVoters = limit(f.StaleVoters, voters-int(c.MinQuorum))
	f.FailedVoters = limit(f.FailedVoters, removable(alive, len(f.FailedVoters)))
	return f
}

// census counts the servers with a vote, and those that live and have or will get one.
// The failed ones are newer than the state.
func census(s *autopilot.State, f *autopilot.FailedServers) (voters, alive int) {
	failed := make(map[raft.ServerID]bool)
	for _, srv := range slices.Concat(f.FailedVoters, f.FailedNonVoters) {
		failed[srv.ID] = true
	}
	for id, srv := range s.Servers {
		if srv.HasVotingRights() {
			voters++
		}
		if !failed[id] && srv.Server.NodeStatus == autopilot.NodeAlive && srv.Server.NodeType != nodeReplica {
			alive++
		}
	}
	return voters, alive
}

// removable is how many of the dead voters have to go for the living to withstand as
// many failures as they can; 0 if their removal gains nothing.
func removable(alive, dead int) int {
	best, most := 0, tolerance(alive, alive+dead)
	for k := 1; k <= dead; k++ {
		if t := tolerance(alive, alive+dead-k); t > most {
			best, most = k, t
		}
	}
	return best
}

// tolerance is how many of the living voters may fail before the majority is lost.
func tolerance(alive, voters int) int { return alive - (voters/2 + 1) }

func limit[T any](list []T, n int) []T { return list[:min(len(list), max(n, 0))] }
