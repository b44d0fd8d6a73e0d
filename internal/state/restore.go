package state

import (
	"errors"
	"fmt"

	"github.com/muster-discovery/muster/internal/model"
)

// Header is what a snapshot holds besides records.
type Header struct {
	Index       uint64
	Floor       uint64
	NextVirtual uint32
	ClusterID   string
	KVFloor     uint64
	Fence       uint64 // the last fencing token
	Raised      uint64 // index of the last restore by an operator: no topic is told below it
}

// KeyTombRecord is the index at which a key was deleted.
type KeyTombRecord struct {
	Key   string
	Index uint64
}

// TopicRecord is the index of a topic's last change.
type TopicRecord struct {
	Topic model.Topic
	Index uint64
}

// Header is the snapshot's header.
func (s *Snapshot) Header() Header {
	return Header{Index: s.t.index, Floor: s.t.floor, NextVirtual: s.t.nextVirtual, ClusterID: s.t.clusterID,
		KVFloor: s.t.kvFloor, Fence: s.t.fence, Raised: s.t.raised}
}

// Records calls the functions for all there is to keep, always in the same order:
// nodes by name, services by node and id, checks by node and id, roots, sessions by
// id, lock delays, entries and tombstones by key, queries by id,
// coordinates by node, autopilot's configuration, the setting of the keys' history and
// their revisions by key and index, topics by kind of subject and name.
// Each of v's types goes to yield until that fails.
func (s *Snapshot) Records(yield func(v any) error) (err error) {
	s.t.nodes.Scan(func(r *nodeRow) bool { err = yield(r.node); return err == nil })
	if err != nil {
		return err
	}
	s.t.services.Scan(func(r *instanceRow) bool { err = yield(r.Service); return err == nil })
	if err != nil {
		return err
	}
	s.t.checks.Scan(func(r *checkRow) bool { err = yield(&r.Check); return err == nil })
	if err != nil {
		return err
	}
	for _, r := range s.t.roots {
		if err := yield(r); err != nil {
			return err
		}
	}
	if err := s.keyRecords(yield); err != nil {
		return err
	}
	s.t.queries.Scan(func(q *model.Query) bool { err = yield(q); return err == nil })
	if err != nil {
		return err
	}
	s.t.coordinates.Scan(func(r *coordinateRow) bool { err = yield(&r.NodeCoordinate); return err == nil })
	if err != nil {
		return err
	}
	if s.t.autopilot != nil {
		if err := yield(s.t.autopilot); err != nil {
			return err
		}
	}
	if err := s.historyRecords(yield); err != nil {
		return err
	}
	for slot, index := range s.t.static {
		if err := yield(TopicRecord{model.Topic{Kind: kinds[0][slot]}, index}); err != nil {
			return err
		}
	}
	s.t.subjects.Scan(func(sub *subject) bool {
		for slot, kind := range kinds[sub.class] {
			if sub.slots[slot] != 0 && err == nil {
				err = yield(TopicRecord{model.Topic{Kind: kind, Name: sub.name}, sub.slots[slot]})
			}
		}
		return err == nil
	})
	return err
}

func (s *Snapshot) keyRecords(yield func(v any) error) (err error) {
	s.t.sessions.Scan(func(e *model.Session) bool { err = yield(e); return err == nil })
	if err == nil {
		s.t.delays.Scan(func(d *model.LockDelay) bool { err = yield(d); return err == nil })
	}
	if err == nil {
		s.t.kv.Scan(func(e *model.KVEntry) bool { err = yield(e); return err == nil })
	}
	if err == nil {
		s.t.kvTombs.Scan(func(d tomb) bool { err = yield(KeyTombRecord{d.key, d.index}); return err == nil })
	}
	return err
}

// Restorer builds tables from the records of a snapshot, beside the store's
// present ones. Nodes must come before their services and those before their
// checks; sessions after these, and before the keys that they hold; revisions after
// the keys, those of one key in a row.
type Restorer struct {
	s    Store
	last *revision          // added last
	from map[uint64]*origin // of the revisions so far, by index
}

