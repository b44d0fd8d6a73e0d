package local

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-discovery/muster/internal/model"
)

// watchedCatalog is a catalog whose nodes can be watched.
type watchedCatalog struct {
	*fakeCatalog
	nodes   map[string]*model.NodeServices
	health  map[string][]*model.Check
	index   [2]uint64 // of services and of checks, for all nodes together
	changed chan struct{}
	broken  error
	hasty   bool // its blocking reads return at once
	watches int  // that wait now
	reads   int
	tear    func() // called once between two reads
}

func newWatchedCatalog() *watchedCatalog {
	return &watchedCatalog{
		fakeCatalog: newFakeCatalog(), nodes: map[string]*model.NodeServices{}, health: map[string][]*model.Check{},
		index: [2]uint64{5, 5}, changed: make(chan struct{}),
	}
}

// change changes the catalog and wakes who waits.
func (c *watchedCatalog) change(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changeLocked(f)
}

func (c *watchedCatalog) changeLocked(f func()) {
	f()
	close(c.changed)
	c.changed = make(chan struct{})
}

// set gives a node one service and, unless status is empty, one check of it.
func (c *watchedCatalog) set(node, service, status string) {
	c.nodes[node] = &model.NodeServices{Node: &model.Node{Name: node}, Services: []*model.Service{{ID: service}}}
	c.health[node] = nil
	if status != "" {
		c.health[node] = []*model.Check{{Name: "rc", ServiceID: service, Status: status, Output: "out"}}
	}
	c.index[0]++
	c.index[1]++
}

// wait returns with c.mu held.
func (c *watchedCatalog) wait(ctx context.Context, kind int, index uint64) error {
	c.mu.Lock()
	c.reads++
	for c.broken == nil && !c.hasty && index > 0 && c.index[kind] <= index && ctx.Err() == nil {
		changed := c.changed
		c.watches++
		c.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
		c.mu.Lock()
		c.watches--
	}
	return errors.Join(c.broken, ctx.Err())
}

func (c *watchedCatalog) WatchNodeServices(ctx context.Context, node string, index uint64) (*model.NodeServices, uint64, error) {
	defer c.mu.Unlock()
	err := c.wait(ctx, 0, index)
	if c.tear != nil && err == nil {
		tear := c.tear
		c.tear = nil
		defer c.changeLocked(tear) // after this read, before the next
	}
	return c.nodes[node], c.index[0], err
}

func (c *watchedCatalog) WatchNodeChecks(ctx context.Context, node string, index uint64) ([]*model.Check, uint64, error) {
	defer c.mu.Unlock()
	err := c.wait(ctx, 1, index)
	return c.health[node], c.index[1], err
}

func aliasOf(id, node, service string) *model.CheckDefinition {
	return &model.CheckDefinition{ID: id, Name: id, AliasNode: node, AliasService: service}
}

// following runs a test with aliases of a node's service, of another service on
// it, and of the node.
func following(t *testing.T, test func(t *testing.T, l *Local, c *watchedCatalog)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := newWatchedCatalog()
		l := open(t, testConfig(c, nil))
		must(t, l.AddCheck(ctx, aliasOf("web", "rem", "w")))
		must(t, l.AddCheck(ctx, aliasOf("ghost", "rem", "none")))
		must(t, l.AddCheck(ctx, aliasOf("node", "rem", "")))
		defer run(t, l)()
		synctest.Wait()
		test(t, l, c)
	})
}

func expectAliases(t *testing.T, l *Local, when, web, ghost, node string) {
	t.Helper()
	synctest.Wait()
	for _, tt := range [][2]string{{"web", web}, {"ghost", ghost}, {"node", node}} {
		if got := checkLine(t, l, tt[0]); got != tt[1] {
			t.Errorf("%s: alias %s is %q, want %q", when, tt[0], got, tt[1])
		}
	}
}

func TestAliasesFollowAnotherNodeAtOnce(t *testing.T) {
	const noNode = `critical: Node "rem" is not registered.`
	const noGhost = `critical: Service "none" is not registered on node "rem".`
	following(t, func(t *testing.T, l *Local, c *watchedCatalog) {
		began := time.Now()
		expectAliases(t, l, "unknown node", noNode, noNode, noNode)
		c.change(func() { c.set("rem", "w", "") })
		expectAliases(t, l, "without checks", "passing: No checks found.", noGhost, "passing: No checks found.")
		c.change(func() { c.set("rem", "w", model.StatusWarning) })
		expectAliases(t, l, "warning", `warning: Aliased check "rc" failing: out`, noGhost, "passing: No checks found.")
		c.change(func() {
			c.set("rem", "w", model.StatusPassing)
			c.health["rem"] = append(c.health["rem"], &model.Check{Name: "disk", Status: model.StatusCritical})
		})
		expectAliases(t, l, "sick node", `critical: Aliased check "disk" failing: `, noGhost, `critical: Aliased check "disk" failing: `)
		c.change(func() { c.set("rem", "other", model.StatusPassing) })
		expectAliases(t, l, "gone", `critical: Service "w" is not registered on node "rem".`, noGhost, "passing: No checks found.")
		c.change(func() { delete(c.nodes, "rem"); c.health["rem"] = nil; c.index[0]++; c.index[1]++ })
		expectAliases(t, l, "gone node", noNode, noNode, noNode)
		if took := time.Since(began); took != 0 {
			t.Errorf("following took %v, want no time at all", took)
		}
	})
}

