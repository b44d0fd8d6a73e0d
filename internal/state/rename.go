package state

import "github.com/muster-discovery/muster/internal/model"

func (b *Batch) registerNode(c *change, r *model.Registration) {
	if c.node != nil && r.SkipNodeUpdate {
		return
	}
	n := r.Node
	if prev := b.previous(c.key, r); prev != nil {
		n.Indexes = model.Indexes{Create: prev.Create, Modify: b.s.work.index}
		c.setNode(&n)
		b.moveIn(c, model.Fold(prev.Name))
		return
	}
	if c.node == nil {
		n.Indexes = model.Indexes{Create: b.s.work.index, Modify: b.s.work.index}
		c.setNode(&n)
		return
	}
	n.Indexes = c.node.Indexes
	if equalNode(&n, c.node) {
		return
	}
	respelled := n.Name != c.node.Name
	n.Modify = b.s.work.index
	c.setNode(&n)
	if respelled {
		c.respell()
	}
}

// moveIn takes over what a node had under its previous name, so that a rename
// leaves no gap in which its services can't be found.
func (b *Batch) moveIn(c *change, from string) {
	c.respell()
	old := b.change(from)
	b.s.work.eachService(from, func(r *instanceRow) bool {
		c.place(r.Service)
		return true
	})
	for _, r := range b.s.work.checksOf(from) {
		c.placeCheck(&r.Check)
	}
	c.leaving = old
}

// respell writes the node's name into all that is on it.
func (c *change) respell() {
	c.loadAll()
	for _, w := range c.work {
		if w.svc != nil && w.svc.Node != c.node.Name {
			c.place(w.svc)
		}
	}
	for _, r := range c.b.s.work.checksOf(c.key) {
		if r.Node != c.node.Name {
			c.placeCheck(&r.Check)
		}
	}
}

// place puts a service of the same or another node here, as it is.
func (c *change) place(s *model.Service) {
	svc := *s
	svc.Node, svc.Modify = c.node.Name, c.b.s.work.index
	if w := c.instance(svc.ID); w != nil {
		c.replace(w, &svc)
		return
	}
	c.add(svc.ID, &instanceChange{svc: &svc, dirty: true})
}

// replace puts a new value in place of an instance's service.
func (c *change) replace(w *instanceChange, svc *model.Service) {
	old := w.svc
	w.svc, w.dirty = svc, true
	if old.Name != svc.Name || !equalStrings(old.Tags, svc.Tags) {
		c.relabel(w)
	}
}

func (c *change) placeCheck(k *model.Check) {
	row := &checkRow{node: c.key, Check: *k}
	row.Node, row.Modify = c.node.Name, c.b.s.work.index
	c.putCheck(c.b.s.work.check(c.key, k.ID), row)
}
