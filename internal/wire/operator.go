package wire

// RaftConfiguration is who takes part in consensus.
type RaftConfiguration struct {
	Servers []RaftServer
	Index   uint64 // always 0, as clients know it
}

// RaftServer is one of them.
type RaftServer struct {
	ID              string
	Node            string // "(unknown)" if gossip doesn't know the server
	Address         string
	Leader          bool
	ProtocolVersion string
	Voter           bool
	// LastIndex is the last index of the server's log: on the leader a moment old,
	// elsewhere this server's own, and 0 for others.
	LastIndex uint64
}
