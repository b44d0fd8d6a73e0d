package agent

import (
	"context"
	"strings"

	"github.com/muster-discovery/muster/internal/config"
	"github.com/muster-discovery/muster/internal/consensus"
	"github.com/muster-discovery/muster/internal/gossip"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/rpc"
)

// newAutopilot joins autopilot to the state, to gossip and to the other servers.
func (s *server) newAutopilot() *consensus.Autopilot {
	return s.raft.NewAutopilot(consensus.AutopilotConfig{
		Settings: func() *model.Autopilot { return s.store.Snapshot().Autopilot() },
		Peers:    s.serverPeers,
		Progress: func(ctx context.Context, id string) (consensus.Progress, error) {
			st, err := s.pool.ServerStats(ctx, id)
			return consensus.Progress{LastContact: st.LastContact, LastTerm: st.LastTerm, LastIndex: st.LastIndex}, err
		},
		Forget: func(p consensus.Peer) {
			// It takes about a second until the word has spread. The leader removes
			// the server's vote and its node when it hears of it.
			if err := s.pools.ForceLeave(p.Name, false); err != nil {
				s.log.Warn("cannot declare a dead server to have left", "node", p.Name, "err", err)
			}
		},
	})
}

// serverPeers are the servers of this datacenter as gossip knows them.
func (s *server) serverPeers() []consensus.Peer {
	var peers []consensus.Peer
	catalog := s.store.Snapshot()
	for _, m := range s.members() {
		if !m.Server() || m.ID() == "" || m.Datacenter() != s.cfg.Node.Datacenter {
			continue
		}
		version, _, _ := strings.Cut(m.Tags["build"], ":")
		p := consensus.Peer{ID: m.ID(), Name: m.Name, Addr: m.ServerAddr(), Version: version,
			Status: peerStatus(m.Status), Replica: m.Replica()}
		if n := catalog.Node(m.Name); n != nil && n.Meta != nil {
			p.Meta = n.Meta
		} else { // its agent has not written it yet; this much gossip knows
			p.Meta = map[string]string{"consul-network-segment": "", "consul-version": version}
		}
		peers = append(peers, p)
	}
	return peers
}

// peerStatus: one that is leaving has not left yet.
func peerStatus(s gossip.Status) consensus.PeerStatus {
	switch s {
	case gossip.StatusAlive, gossip.StatusLeaving:
		return consensus.PeerAlive
	case gossip.StatusLeft:
		return consensus.PeerLeft
	}
	return consensus.PeerFailed
}

// stats are what other servers judge this one's health by.
func (s *server) stats() rpc.ServerStats {
	p := s.raft.Progress()
	return rpc.ServerStats{LastContact: p.LastContact, LastTerm: p.LastTerm, LastIndex: p.LastIndex}
}

// autopilotSeed is what the configuration files say a new cluster begins with.
func autopilotSeed(cfg *config.Config) model.Autopilot {
	c := cfg.Autopilot
	return model.Autopilot{
		CleanupDeadServers: c.CleanupDeadServers, LastContactThreshold: c.LastContactThreshold,
		MaxTrailingLogs: uint64(max(c.MaxTrailingLogs, 0)), MinQuorum: uint64(max(c.MinQuorum, 0)),
		ServerStabilizationTime: c.ServerStabilizationTime,
	}
}

// members is who takes part in consensus, as the leader's duties use it.
type members struct {
	log   *consensus.Log
	pilot *consensus.Autopilot
}

func (v members) Servers() map[string]string {
	list := make(map[string]string)
	for _, s := range v.log.Servers() {
		list[s.ID] = s.Addr
	}
	return list
}

func (v members) Add(id, addr string) error { return v.pilot.Add(id, addr) }
func (v members) Remove(id string) error    { return v.pilot.Remove(id) }
