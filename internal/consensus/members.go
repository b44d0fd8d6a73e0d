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

// AddVoter adds a server, or records its new address.
func (l *Log) AddVoter(id, addr string) error {
	err := l.raft.AddVoter(raft.ServerID(id), raft.ServerAddress(addr), 0, changeTimeout).Error()
	return l.leaderError("add server "+id, err)
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
