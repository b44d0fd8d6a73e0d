package consensus

import (
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"
)

// changeTimeout bounds how long a change of the servers waits for the one before
// it to be committed.
const changeTimeout = 10 * time.Second

// Server is a member of the cluster's configuration.
type Server struct {
	ID    string
	Addr  string // recorded when it joined; see Config.AddressOf
	Voter bool
}

// Bootstrap gives a new cluster its first servers. Each of them may call it, with
// the same list; one that has state already ignores it.
func (l *Log) Bootstrap(servers []Server) error {
	configuration := raft.Configuration{}
	for _, s := range servers {
		configuration.Servers = append(configuration.Servers, s.raftServer())
	}
	err := l.raft.BootstrapCluster(configuration).Error()
	if err != nil && !errors.Is(err, raft.ErrCantBootstrap) {
		return fmt.Errorf("bootstrap cluster: %w", err)
	}
	if err == nil && l.novice != nil {
		l.novice.caughtUp()
	}
	return l.hurry()
}

func (s Server) raftServer() raft.Server {
	suffrage := raft.Nonvoter
	if s.Voter {
		suffrage = raft.Voter
	}
	return raft.Server{ID: raft.ServerID(s.ID), Address: raft.ServerAddress(s.Addr), Suffrage: suffrage}
}

// HasState reports whether this server has ever been part of a cluster.
func (l *Log) HasState() bool { return l.raft.LastIndex() > 0 }

// tellStranger warns of a server whose log is another one's: its node id was changed.
func (l *Log) tellStranger() {
	servers := l.Servers()
	ids := make([]string, len(servers))
	for i, s := range servers {
		if ids[i] = s.ID; s.ID == l.config.NodeID {
			return
		}
	}
	if len(ids) == 0 {
		return
	}
	l.config.Logger.Warn("this server is not among the servers of its own log: it waits to be taken in by their leader", "id", l.config.NodeID,
		"servers", ids, "remedy", "if it is the only server, give it its former node_id back, or recover the cluster with peers.json")
}

// HasBegun reports whether this server was part of a cluster that had a leader: it has
// more than the first servers' names. Until then they begin the cluster together, and
// none of them may wait for another to do it.
func (l *Log) HasBegun() bool { return l.raft.LastIndex() > 1 }

// RequireLeader is nil on the leader, and else says who leads.
func (l *Log) RequireLeader() error {
	if l.IsLeader() {
		return nil
	}
	return l.notLeader()
}

// RemoveServer removes a server. One that isn't there is no error.
func (l *Log) RemoveServer(id string) error {
	err := l.raft.RemoveServer(raft.ServerID(id), 0, changeTimeout).Error()
	return l.leaderError("remove server "+id, err)
}

// Servers is the latest configuration, which may not be committed yet.
func (l *Log) Servers() []Server {
	configuration := l.raft.GetConfiguration().Configuration()
	servers := make([]Server, 0, len(configuration.Servers))
	for _, s := range configuration.Servers {
		servers = append(servers, Server{ID: string(s.ID), Addr: string(s.Address), Voter: s.Suffrage == raft.Voter})
	}
	return servers
}
