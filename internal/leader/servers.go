package leader

import (
	"fmt"

	"github.com/muster-discovery/muster/internal/gossip"
)

// ensureServer takes a server that joined into the cluster, or records its new
// address.
func (l *Leader) ensureServer(m gossip.Member) error {
	id, addr := m.ID(), m.ServerAddr()
	if addr == "" || id == "" || l.cfg.Servers.Servers()[id] == addr {
		return nil
	}
	l.cfg.Logger.Info("adding server", "node", m.Name, "id", id, "addr", addr)
	if err := l.cfg.Servers.Add(id, addr); err != nil {
		return fmt.Errorf("add server %q: %w", m.Name, err)
	}
	return nil
}

// removeServer takes a server that left out of the cluster. One that failed keeps its
// place: it may come back, and autopilot knows when it is better off without it.
func (l *Leader) removeServer(m gossip.Member) error {
	id := m.ID()
	if !m.Server() || l.isSelf(m.Name) {
		return nil
	}
	if _, ok := l.cfg.Servers.Servers()[id]; !ok {
		return nil
	}
	for _, o := range l.cfg.Members() {
		if o.ID() == id && o.Status == gossip.StatusAlive {
			return nil // it is back under another name
		}
	}
	l.cfg.Logger.Info("removing server", "node", m.Name, "id", id)
	if err := l.cfg.Servers.Remove(id); err != nil {
		return fmt.Errorf("remove server %q: %w", m.Name, err)
	}
	return nil
}
