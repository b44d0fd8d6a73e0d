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
	conflicts  chan<- struct{}             // signaled when others have the own name at another address
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
	return m.Name == a.node && own != nil && (!m.Addr.Equal(own.Addr) || m.Port != own.Port)
}
