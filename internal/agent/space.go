package agent

import (
	"fmt"

	"github.com/muster-discovery/muster/internal/apply"
	"github.com/muster-discovery/muster/internal/consensus"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/storage"
)

// openSpace begins to watch the data dir, before anything is written there.
func (a *Agent) openSpace() error {
	c := storage.SpaceConfig{Node: a.cfg.Node.Name, Logger: a.tel.Logger("storage"), Registry: a.tel.Registry()}
	var err error
	if c.Quota, err = a.cfg.Storage.Quota.Bytes(); err != nil {
		return fmt.Errorf("storage.quota: %w", err)
	}
	if c.Reserve, err = a.cfg.Storage.Reserve.Bytes(); err != nil {
		return fmt.Errorf("storage.reserve: %w", err)
	}
	// A client agent has little to keep, and nobody's election depends on it.
	if !a.cfg.Server.Enabled || a.cfg.Storage.Reserve != "" && c.Reserve == 0 {
		c.Reserve = -1
	}
	a.space = storage.NewSpace(a.dir, c)
	a.group.start("space", a.space.Run)
	return nil
}

// leaderSpace is the leader's word on space: it counts what its own disk has, and other
// servers hand their writes to it.
type leaderSpace struct {
	space *storage.Space
	log   *consensus.Log
}

var _ apply.Space = leaderSpace{}

// Admit implements apply.Space.
func (s leaderSpace) Admit(bytes int) error {
	if !s.log.IsLeader() {
		return nil
	}
	return s.space.Admit(bytes)
}

// Registered reports whether all that a registration names is there already.
func (r stateReader) Registered(reg *model.Registration) bool {
	s := r.store.Snapshot()
	if s.Node(reg.Node.Name) == nil {
		return false
	}
	if reg.Service != nil && !hasService(s.NodeServices(reg.Node.Name), reg.Service.ID) {
		return false
	}
	if len(reg.Checks) == 0 {
		return true
	}
	known := make(map[string]bool)
	for _, c := range s.NodeChecks(reg.Node.Name) {
		known[c.ID] = true
	}
	for _, c := range reg.Checks {
		if !known[c.ID] {
			return false
		}
	}
	return true
}

func hasService(n *model.NodeServices, id string) bool {
	if n == nil {
		return false
	}
	for _, s := range n.Services {
		if s.ID == id {
			return true
		}
	}
	return false
}