// NewRestorer starts with empty tables.
func NewRestorer(h Header) (*Restorer, error) {
	if h.Index < firstIndex || h.Floor < firstIndex || h.Floor > h.Index || h.NextVirtual > virtualLast ||
		h.KVFloor < firstIndex || h.KVFloor > h.Index || h.Raised > h.Index {
		return nil, errors.New("impossible indexes in the header")
	}
	r := &Restorer{s: Store{maxTombstones: maxTombstones}, from: make(map[uint64]*origin)}
	t := newTables()
	t.index, t.floor, t.nextVirtual, t.clusterID = h.Index, h.Floor, h.NextVirtual, h.ClusterID
	t.kvFloor, t.fence, t.raised = h.KVFloor, h.Fence, h.Raised
	r.s.load(t)
	return r, nil
}

// Add takes one record of a type that Records yields.
func (r *Restorer) Add(v any) error {
	switch v := v.(type) {
	case *model.Node:
		return r.addNode(v)
	case *model.Service:
		return r.addService(v)
	case *model.Check:
		return r.addCheck(v)
	case *model.CARoot:
		r.s.work.roots = append(r.s.work.roots, v)
		return nil
	case *model.Session:
		return r.addSession(v)
	case *model.LockDelay:
		if _, twice := r.s.work.delays.Set(v); twice {
			return fmt.Errorf("lock delay of %q: twice", v.Key)
		}
		return nil
	case *model.KVEntry:
		return r.addKey(v)
	case KeyTombRecord:
		return r.addKeyTomb(v)
	case *model.Query:
		return r.addQuery(v)
	case *model.NodeCoordinate:
		return r.addCoordinate(v)
	case *model.Autopilot:
		return r.addAutopilot(v)
	case *model.KVHistory:
		return r.addHistory(v)
	case RevisionRecord:
		return r.addRevision(v)
	case TopicRecord:
		return r.addTopic(v)
	}
	return fmt.Errorf("unknown record %T", v)
}

func (r *Restorer) addNode(n *model.Node) error {
	t := r.s.work
	key := model.Fold(n.Name)
	if key == "" || t.node(key) != nil || n.ID != "" && t.nodeByID(n.ID) != nil {
		return fmt.Errorf("node %q: no name, or twice", n.Name)
	}
	t.nodes.Load(&nodeRow{key: key, node: n}) // Load is Set for items that come in order
	if n.ID != "" {
		t.nodeIDs.Set(n)
	}
	return nil
}

func (r *Restorer) addService(svc *model.Service) error {
	t := r.s.work
	node := t.node(model.Fold(svc.Node))
	if node == nil || svc.Name == "" || t.service(node.key, svc.ID) != nil {
		return fmt.Errorf("service %q on node %q: no name, no node, or twice", svc.ID, svc.Node)
	}
	svc.Node = node.node.Name
	row := &instanceRow{node: node.key, name: model.Fold(svc.Name), dest: destination(svc),
		Instance: model.Instance{Node: node.node, Service: svc}}
	t.services.Load(row)
	if row.dest != "" && !r.s.virtuals.adopt(row.dest, svc) {
		return fmt.Errorf("service %q on node %q: impossible virtual address", svc.ID, svc.Node)
	}
	r.s.count(svc, 1)
	return nil
}

func (r *Restorer) addCheck(check *model.Check) error {
	t := r.s.work
	node := t.node(model.Fold(check.Node))
	if node == nil || t.check(node.key, check.ID) != nil {
		return fmt.Errorf("check %q on node %q: no node, or twice", check.ID, check.Node)
	}
	row := &checkRow{node: node.key, Check: *check}
	row.Node = node.node.Name
	if row.ServiceID == "" {
		node.checks = append(node.checks, &row.Check)
	} else {
		inst := t.service(node.key, row.ServiceID)
		if inst == nil {
			return fmt.Errorf("check %q on node %q: no service %q", check.ID, check.Node, check.ServiceID)
		}
		row.ServiceID, row.ServiceName, row.ServiceTags = inst.Service.ID, inst.Service.Name, inst.Service.Tags
		inst.Checks = append(inst.Checks, &row.Check)
	}
	t.checks.Load(row)
	if row.Status != model.StatusPassing {
		t.failing.Set(row)
	}
	return nil
}

