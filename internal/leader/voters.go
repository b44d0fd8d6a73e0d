package leader

import (
	"fmt"
	"strings"

	"github.com/muster-discovery/muster/internal/gossip"
)

// ensureVoter gives a server that joined its vote, or records its new address.
func (l *Leader) ensureVoter(m gossip.Member) error {
	id, addr := m.ID(), m.ServerAddr()
	if addr == "" || id == "" || strings.EqualFold(m.Name, l.cfg.Self) {
		return nil
	}
	if l.cfg.Voters.Voters()[id] == addr {
		return nil
	}
	l.cfg.Logger.Info("adding server", "node", m.Name, "id", id, "addr", addr)
	if err := l.cfg.Voters.AddVoter(id, addr); err != nil {
		return fmt.Errorf("add server %q as a voter: %w", m.Name, err)
	}
	return nil
}

// removeVoter takes the vote of a server that left. One that failed keeps it: it
// may come back.
func (l *Leader) removeVoter(m gossip.Member) error {
	id := m.ID()
	if !m.Server() || strings.EqualFold(m.Name, l.cfg.Self) {
		return nil
	}
	if _, ok := l.cfg.Voters.Voters()[id]; !ok {
		return nil
	}
	l.cfg.Logger.Info("removing server", "node", m.Name, "id", id)
	if err := l.cfg.Voters.RemoveServer(id); err != nil {
		return fmt.Errorf("remove server %q: %w", m.Name, err)
	}
	return nil
}
