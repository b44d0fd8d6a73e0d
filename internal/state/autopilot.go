package state

import (
	"errors"

	"github.com/muster-discovery/muster/internal/model"
)

var errTwoAutopilots = errors.New("autopilot's configuration: twice")

// Autopilot is the configuration of autopilot, nil until a leader has set it.
func (s *Snapshot) Autopilot() *model.Autopilot { return s.t.autopilot }

// SetAutopilot replaces the configuration of autopilot. It is read by its index, not
// watched, so it has no topic.
func (b *Batch) SetAutopilot(meta *model.CommandMeta, set *model.AutopilotSet) (uint64, error) {
	index := b.begin(meta)
	t := b.s.work
	next := set.Config
	next.Indexes = model.Indexes{Create: index, Modify: index}
	var modified uint64
	if old := t.autopilot; old != nil {
		next.Create, modified = old.Create, old.Modify
	}
	if e := set.ExpectIndex; e != nil && *e != modified {
		return index, model.Errorf(model.KindConflict, "the autopilot configuration is of index %d, not of %d as expected", modified, *e)
	}
	t.autopilot = &next
	return index, nil
}

func (r *Restorer) addAutopilot(c *model.Autopilot) error {
	if r.s.work.autopilot != nil {
		return errTwoAutopilots
	}
	r.s.work.autopilot = c
	return nil
}