func (r *Restorer) addSession(e *model.Session) error {
	t := r.s.work
	if node := t.node(model.Fold(e.Node)); e.ID == "" || node == nil || t.session(e.ID) != nil {
		return fmt.Errorf("session %q on node %q: no id, no node, or twice", e.ID, e.Node)
	}
	r.s.addSession(e)
	return nil
}

func (r *Restorer) addKey(e *model.KVEntry) error {
	t := r.s.work
	if e.Key == "" || e.Modify > t.index || t.key(e.Key) != nil {
		return fmt.Errorf("key %q: empty, of a later index, or twice", e.Key)
	}
	if e.Session != "" {
		if t.session(e.Session) == nil {
			return fmt.Errorf("key %q: no session %q", e.Key, e.Session)
		}
		r.s.locks.Set(lock{e.Session, e.Key})
	}
	if e.Token > t.fence {
		return fmt.Errorf("key %q: fencing token %d is above the last one", e.Key, e.Token)
	}
	t.kv.Load(e)
	return nil
}

func (r *Restorer) addKeyTomb(d KeyTombRecord) error {
	t := r.s.work
	if d.Index < firstIndex || d.Index > t.index || t.key(d.Key) != nil {
		return fmt.Errorf("deleted key %q at %d: impossible index, or the key exists", d.Key, d.Index)
	}
	row := tomb{d.Key, d.Index}
	if _, twice := t.kvTombs.Set(row); twice {
		return fmt.Errorf("deleted key %q: twice", d.Key)
	}
	r.s.kvGraves.Set(row)
	return nil
}

func (r *Restorer) addTopic(rec TopicRecord) error {
	t := r.s.work
	class, slot, ok := place(rec.Topic.Kind)
	if !ok || rec.Index < firstIndex || rec.Index > t.index {
		return fmt.Errorf("impossible topic %d %q at %d", rec.Topic.Kind, rec.Topic.Name, rec.Index)
	}
	if class == 0 {
		t.static[slot] = rec.Index
		return nil
	}
	s, found := t.subjects.Get(&subject{class: class, name: rec.Topic.Name})
	if !found {
		s = &subject{class: class, name: rec.Topic.Name}
		t.subjects.Load(s)
	}
	s.slots[slot] = rec.Index
	return nil
}

// Finish completes the tables, and puts them in place of the store's. The caller
// tells readers that everything may have changed.
func (r *Restorer) Finish(into *Store) {
	t := r.s.work
	t.nodes.Scan(func(n *nodeRow) bool { n.checks = clip(n.checks); return true })
	t.services.Scan(func(row *instanceRow) bool {
		node := t.node(row.node)
		switch own := clip(row.Checks); {
		case len(own) == 0:
			row.Checks = node.checks
		case len(node.checks) == 0:
			row.Checks = own
		default:
			row.Checks = append(append(make([]*model.Check, 0, len(own)+len(node.checks)), node.checks...), own...)
		}
		t.instances.Set(row)
		if row.dest != "" {
			t.connect.Set(row)
		}
		return true
	})
	for name, total := range r.s.tallies {
		t.summaries.Set(total.summary(name))
	}
	t.subjects.Scan(func(s *subject) bool {
		if s.dead = !t.alive(s); s.dead {
			r.s.graves.Set(s)
		}
		return true
	})
	into.work, into.graves, into.tallies, into.virtuals = t, r.s.graves, r.s.tallies, r.s.virtuals
	into.kvGraves, into.locks, into.bound = r.s.kvGraves, r.s.locks, r.s.bound
	into.past, into.pastBytes = r.s.past, r.s.pastBytes
	into.publish()
}

func clip(c []*model.Check) []*model.Check { return append([]*model.Check(nil), c...) }
