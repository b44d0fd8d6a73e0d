package agent

import (
	"fmt"
	"strconv"

	"github.com/muster-discovery/muster/internal/gossip"
	"github.com/muster-discovery/muster/internal/wire"
)

// accusations are what this agent saw of agents that held others for dead.
func (a *Agent) accusations() []wire.Accusation {
	list := []wire.Accusation{}
	for _, x := range a.node.pools.Accusations() {
		list = append(list, wire.Accusation{Time: x.Time.UTC(), Accuser: x.Accuser, Accused: x.Accused, Kind: string(x.Kind),
			Confirmations: x.Confirmations, WAN: x.WAN})
	}
	return list
}

// comesBack says why what was removed from the catalog may be there again soon; empty
// if nothing speaks for it. service is empty for the whole node.
func (a *Agent) comesBack(node, service string) string {
	own := sameNode(node, a.cfg.Node.Name)
	if own && service != "" {
		if _, held := a.local.Service(service); !held {
			return ""
		}
		return fmt.Sprintf("this agent still holds the service and registers it again within about a minute: remove it with PUT /v1/agent/service/deregister/%s", quoted(service))
	}
	for _, m := range a.node.members() {
		switch {
		case !sameNode(m.Name, node) || m.Status != gossip.StatusAlive:
		case service == "":
			return fmt.Sprintf("the node is a living agent, which registers itself again within about a minute: let it leave, with PUT /v1/agent/leave at %s", m.Addr)
		default:
			return fmt.Sprintf("the node has a living agent, which within about a minute registers again what it holds: if the service is its own, "+
				"remove it there, with PUT /v1/agent/service/deregister/%s at %s", quoted(service), m.Addr)
		}
	}
	return ""
}

// quoted is safe in a header: ids are free.
func quoted(id string) string {
	q := strconv.QuoteToASCII(id)
	return q[1 : len(q)-1]
}
