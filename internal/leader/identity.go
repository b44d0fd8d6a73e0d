package leader

import (
	"context"
	"fmt"

	"github.com/muster-discovery/muster/internal/gossip"
	"github.com/muster-discovery/muster/internal/model"
)

// contested are the living members whose node id another living one has, by name, with
// that other one. Gossip refuses such members, but not where two parts of a pool meet
// again. Whom the catalog has keeps the id; the other would otherwise take the node over
// at each reconciliation, and be taken over in turn.
func (l *Leader) contested(members []gossip.Member) map[string]gossip.Member {
	holders := make(map[string]gossip.Member)
	for _, m := range members {
		if m.Status != gossip.StatusAlive || m.ID() == "" {
			continue
		}
		if _, taken := holders[m.ID()]; !taken || l.hasNode(m) {
			holders[m.ID()] = m
		}
	}
	var out map[string]gossip.Member
	for _, m := range members {
		h, ok := holders[m.ID()]
		if !ok || m.Status != gossip.StatusAlive || h.Name == m.Name {
			continue
		}
		if out == nil {
			out = make(map[string]gossip.Member)
		}
		out[m.Name] = h
	}
	l.tellContested(members, out)
	return out
}

func (l *Leader) hasNode(m gossip.Member) bool {
	n := l.cfg.Catalog.Node(m.Name)
	return n != nil && n.ID == m.ID()
}

// tellContested logs each conflict once, for as long as it lasts.
func (l *Leader) tellContested(members []gossip.Member, contested map[string]gossip.Member) {
	for _, m := range members {
		h, ok := contested[m.Name]
		if !ok || l.told[m.Name] == h.Name {
			continue
		}
		l.cfg.Logger.Error("two living members have one node id: the second one is left out of the catalog", "id", m.ID(),
			"node", h.Name, "addr", h.Addr, "peer", m.Name, "peer_addr", m.Addr,
			"remedy", "if the first one is the same machine under its old name, it will be seen to have failed within seconds; "+
				"else a disk was copied: stop one of the two, remove the file node-id in its data dir, and start it again")
	}
	l.told = make(map[string]string, len(contested))
	for name, h := range contested {
		l.told[name] = h.Name
	}
}

// takeOver clears the way for a member whose name another node id had: the machine was
// rebuilt. Gossip has one living member of a name, so the predecessor is gone, and what
// was registered there went with its disk.
func (l *Leader) takeOver(ctx context.Context, m gossip.Member) error {
	old := l.cfg.Catalog.Node(m.Name)
	if old == nil || old.ID == "" || m.ID() == "" || old.ID == m.ID() || !l.isAgent(m.Name) {
		return nil
	}
	l.cfg.Logger.Warn("a node came back with another id, and takes the place of its predecessor", "node", m.Name,
		"id", m.ID(), "addr", m.Addr, "old_id", old.ID, "old_addr", old.Address)
	if err := l.replaceServer(old.ID, m); err != nil {
		return err
	}
	return l.cfg.Writer.Deregister(ctx, &model.Deregistration{Datacenter: l.cfg.Datacenter, Node: old.Name})
}

// replaceServer takes the predecessor of a server out of the cluster, unless too few of
// the others live to go on without it.
func (l *Leader) replaceServer(old string, m gossip.Member) error {
	servers := l.cfg.Servers.Servers()
	if _, ok := servers[old]; !ok {
		return nil
	}
	alive := 0
	for _, o := range l.cfg.Members() {
		if _, ok := servers[o.ID()]; ok && o.ID() != old && o.Status == gossip.StatusAlive {
			alive++
		}
	}
	if rest := len(servers) - 1; 2*alive <= rest {
		return fmt.Errorf("server %q (id %s, %s) takes the place of the one with id %s, but only %d of the other %d servers live: "+
			"start more of them, or recover the cluster with peers.json", m.Name, m.ID(), m.Addr, old, alive, rest)
	}
	if err := l.cfg.Servers.Remove(old); err != nil {
		return fmt.Errorf("remove the predecessor of server %q: %w", m.Name, err)
	}
	return nil
}