// A service that disappears with its checks is never seen without them, which
// would be passing.
func TestAliasSeesServicesAndChecksTogether(t *testing.T) {
	following(t, func(t *testing.T, l *Local, c *watchedCatalog) {
		c.change(func() { c.set("rem", "w", model.StatusCritical) })
		expectAliases(t, l, "critical", `critical: Aliased check "rc" failing: out`, `critical: Service "none" is not registered on node "rem".`, "passing: No checks found.")
		n := l.follow.nodes["rem"]
		c.change(func() {
			c.tear = func() { c.set("rem", "other", "") } // takes both away
		})
		view, err := l.follow.read(ctx, "rem")
		must(t, err)
		if status, output := view.alias(aliasOf("", "rem", "w")); status != model.StatusCritical {
			t.Errorf("alias of a service that goes away is %s: %s", status, output)
		}
		if c.tear != nil || n == nil {
			t.Error("nothing changed during the read, so the test shows nothing")
		}
		// A node that changes all the time is read in the end all the same.
		var again func()
		tears := 0
		again = func() { tears++; c.index[1]++; c.tear = again }
		c.change(func() { c.tear = again })
		if _, err := l.follow.read(ctx, "rem"); err != nil || tears != followTries {
			t.Errorf("restless node: %v after %d tries, want %d", err, tears, followTries)
		}
		c.change(func() { c.tear = nil })
	})
}

func TestAliasesWhileTheCatalogCannotBeRead(t *testing.T) {
	following(t, func(t *testing.T, l *Local, c *watchedCatalog) {
		c.change(func() { c.set("rem", "w", model.StatusPassing) })
		well := func(when string) {
			t.Helper()
			expectAliases(t, l, when, "passing: All checks passing.", `critical: Service "none" is not registered on node "rem".`, "passing: No checks found.")
		}
		well("before")
		c.change(func() { c.broken = errors.New("no leader") })
		time.Sleep(followPatience - time.Second)
		well("during an election")
		time.Sleep(12 * time.Second)
		const off = `critical: Read node "rem": no leader`
		expectAliases(t, l, "cut off", off, off, off)
		c.change(func() { c.broken = nil })
		time.Sleep(11 * time.Second)
		well("after")
	})
}

func TestNodesAreWatchedOnceAndNoLongerThanNeeded(t *testing.T) {
	following(t, func(t *testing.T, l *Local, c *watchedCatalog) {
		watches := func(when string, want int) {
			t.Helper()
			synctest.Wait()
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.watches != want {
				t.Errorf("%s: %d blocking reads, want %d", when, c.watches, want)
			}
		}
		watches("three aliases of a node", 2)
		must(t, l.AddCheck(ctx, aliasOf("far", "far", "")))
		watches("two nodes", 4)
		must(t, l.AddCheck(ctx, aliasOf("far", "rem", "w"))) // moves
		watches("one node again", 2)
		if got := checkLine(t, l, "far"); got != `critical: Node "rem" is not registered.` {
			t.Errorf("alias that moved to a known node is %q at once", got)
		}
		must(t, l.AddCheck(ctx, aliasOf("far", "", "w"))) // to this node
		for _, id := range []string{"web", "ghost", "node"} {
			must(t, l.RemoveCheck(ctx, id))
		}
		watches("no alias of another node", 0)
		if got := checkLine(t, l, "far"); got != `critical: Service "w" is not registered with this agent.` {
			t.Errorf("alias that came home is %q", got)
		}
		must(t, l.RemoveCheck(ctx, "far"))
		if n := len(l.follow.nodes) + len(l.aliases); n != 0 {
			t.Errorf("%d entries are left in the indexes", n)
		}
	})
}

// A catalog that answers at once although nothing is new doesn't make the agent spin.
func TestHastyCatalog(t *testing.T) {
	following(t, func(t *testing.T, l *Local, c *watchedCatalog) {
		c.change(func() { c.hasty = true; c.reads = 0; c.set("rem", "w", model.StatusPassing) })
		time.Sleep(time.Minute)
		synctest.Wait()
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.reads < 10 || c.reads > 100 {
			t.Errorf("%d reads in a minute", c.reads)
		}
	})
}

// Without the ability to watch, aliases look now and then; they know an empty
// node from none.
func TestPolledAlias(t *testing.T) {
	node := &model.Node{Name: "rem"}
	for _, tt := range []struct {
		node     *model.Node
		services []string
		def      *model.CheckDefinition
		want     string
	}{
		{nil, nil, aliasOf("a", "rem", ""), `critical: Node "rem" is not registered.`},
		{nil, nil, aliasOf("a", "rem", "w"), `critical: Node "rem" is not registered.`},
		{node, nil, aliasOf("a", "rem", ""), "passing: No checks found."},
		{node, nil, aliasOf("a", "rem", "w"), `critical: Service "w" is not registered on node "rem".`},
		{node, []string{"w"}, aliasOf("a", "rem", "w"), "passing: No checks found."},
	} {
		f := newFakeCatalog()
		f.node = tt.node
		for _, id := range tt.services {
			f.services[id] = &model.Service{ID: id}
		}
		r := (&remoteAlias{catalog: f, def: tt.def}).Run(ctx)
		if got := fmt.Sprint(r.Status, ": ", r.Output); got != tt.want {
			t.Errorf("node %v with %v: alias is %q, want %q", tt.node, slices.Sorted(slices.Values(tt.services)), got, tt.want)
		}
	}
}
