package state

import (
	"slices"

	"github.com/muster-discovery/muster/internal/model"
)

// Deregister removes a service with its checks, else a check, else a node with
// everything on it. What is not there needs no removal: that is no error.
func (b *Batch) Deregister(meta *model.CommandMeta, d *model.Deregistration) (uint64, error) {
	index := b.begin(meta)
	if d.Node == "" {
		return index, model.Errorf(model.KindInvalid, "Must provide node")
	}
	b.deregister(d)
	b.end()
	return index, nil
}

func (b *Batch) deregister(d *model.Deregistration) {
	c := b.change(model.Fold(d.Node))
	if c.node == nil {
		return
	}
	switch {
	case d.ServiceID != "":
		c.removeService(d.ServiceID)
		c.flush()
	case d.CheckID != "":
		if row := b.s.work.check(c.key, d.CheckID); row != nil {
			c.putCheck(row, nil)
		}
		c.flush()
	default:
		c.remove()
	}
}

func (c *change) removeService(id string) {
	w := c.instance(id)
	if w == nil {
		return
	}
	for _, check := range slices.Clone(w.own) {
		c.putCheck(c.b.s.work.check(c.key, check.ID), nil)
	}
	w.svc, w.dirty = nil, true
}

// remove takes the node away with all that is on it.
func (c *change) remove() {
	c.loadAll()
	for _, row := range c.b.s.work.checksOf(c.key) {
		c.putCheck(row, nil)
	}
	for _, w := range c.work {
		w.svc = nil
	}
	c.setNode(nil)
	c.flush()
}
