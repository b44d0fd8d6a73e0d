package state

import (
	"slices"

	"github.com/muster-discovery/muster/internal/model"
)

// change gathers what one command does to one node, so that the rows of its
// instances are made once, at the end.
type change struct {
	b      *Batch
	key    string
	old    *nodeRow    // as it was, nil if new
	node   *model.Node // as it will be, nil if removed
	checks []*model.Check
	all    bool // the node or its own checks changed: so did every instance on it

	work []*instanceChange
	byID map[string]*instanceChange // made when work gets long

	was     map[string]*checkRow // checks as they were before the command; nil if new
	leaving *change              // the node under the name it had until now
	held    string               // service whose virtual address is held until the flush
}

// instanceChange is one instance that the command looks at or changes.
type instanceChange struct {
	old   *instanceRow   // nil if new
	svc   *model.Service // nil if removed
	own   []*model.Check
	dirty bool
}

func (b *Batch) change(key string) *change {
	c := &change{b: b, key: key, old: b.s.work.node(key)}
	if c.old != nil {
		c.node, c.checks = c.old.node, c.old.checks
	}
	return c
}

// instance finds an instance for reading or changing; nil if there is none.
func (c *change) instance(id string) *instanceChange {
	if w := c.lookup(id); w != nil {
		if w.svc == nil {
			return nil
		}
		return w
	}
	if row := c.b.s.work.service(c.key, id); row != nil {
		return c.add(id, &instanceChange{old: row, svc: row.Service, own: row.own()})
	}
	return nil
}

// longWork is the number of instances from which on they are found by a map.
const longWork = 16

func (c *change) lookup(id string) *instanceChange {
	if c.byID != nil {
		return c.byID[id]
	}
	for _, w := range c.work {
		if w.id() == id {
			return w
		}
	}
	return nil
}

func (w *instanceChange) id() string {
	if w.old != nil {
		return w.old.Service.ID
	}
	return w.svc.ID
}

func (c *change) add(id string, w *instanceChange) *instanceChange {
	c.work = append(c.work, w)
	if c.byID == nil && len(c.work) > longWork {
		c.byID = make(map[string]*instanceChange, 2*longWork)
		for _, o := range c.work {
			c.byID[o.id()] = o
		}
	} else if c.byID != nil {
		c.byID[id] = w
	}
	return w
}

// loadAll brings in every instance of the node.
func (c *change) loadAll() {
	if c.old == nil {
		return
	}
	c.b.s.work.eachService(c.key, func(r *instanceRow) bool {
		c.instance(r.Service.ID)
		return true
	})
}

// flush writes the rows that changed.
func (c *change) flush() {
	if c.all {
		c.loadAll()
	}
	c.flushNode()
	for _, w := range c.work {
		if w.dirty || c.all {
			c.flushInstance(w)
		}
	}
	c.touchChecks()
	// What is under a new name must exist before the old goes: totals and virtual
	// addresses then never fall to nothing in between.
	if c.leaving != nil {
		c.leaving.remove()
	}
	if c.held != "" {
		c.b.s.virtuals.release(c.held)
	}
	c.endSessions()
}

func (c *change) flushNode() {
	t := c.b.s.work
	switch {
	case c.node == nil:
		if c.old != nil {
			t.nodes.Delete(c.old)
			c.b.dropCoordinate(c.key)
		}
	case c.old == nil || c.all:
		t.nodes.Set(&nodeRow{key: c.key, node: c.node, checks: c.checks})
	}
	var before *model.Node
	if c.old != nil {
		before = c.old.node
	}
	if before == c.node {
		return
	}
	// On a rename the id may already belong to the new name.
	if before != nil && before.ID != "" && t.nodeByID(before.ID) == before {
		t.nodeIDs.Delete(before)
	}
	if c.node != nil && c.node.ID != "" {
		t.nodeIDs.Set(c.node)
	}
	c.b.touch(model.TopicNodes, "")
	c.b.touch(model.TopicNode, c.key)
}

// flushInstance replaces an instance's row in the three trees that hold it and
// reports whose answers it was part of.
func (c *change) flushInstance(w *instanceChange) {
	t := c.b.s.work
	var row *instanceRow
	if w.svc != nil {
		row = c.row(w)
	}
	c.account(w.old, row)
	if old := w.old; old != nil {
		if row == nil {
			t.services.Delete(old)
		}
		if row == nil || row.name != old.name {
			t.instances.Delete(old)
		}
		if old.dest != "" && (row == nil || row.dest != old.dest) {
			t.connect.Delete(old)
		}
		c.touchInstance(old)
	}
	if row != nil {
		t.services.Set(row)
		t.instances.Set(row)
		if row.dest != "" {
			t.connect.Set(row)
		}
		c.touchInstance(row)
	}
	if w.old == nil || w.svc != w.old.Service {
		c.b.touch(model.TopicNode, c.key)
	}
}

// row builds the row of an instance that stays.
func (c *change) row(w *instanceChange) *instanceRow {
	row := &instanceRow{node: c.key, Instance: model.Instance{Node: c.node, Service: w.svc}}
	if w.old != nil && w.old.Service.Name == w.svc.Name {
		row.name = w.old.name
	} else {
		row.name = model.Fold(w.svc.Name)
	}
	row.dest = destination(w.svc)
	switch {
	case len(w.own) == 0:
		row.Checks = c.checks
	case len(c.checks) == 0:
		row.Checks = w.own
	default:
		row.Checks = slices.Concat(c.checks, w.own)
	}
	return row
}

func (c *change) touchInstance(r *instanceRow) {
	c.b.touch(model.TopicService, r.name)
	if r.dest != "" {
		c.b.touch(model.TopicConnect, r.dest)
	}
}

// account keeps the totals that follow from the instances.
func (c *change) account(old, row *instanceRow) {
	var before, after *model.Service
	if old != nil {
		before = old.Service
		if old.dest != "" {
			defer c.b.s.virtuals.release(old.dest)
		}
	}
	if row != nil {
		after = row.Service
		if row.dest != "" {
			c.b.s.virtuals.hold(row.dest, &c.b.s.work.nextVirtual)
		}
	}
	c.b.recount(before, after)
}

// setNode puts a new value in place of the node's.
func (c *change) setNode(n *model.Node) {
	c.node, c.all = n, true
}
