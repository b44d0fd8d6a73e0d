package gossip

import (
	"cmp"
	"net"
	"slices"

	"github.com/hashicorp/serf/serf"
)

// Status is a member's state. The numbers are serf's and clients see them.
type Status int

const (
	StatusNone    Status = 0
	StatusAlive   Status = 1
	StatusLeaving Status = 2
	StatusLeft    Status = 3
	StatusFailed  Status = 4
)

// String is the word that `members` prints.
func (s Status) String() string {
	if s < StatusNone || s > StatusFailed {
		return "unknown"
	}
	return serf.MemberStatus(s).String()
}

// Member is one agent as a pool knows it. Tags are shared with other copies of
// the value: read, don't write.
type Member struct {
	Name   string
	Addr   string
	Port   uint16
	Tags   map[string]string
	Status Status

	ProtocolMin, ProtocolMax, ProtocolCur uint8 // memberlist's
	DelegateMin, DelegateMax, DelegateCur uint8 // serf's
}

// ID is the member's node id, empty if it announces none.
func (m *Member) ID() string { return m.Tags[tagID] }

// Datacenter is the datacenter that the member announces.
func (m *Member) Datacenter() string { return m.Tags[tagDC] }

// Server reports whether the member is a server.
func (m *Member) Server() bool { return m.Tags[tagRole] == roleServer }

// Replica reports whether the member is a server that never votes.
func (m *Member) Replica() bool { return m.Tags[tagReplica] != "" || m.Tags[tagNonvoter] != "" }

// ServerAddr is the address of a server's RPC port, empty for client agents.
func (m *Member) ServerAddr() string {
	if !m.Server() || m.Tags[tagPort] == "" {
		return ""
	}
	return net.JoinHostPort(m.Addr, m.Tags[tagPort])
}

func fromSerf(m serf.Member) Member {
	return Member{
		Name: m.Name, Addr: m.Addr.String(), Port: m.Port, Tags: m.Tags, Status: Status(m.Status),
		ProtocolMin: m.ProtocolMin, ProtocolMax: m.ProtocolMax, ProtocolCur: m.ProtocolCur,
		DelegateMin: m.DelegateMin, DelegateMax: m.DelegateMax, DelegateCur: m.DelegateCur,
	}
}

func sortedMembers(in []serf.Member) []Member {
	out := make([]Member, 0, len(in))
	for _, m := range in {
		out = append(out, fromSerf(m))
	}
	slices.SortFunc(out, func(a, b Member) int { return cmp.Compare(a.Name, b.Name) })
	return out
}
