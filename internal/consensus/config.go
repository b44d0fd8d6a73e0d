package consensus

import (
	"errors"
	"log/slog"
	"time"

	"github.com/hashicorp/raft"
	"github.com/prometheus/client_golang/prometheus"
)

// Config are the settings of a Log. Zero values take the defaults given here.
type Config struct {
	// NodeID is the server's identity in the cluster, for all time.
	NodeID string
	// Dir holds log and snapshots; empty: everything is kept in memory, and a
	// restart forgets it, so only for clusters that live and die as one process.
	Dir string
	// Bootstrap makes a new server a cluster of its own. Ignored once there is state.
	Bootstrap bool
	// Stream carries Raft's connections. Its Addr is the address that the
	// configuration records for this server. Nil: no peers, in memory.
	Stream raft.StreamLayer
	// AddressOf gives a server's current address whenever it is dialed, so that
	// servers may come back under new ones. If it is nil or fails, the recorded
	// address is used.
	AddressOf func(serverID string) (string, error)
	Logger    *slog.Logger
	Registry  prometheus.Registerer // nil: metrics go nowhere

	// Multiplier scales the timeouts below, as raft_multiplier does. Default 1.
	Multiplier int
	// HeartbeatTimeout and ElectionTimeout are how long a follower waits for a
	// leader and a candidate for votes. Default 300 ms: no false election in three
	// minutes on two cores under four times their load, and a lost machine costs
	// about 0.6 s of writes.
	HeartbeatTimeout time.Duration
	ElectionTimeout  time.Duration
	// LeaderLease is how long a leader goes on without hearing from a majority.
	// Default 150 ms; must not exceed HeartbeatTimeout.
	LeaderLease time.Duration
	// CommitTimeout is how soon an idle leader tells followers what is committed.
	// Default 50 ms.
	CommitTimeout time.Duration

	// SnapshotThreshold is the number of entries after which a snapshot is taken,
	// looked at every SnapshotInterval; TrailingEntries stay in the log behind it
	// for followers that lag. Defaults 16384, 30 s, 10240.
	SnapshotThreshold uint64
	SnapshotInterval  time.Duration
	TrailingEntries   uint64
	// SnapshotBytes is the size of entries after which a snapshot is taken at once,
	// and the most that it leaves in the log. Default 64 MiB: some 130,000 registrations,
	// which a restart applies in about two seconds.
	SnapshotBytes int64

	// MaxCommand is the largest command that is accepted. Default 1 MiB: an entry
	// must reach the followers well within a heartbeat.
	MaxCommand int
	// Queue is how many commands may wait for their entry; more wait outside, for
	// as long as their context lasts. Default 4096.
	Queue int
	// SegmentSize is the size of the log's files. Default 4 MiB.
	SegmentSize int64
	// MakeRoom is asked when the disk is full; true: there is some space now. Optional.
	MakeRoom func() bool

	// transport takes the place of Stream in tests.
	transport raft.Transport
}

func (c Config) withDefaults() Config {
	orDefault(&c.Multiplier, 1)
	orDefault(&c.HeartbeatTimeout, 300*time.Millisecond)
	orDefault(&c.ElectionTimeout, c.HeartbeatTimeout)
	orDefault(&c.LeaderLease, c.HeartbeatTimeout/2)
	orDefault(&c.CommitTimeout, 50*time.Millisecond)
	orDefault(&c.SnapshotThreshold, 16384)
	orDefault(&c.SnapshotInterval, 30*time.Second)
	orDefault(&c.TrailingEntries, 10240)
	orDefault(&c.SnapshotBytes, 64<<20)
	orDefault(&c.MaxCommand, 1<<20)
	orDefault(&c.Queue, 4096)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

func orDefault[T comparable](v *T, value T) {
	var zero T
	if *v == zero {
		*v = value
	}
}

func (c *Config) raftConfig(notify chan<- bool) (*raft.Config, error) {
	if c.NodeID == "" {
		return nil, errors.New("consensus: the node id is empty")
	}
	rc := raft.DefaultConfig()
	rc.LocalID = raft.ServerID(c.NodeID)
	rc.HeartbeatTimeout = c.HeartbeatTimeout * time.Duration(c.Multiplier)
	rc.ElectionTimeout = c.ElectionTimeout * time.Duration(c.Multiplier)
	rc.LeaderLeaseTimeout = c.LeaderLease * time.Duration(c.Multiplier)
	rc.CommitTimeout = c.CommitTimeout
	rc.SnapshotThreshold = c.SnapshotThreshold
	rc.SnapshotInterval = c.SnapshotInterval
	rc.TrailingLogs = c.TrailingEntries
	// Entries that become ready while the disk is busy share the next fsync. Close
	// makes sure that none is left behind in the buffer.
	rc.BatchApplyCh = true
	// A server that was removed stays up and can be added again.
	rc.ShutdownOnRemove = false
	rc.NotifyCh = notify
	rc.Logger = newRaftLogger(c.Logger)
	rc.NoLegacyTelemetry = true
	return rc, raft.ValidateConfig(rc)
}
