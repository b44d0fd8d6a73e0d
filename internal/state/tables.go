package state

import (
	"strings"

	"github.com/tidwall/btree"

	"github.com/muster-discovery/muster/internal/model"
)

// nodeRow is a node under its folded name, with the checks that concern the whole
// node, sorted by id.
type nodeRow struct {
	key    string
	node   *model.Node
	checks []*model.Check
}

// instanceRow is a service instance with all that an answer about it needs. The
// node's checks come first in Checks, so the instance's own are its tail.
type instanceRow struct {
	node string // folded
	name string // folded name of the service
	dest string // folded name of the service that it reaches through the mesh, or empty
	model.Instance
}

// own are the checks of the instance itself.
func (r *instanceRow) own() []*model.Check {
	for i, c := range r.Checks {
		if c.ServiceID != "" {
			return r.Checks[i:len(r.Checks):len(r.Checks)]
		}
	}
	return nil
}

// checkRow is a check under the folded name of its node.
type checkRow struct {
	node string
	model.Check
}

// tables is one version of everything that is replicated. The trees of a published
// version are never written to.
type tables struct {
	index  uint64            // of the last command
	floor  uint64            // highest index of the collected tombstones
	raised uint64            // index of the last restore by an operator; 0: there was none
	static [numStatic]uint64 // indexes of the topics without a name

	nodes     *btree.BTreeG[*nodeRow]              // by folded name
	nodeIDs   *btree.BTreeG[*model.Node]           // those that have an id
	services  *btree.BTreeG[*instanceRow]          // by node, id
	instances *btree.BTreeG[*instanceRow]          // by name, node, id
	connect   *btree.BTreeG[*instanceRow]          // by dest, node, id; mesh instances only
	checks    *btree.BTreeG[*checkRow]             // by node, id
	failing   *btree.BTreeG[*checkRow]             // by status, node, id; without the passing ones
	summaries *btree.BTreeG[*model.ServiceSummary] // by name as registered
	subjects  *btree.BTreeG[*subject]              // by class, name

	kv           *btree.BTreeG[*model.KVEntry]   // by key
	kvTombs      *btree.BTreeG[tomb]             // deleted keys, by key
	sessions     *btree.BTreeG[*model.Session]   // by id
	nodeSessions *btree.BTreeG[nodeSession]      // by node, id
	delays       *btree.BTreeG[*model.LockDelay] // by key
	kvFloor      uint64                          // highest index of the collected tombstones of keys
	fence        uint64                          // the last fencing token
	revisions    *btree.BTreeG[*revision]        // writes of keys, by key, index
	history      *model.KVHistory                // how many of them are kept; nil: never set

	queries     *btree.BTreeG[*model.Query]   // by id
	coordinates *btree.BTreeG[*coordinateRow] // by folded name of the node

	roots       []*model.CARoot
	clusterID   string
	autopilot   *model.Autopilot // nil: never set
	nextVirtual uint32           // where the search for a free virtual address starts
}

// firstIndex is the index of an empty store, so that the index told to a blocking
// reader is never 0 and the first command's is already past it.
const firstIndex = 1

func newTables() *tables {
	t := &tables{
		index:     firstIndex,
		floor:     firstIndex,
		nodes:     newTree(func(a, b *nodeRow) bool { return a.key < b.key }),
		nodeIDs:   newTree(func(a, b *model.Node) bool { return a.ID < b.ID }),
		services:  newTree(lessService),
		instances: newTree(lessInstance),
		connect:   newTree(lessConnect),
		checks:    newTree(lessCheck),
		failing:   newTree(lessFailing),
		summaries: newTree(func(a, b *model.ServiceSummary) bool { return a.Name < b.Name }),
		subjects:  newTree(lessSubject),

		kv:           newTree(func(a, b *model.KVEntry) bool { return a.Key < b.Key }),
		kvTombs:      newTree(func(a, b tomb) bool { return a.key < b.key }),
		sessions:     newTree(func(a, b *model.Session) bool { return a.ID < b.ID }),
		nodeSessions: newTree(lessNodeSession),
		delays:       newTree(func(a, b *model.LockDelay) bool { return a.Key < b.Key }),
		kvFloor:      firstIndex,
		revisions:    newTree(lessRevision),

		queries:     newTree(func(a, b *model.Query) bool { return a.ID < b.ID }),
		coordinates: newTree(func(a, b *coordinateRow) bool { return a.node < b.node }),
	}
	for i := range t.static {
		t.static[i] = firstIndex
	}
	return t
}

