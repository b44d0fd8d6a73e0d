package state

import (
	"slices"

	"github.com/muster-discovery/muster/internal/model"
)

// Register creates or updates a node and what comes with it. What is the same as
// before keeps its indexes and touches no topic.
func (b *Batch) Register(meta *model.CommandMeta, r *model.Registration) (uint64, error) {
	index := b.begin(meta)
	if err := b.register(r); err != nil {
		return index, err
	}
	b.end()
	return index, nil
}

func (b *Batch) register(r *model.Registration) error {
	normalize(b.meta, r)
	if err := b.checkRegistration(r); err != nil {
		return err
	}
	c := b.change(model.Fold(r.Node.Name))
	b.registerNode(c, r)
	if r.Service != nil {
		b.registerService(c, r.Service)
	}
	for _, check := range r.Checks {
		b.registerCheck(c, check)
	}
	c.flush()
	return nil
}

// normalize fills in what a command may leave out.
func normalize(meta *model.CommandMeta, r *model.Registration) {
	if r.Node.Datacenter == "" {
		r.Node.Datacenter = r.Datacenter
	}
	if r.Node.Datacenter == "" {
		r.Node.Datacenter = meta.Datacenter
	}
	if s := r.Service; s != nil && s.ID == "" {
		s.ID = s.Name
	}
	for _, c := range r.Checks {
		if c.ID == "" {
			c.ID = c.Name
		}
		if c.Status == "" {
			c.Status = model.StatusCritical
		}
	}
	r.Checks = lastOfEach(r.Checks)
}

// lastOfEach leaves of checks with the same id the last.
func lastOfEach(checks []*model.Check) []*model.Check {
	if len(checks) < 2 {
		return checks
	}
	last := make(map[string]int, len(checks))
	for i, c := range checks {
		last[c.ID] = i
	}
	if len(last) == len(checks) {
		return checks
	}
	out := make([]*model.Check, 0, len(last))
	for i, c := range checks {
		if last[c.ID] == i {
			out = append(out, c)
		}
	}
	return out
}

// checkRegistration finds every reason to refuse a registration before anything
// is changed.
func (b *Batch) checkRegistration(r *model.Registration) error {
	if r.Node.Name == "" {
		return model.Errorf(model.KindInvalid, "Must provide node")
	}
	if r.Service != nil && r.Service.Name == "" {
		return model.Errorf(model.KindInvalid, "Must provide service name (Service.Service)")
	}
	key := model.Fold(r.Node.Name)
	if err := b.checkNode(key, r); err != nil {
		return err
	}
	for _, c := range r.Checks {
		if c.ID == "" {
			return model.Errorf(model.KindInvalid, "Must provide check ID or name")
		}
		if c.ServiceID == "" || r.Service != nil && r.Service.ID == c.ServiceID {
			continue
		}
		if b.s.work.service(key, c.ServiceID) == nil && !b.movesIn(key, r, c.ServiceID) {
			return model.Errorf(model.KindInvalid, "Unknown service ID '%s' for check ID '%s'", c.ServiceID, c.ID)
		}
	}
	return nil
}

// checkNode refuses a name that a living node with another id has. To agents it also
// refuses an id that a living node with another name has: of two machines with one id
// each would rename the node at every synchronization.
func (b *Batch) checkNode(key string, r *model.Registration) error {
	if n := b.previous(key, r); n != nil && b.meta.Source == model.SourceAgent && b.healthy(model.Fold(n.Name)) {
		return model.Errorf(model.KindConflict,
			"failed inserting node: node %q (%s) has the id %s, which is that of node %q (%s), and that one is alive: "+
				"after a change of name wait until the old one is seen to have failed; if a disk was copied stop one of the two, "+
				"remove the file node-id in its data dir, and start it again",
			r.Node.Name, r.Node.Address, r.Node.ID, n.Name, n.Address)
	}
	named := b.s.work.node(key)
	if named == nil || r.SkipNodeUpdate || r.Node.ID == "" || named.node.ID == r.Node.ID {
		return nil
	}
	renamed := b.s.work.nodeByID(r.Node.ID) != nil
	if named.node.ID == "" && !renamed || !b.healthy(key) {
		return nil
	}
	return model.Errorf(model.KindConflict,
		"failed inserting node: Error while renaming Node ID: %q: Node name %s is reserved by node %s with name %s (%s)",
		r.Node.ID, r.Node.Name, named.node.ID, named.node.Name, named.node.Address)
}

// healthy says whether gossip holds the node for alive. A node without gossip's
// check is one from outside, which anyone may take over.
func (b *Batch) healthy(key string) bool {
	row := b.s.work.check(key, model.CheckSerfHealth)
	return row != nil && row.Status != model.StatusCritical
}

// previous is the node that the registration renames to key, if any.
func (b *Batch) previous(key string, r *model.Registration) *model.Node {
	if r.Node.ID == "" || r.SkipNodeUpdate && b.s.work.node(key) != nil {
		return nil
	}
	n := b.s.work.nodeByID(r.Node.ID)
	if n == nil || model.Fold(n.Name) == key {
		return nil
	}
	return n
}

// movesIn says whether a renamed node brings the service along.
func (b *Batch) movesIn(key string, r *model.Registration, serviceID string) bool {
	n := b.previous(key, r)
	return n != nil && b.s.work.service(model.Fold(n.Name), serviceID) != nil
}

func (b *Batch) registerService(c *change, in *model.Service) {
	svc := *in
	svc.Node = c.node.Name
	if dest := destination(&svc); dest != "" {
		withVirtual(&svc, b.s.virtuals.hold(dest, &b.s.work.nextVirtual).number)
		c.held = dest
	}
	w := c.instance(svc.ID)
	if w == nil {
		svc.RegisteredAt = b.meta.Time
		svc.Indexes = model.Indexes{Create: b.s.work.index, Modify: b.s.work.index}
		c.add(svc.ID, &instanceChange{svc: &svc, dirty: true})
		return
	}
	svc.RegisteredAt, svc.Indexes = w.svc.RegisteredAt, w.svc.Indexes
	if equalService(&svc, w.svc) {
		return
	}
	svc.Modify = b.s.work.index
	c.replace(w, &svc)
}

// relabel brings the service's name and tags to its checks.
func (c *change) relabel(w *instanceChange) {
	for _, old := range slices.Clone(w.own) {
		row := &checkRow{node: c.key, Check: *old}
		row.ServiceName, row.ServiceTags = w.svc.Name, w.svc.Tags
		row.Modify = c.b.s.work.index
		c.putCheck(c.b.s.work.check(c.key, old.ID), row)
	}
}

func (b *Batch) registerCheck(c *change, in *model.Check) {
	row := &checkRow{node: c.key, Check: *in}
	check := &row.Check
	check.Node, check.ServiceName, check.ServiceTags = c.node.Name, "", nil
	if check.ServiceID != "" {
		svc := c.instance(check.ServiceID).svc
		check.ServiceID, check.ServiceName, check.ServiceTags = svc.ID, svc.Name, svc.Tags
	}
	old := b.s.work.check(c.key, check.ID)
	if old == nil {
		check.StatusSince = b.meta.Time
		check.Indexes = model.Indexes{Create: b.s.work.index, Modify: b.s.work.index}
		c.putCheck(nil, row)
		return
	}
	check.StatusSince, check.Indexes = old.StatusSince, old.Indexes
	if equalCheck(check, &old.Check) {
		return
	}
	if check.Status != old.Status {
		check.StatusSince = b.meta.Time
	}
	check.Modify = b.s.work.index
	c.putCheck(old, row)
}
