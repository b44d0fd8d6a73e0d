package agent

import (
	"fmt"

	"github.com/muster-discovery/muster/internal/config"
	"github.com/muster-discovery/muster/internal/watch"
)

// startWatches runs the configuration's watches against this agent's own API, as
// programs beside it would, but without a port.
func (a *Agent) startWatches() error {
	a.watches = watch.NewSet(a.http, a.tel.Logger("watch"))
	a.group.onStop("watches", a.watches.Close)
	return a.applyWatches(a.cfg)
}

// applyWatches leaves alone those that are as before.
func (a *Agent) applyWatches(cfg *config.Config) error {
	specs := make([]*watch.Spec, len(cfg.Watches))
	for i, raw := range cfg.Watches {
		var err error
		if specs[i], err = watch.Decode(raw); err != nil {
			return fmt.Errorf("watches[%d]: %w", i, err)
		}
	}
	return a.watches.Apply(specs)
}
