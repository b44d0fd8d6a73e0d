package gossip

import (
	"fmt"
	"sync/atomic"

	"github.com/hashicorp/serf/serf"
)

// admission decides whom a pool takes in. Foreign pools are already refused by
// the label; this is about Muster's own agents in the wrong place. It is called
// with memberlist's locks held and must not call back into the pool.
type admission struct {
	wan        bool
	datacenter string
	node       string                      // the own name in the pool
	own        atomic.Pointer[serf.Member] // set once the pool is open
	conflicts  chan<- struct{}             // signaled when others have the own name or id at another address
	identities identities
	rival      atomic.Pointer[party]  // the last other agent with the own name or id
	known      atomic.Bool            // set when another has this agent where it is
	clone      atomic.Pointer[party]  // another living agent with the own id, until it is taken
	namesake   func(own, other party) // told of an agent with the own name at another address
}

// NotifyMerge implements serf.MergeDelegate. serf calls it for joins, with all
// members of the other side, and for each single announcement.
func (a *admission) NotifyMerge(members []*serf.Member) error {
	for _, m := range members {
		if err := a.check(m); err != nil {
			return err
		}
		if a.elsewhere(m) {
			signal(a.conflicts)
		}
		if own := a.own.Load(); own != nil && m.Name == own.Name && m.Addr.Equal(own.Addr) && m.Port == own.Port {
			a.known.Store(true)
		}
	}
	if len(members) == 1 {
		return a.checkID(members[0])
	}
	// Of a whole list one can't tell the living from the dead. What lives in it is
	// announced once more by itself.
	return nil
}

// checkID refuses a member whose node id another living one has.
func (a *admission) checkID(m *serf.Member) error {
	if own := a.own.Load(); own != nil && m.Name != own.Name {
		if other, self := partyOf(m), partyOf(own); other.id == self.id && other.id != "" && other.addr != self.addr {
			a.clone.Store(&other)
			a.rival.Store(&other)
			signal(a.conflicts)
			return clonedID(other, self)
		}
	}
	if holder, taken := a.identities.holder(m); taken {
		return clonedID(partyOf(m), holder)
	}
	return nil
}

func (a *admission) check(m *serf.Member) error {
	role, dc := m.Tags[tagRole], m.Tags[tagDC]
	switch {
	case role != roleServer && role != roleClient:
		return fmt.Errorf("member %q at %s:%d announces the role %q, which is not an agent's", m.Name, m.Addr, m.Port, role)
	case a.wan && role != roleServer:
		return fmt.Errorf("member %q at %s:%d is a client agent: only servers belong to the WAN pool", m.Name, m.Addr, m.Port)
	case a.wan && m.Tags[tagPort] == "", a.wan && dc == "":
		return fmt.Errorf("member %q at %s:%d announces no datacenter or server port", m.Name, m.Addr, m.Port)
	case !a.wan && dc != a.datacenter:
		return fmt.Errorf("member %q at %s:%d is part of datacenter %q, this agent of %q: a LAN pool holds one datacenter; "+
			"correct `datacenter`, or join servers of other datacenters with `join -wan` or `retry_join_wan`",
			m.Name, m.Addr, m.Port, dc, a.datacenter)
	}
	return nil
}

// elsewhere reports whether m is this agent at an address that is not its own: a
// former one, or a namesake's.
func (a *admission) elsewhere(m *serf.Member) bool {
	own := a.own.Load()
	if m.Name != a.node || own == nil || m.Addr.Equal(own.Addr) && m.Port == own.Port {
		return false
	}
	other := partyOf(m)
	a.rival.Store(&other)
	a.namesake(partyOf(own), other)
	return true
}
