package consensus

import (
	"time"

	autopilot "github.com/hashicorp/raft-autopilot"

	"github.com/muster-discovery/muster/internal/model"
)

// AutopilotState is what autopilot knows about the servers.
type AutopilotState struct {
	Healthy          bool
	FailureTolerance int // so many healthy voters may fail without an outage
	Leader           string
	Voters           []string // the leader first, then the healthy, the longest so first
	Servers          map[string]ServerHealth
}

// ServerHealth is one server of an AutopilotState.
type ServerHealth struct {
	Peer
	Progress
	// Role is leader, voter, non-voter, staging or none.
	Role        string
	Healthy     bool
	StableSince time.Time // when Healthy last changed
}

// Voter reports whether the server has a vote.
func (h *ServerHealth) Voter() bool {
	return h.Role == string(autopilot.RaftVoter) || h.Role == string(autopilot.RaftLeader)
}

// State is the newest state. Only the leader has one.
func (a *Autopilot) State() (*AutopilotState, error) {
	if !a.log.IsLeader() {
		return nil, a.log.notLeader()
	}
	s := a.pilot.GetState()
	if s.Leader == "" {
		return nil, model.Errorf(model.KindUnavailable, "the leader has just begun and has not asked all servers yet")
	}
	out := &AutopilotState{Healthy: s.Healthy, FailureTolerance: s.FailureTolerance, Leader: string(s.Leader),
		Voters: []string{}, Servers: make(map[string]ServerHealth, len(s.Servers))}
	for _, id := range s.Voters {
		out.Voters = append(out.Voters, string(id))
	}
	for id, srv := range s.Servers {
		out.Servers[string(id)] = serverHealth(srv)
	}
	return out, nil
}

func serverHealth(srv *autopilot.ServerState) ServerHealth {
	s := &srv.Server
	return ServerHealth{
		Peer: Peer{
			ID: string(s.ID), Name: s.Name, Addr: string(s.Address), Version: s.Version,
			Status: PeerStatus(s.NodeStatus), Replica: s.NodeType == nodeReplica, Meta: s.Meta,
		},
		Progress: Progress{LastContact: srv.Stats.LastContact, LastTerm: srv.Stats.LastTerm, LastIndex: srv.Stats.LastIndex},
		Role:     string(srv.State),
		Healthy:  srv.Health.Healthy, StableSince: srv.Health.StableSince,
	}
}