// treeDegree is half the width of the trees' nodes. A write after a publication
// copies one node a level: at 10,000 instances and one registration a batch that is
// 12.2 kB with 16 and 14.0 kB with 32; at 64 a batch there is no difference.
const treeDegree = 16

func newTree[T any](less func(a, b T) bool) *btree.BTreeG[T] {
	return btree.NewBTreeGOptions(less, btree.Options{NoLocks: true, Degree: treeDegree})
}

// publish makes a version that stays as it is while the receiver is written on.
func (t *tables) publish() *tables {
	c := *t
	c.nodes = t.nodes.Copy()
	c.nodeIDs = t.nodeIDs.Copy()
	c.services = t.services.Copy()
	c.instances = t.instances.Copy()
	c.connect = t.connect.Copy()
	c.checks = t.checks.Copy()
	c.failing = t.failing.Copy()
	c.summaries = t.summaries.Copy()
	c.subjects = t.subjects.Copy()
	c.kv = t.kv.Copy()
	c.kvTombs = t.kvTombs.Copy()
	c.sessions = t.sessions.Copy()
	c.nodeSessions = t.nodeSessions.Copy()
	c.delays = t.delays.Copy()
	c.revisions = t.revisions.Copy()
	c.queries = t.queries.Copy()
	c.coordinates = t.coordinates.Copy()
	return &c
}

func lessService(a, b *instanceRow) bool {
	if c := strings.Compare(a.node, b.node); c != 0 {
		return c < 0
	}
	return a.Service.ID < b.Service.ID
}

func lessInstance(a, b *instanceRow) bool {
	if c := strings.Compare(a.name, b.name); c != 0 {
		return c < 0
	}
	return lessService(a, b)
}

func lessConnect(a, b *instanceRow) bool {
	if c := strings.Compare(a.dest, b.dest); c != 0 {
		return c < 0
	}
	return lessService(a, b)
}

func lessCheck(a, b *checkRow) bool {
	if c := strings.Compare(a.node, b.node); c != 0 {
		return c < 0
	}
	return a.ID < b.ID
}

func lessFailing(a, b *checkRow) bool {
	if c := strings.Compare(a.Status, b.Status); c != 0 {
		return c < 0
	}
	return lessCheck(a, b)
}

// pivot is a row that sorts before all rows of a node, a name or a dest.
func pivot(node, name, dest, id string) *instanceRow {
	return &instanceRow{node: node, name: name, dest: dest,
		Instance: model.Instance{Service: &model.Service{ID: id}}}
}

func (t *tables) node(key string) *nodeRow {
	row, _ := t.nodes.Get(&nodeRow{key: key})
	return row
}

func (t *tables) nodeByID(id string) *model.Node {
	n, _ := t.nodeIDs.Get(&model.Node{ID: id})
	return n
}

func (t *tables) service(node, id string) *instanceRow {
	row, _ := t.services.Get(pivot(node, "", "", id))
	return row
}

func (t *tables) check(node, id string) *checkRow {
	row, _ := t.checks.Get(&checkRow{node: node, Check: model.Check{ID: id}})
	return row
}

// eachService calls f for each service of a node, by id.
func (t *tables) eachService(node string, f func(*instanceRow) bool) {
	t.services.Ascend(pivot(node, "", "", ""), func(r *instanceRow) bool { return r.node == node && f(r) })
}

// eachInstance calls f for each instance of a service, by node and id.
func (t *tables) eachInstance(name string, f func(*instanceRow) bool) {
	t.instances.Ascend(pivot("", name, "", ""), func(r *instanceRow) bool { return r.name == name && f(r) })
}

// eachConnect calls f for each mesh instance that reaches a service.
func (t *tables) eachConnect(dest string, f func(*instanceRow) bool) {
	if dest == "" {
		return
	}
	t.connect.Ascend(pivot("", "", dest, ""), func(r *instanceRow) bool { return r.dest == dest && f(r) })
}

// eachCheck calls f for each check on a node, by id.
func (t *tables) eachCheck(node string, f func(*checkRow) bool) {
	t.checks.Ascend(&checkRow{node: node}, func(r *checkRow) bool { return r.node == node && f(r) })
}

// checksOf collects the checks on a node, for callers that change them.
func (t *tables) checksOf(node string) []*checkRow {
	var rows []*checkRow
	t.eachCheck(node, func(r *checkRow) bool {
		rows = append(rows, r)
		return true
	})
	return rows
}

// eachFailing calls f for each check in a state other than passing.
func (t *tables) eachFailing(status string, f func(*checkRow) bool) {
	t.failing.Ascend(&checkRow{Check: model.Check{Status: status}},
		func(r *checkRow) bool { return r.Status == status && f(r) })
}
