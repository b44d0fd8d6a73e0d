package model

import "time"

// Registration is the write that creates or updates a node, and with it at most
// one service and any number of checks. It is one transaction.
type Registration struct {
	Datacenter     string
	Node           Node
	SkipNodeUpdate bool // an existing node is left as it is
	Service        *Service
	Checks         []*Check
}

// Deregistration removes a check (CheckID set), a service with its checks
// (ServiceID set), or a node with everything on it.
type Deregistration struct {
	Datacenter string
	Node       string
	ServiceID  string
	CheckID    string
}

// CARootSet replaces the set of mesh roots. If ExpectIndex is not nil the write
// is refused with KindConflict unless the set's index is still that one.
type CARootSet struct {
	ClusterID   string
	Roots       []*CARoot
	ExpectIndex *uint64
}

// CommandMeta accompanies every command from log format 1 on: the state machine
// reads no clock and asks no one, so what history, audit and de-duplication need
// travels with the write.
type CommandMeta struct {
	RequestID  [16]byte  // chosen by the proposer; a repeated command is answered from the table of recent ids
	Time       time.Time // the proposer's clock
	Datacenter string
	Accessor   string // id of the token used, never its secret
	Source     string // "http", "anti-entropy", "leader", ... for history and audit
}

// Sources that the state machine tells apart: an agent may not take a living node over,
// the leader may, which knows from gossip that it has a new name.
const (
	SourceAgent  = "anti-entropy"
	SourceLeader = "leader"
)
