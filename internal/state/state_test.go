package state

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-discovery/muster/internal/model"
)

var t0 = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// run applies one command in a batch of its own.
func run(t *testing.T, s *Store, op any) (uint64, []model.Topic, error) {
	t.Helper()
	b := s.Batch()
	index, err := apply(b, op)
	return index, b.Commit(), err
}

// must is run for commands that have to succeed.
func must(t *testing.T, s *Store, op any) []model.Topic {
	t.Helper()
	_, topics, err := run(t, s, op)
	if err != nil {
		t.Fatal(err)
	}
	return topics
}

// apply takes the time from the index: one second a command.
func apply(b *Batch, op any) (uint64, error) {
	meta := &model.CommandMeta{Time: t0.Add(time.Duration(b.s.work.index) * time.Second), Datacenter: "dc1"}
	switch op := op.(type) {
	case *model.Registration:
		return b.Register(meta, op)
	case *model.Deregistration:
		return b.Deregister(meta, op)
	case *model.CARootSet:
		return b.SetCARoots(meta, op)
	}
	panic("unknown op")
}

func node(name string) model.Node { return model.Node{Name: name, Address: "10.0.0.1"} }

func web(nodeName, id string, checks ...*model.Check) *model.Registration {
	return &model.Registration{Node: node(nodeName), Service: &model.Service{ID: id, Name: "web", Port: 80}, Checks: checks}
}

func native(nodeName, name string) *model.Registration {
	return &model.Registration{Node: node(nodeName),
		Service: &model.Service{ID: name, Name: name, Port: 80, Connect: model.Connect{Native: true}}}
}

func TestErrors(t *testing.T) {
	owned := &model.Registration{Node: model.Node{Name: "w1", ID: "id1", Address: "10.1.0.1"},
		Checks: []*model.Check{{ID: "serfHealth", Status: "passing"}}}
	tests := []struct {
		name string
		op   any
		kind model.ErrorKind
		text string
	}{
		{"no node", &model.Registration{}, model.KindInvalid, "Must provide node"},
		{"deregister without node", &model.Deregistration{ServiceID: "x"}, model.KindInvalid, "Must provide node"},
		{"no service name", &model.Registration{Node: node("a"), Service: &model.Service{ID: "x"}}, model.KindInvalid,
			"Must provide service name (Service.Service)"},
		{"unknown service", &model.Registration{Node: node("a"), Checks: []*model.Check{{ID: "a", ServiceID: "nope"}}}, model.KindInvalid,
			"Unknown service ID 'nope' for check ID 'a'"},
		{"name of a living node", &model.Registration{Node: model.Node{Name: "W1", ID: "id2"}}, model.KindConflict,
			`failed inserting node: Error while renaming Node ID: "id2": Node name W1 is reserved by node id1 with name w1 (10.1.0.1)`},
		{"roots changed meanwhile", &model.CARootSet{ExpectIndex: new(uint64)}, model.KindConflict,
			"the CA roots changed at index 3, not at 0 as expected"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := New()
			must(t, s, owned)
			must(t, s, &model.CARootSet{Roots: []*model.CARoot{{ID: "r"}}})
			before := views(s.Snapshot())
			index, topics, err := run(t, s, tt.op)
			if model.KindOf(err) != tt.kind || err == nil || err.Error() != tt.text {
				t.Fatal(err)
			}
			if index != 4 || s.Index() != 4 || len(topics) != 0 {
				t.Fatal("index", index, s.Index(), topics)
			}
			for topic, v := range views(s.Snapshot()) {
				if !slices.Equal(v.texts, before[topic].texts) || v.index != before[topic].index {
					t.Fatal("left a trace in", topic)
				}
			}
		})
	}
}

func TestDeadNodesNameIsFree(t *testing.T) {
	s := New()
	must(t, s, &model.Registration{Node: model.Node{Name: "w1", ID: "id1"}, Checks: []*model.Check{{ID: "serfHealth", Status: "critical"}}})
	must(t, s, &model.Registration{Node: model.Node{Name: "w1", ID: "id2"}})
	if n := s.Snapshot().Node("w1"); n.ID != "id2" || s.Snapshot().NodeByID("id1") != nil {
		t.Fatal(n)
	}
}

func TestDefaults(t *testing.T) {
	s := New()
	must(t, s, &model.Registration{Node: node("n"), Service: &model.Service{Name: "web", Tags: []string{"t"}},
		Checks: []*model.Check{{Name: "alive", ServiceID: "web"}}})
	snap := s.Snapshot()
	c := snap.Check("N", "alive")
	if snap.Service("n", "web") == nil || c.Status != "critical" || c.ServiceName != "web" || !slices.Equal(c.ServiceTags, []string{"t"}) {
		t.Fatalf("%+v", c)
	}
	if snap.Node("n").Datacenter != "dc1" {
		t.Fatal("no datacenter")
	}
}

// TestUnseenTopics: a reader of something unknown gets an index that nothing
// unrelated moves, and that its appearance passes.
func TestUnseenTopics(t *testing.T) {
	s := New()
	later := model.NewTopic(model.TopicService, "Later")
	if _, i := s.Items(later); i != 1 || s.Index() != 1 {
		t.Fatal(i, s.Index())
	}
	topics := must(t, s, web("a", "w"))
	if _, i := s.Items(later); i != 1 || slices.Contains(topics, later) {
		t.Fatal(i, topics)
	}
	r := web("b", "l")
	r.Service.Name = "LATER"
	topics = must(t, s, r)
	if items, i := s.Items(later); i != 3 || len(items) != 1 || !slices.Contains(topics, later) {
		t.Fatal(items, i, topics)
	}
	must(t, s, &model.Deregistration{Node: "b"})
	if items, i := s.Items(later); i != 4 || len(items) != 0 {
		t.Fatal(items, i)
	}
}

func TestTombstonesAreBounded(t *testing.T) {
	s := New()
	s.maxTombstones = 2
	for _, name := range []string{"a", "b", "c"} {
		must(t, s, &model.Registration{Node: node(name)})        // 2, 4, 6
		must(t, s, &model.Deregistration{Node: name + "nobody"}) // nothing
		s.work.index--
		must(t, s, &model.Deregistration{Node: name}) // 3, 5, 7
	}
	snap := s.Snapshot()
	want := map[string]uint64{"a": 3, "b": 5, "c": 7, "never": 3}
	for name, index := range want {
		if got := snap.TopicIndex(model.Topic{Kind: model.TopicNode, Name: name}); got != index {
			t.Errorf("%s: %d, want %d", name, got, index)
		}
	}
	if snap.Floor() != 3 {
		t.Error("floor", snap.Floor())
	}
	must(t, s, &model.Registration{Node: node("b")})
	if s.graves.Len() != 1 {
		t.Error("a living node is among the tombstones")
	}
}

func TestVirtualAddresses(t *testing.T) {
	s := New()
	address := func(nodeName, id string) string {
		return s.Snapshot().Service(nodeName, id).TaggedAddresses[VirtualTag].Address
	}
	must(t, s, native("n1", "web"))
	must(t, s, native("n1", "db"))
	must(t, s, &model.Registration{Node: node("n2"), Service: &model.Service{ID: "p", Name: "web-proxy", Port: 2000,
		Kind: model.KindConnectProxy, Proxy: &model.Proxy{DestinationServiceName: "Web"},
		TaggedAddresses: map[string]model.ServiceAddress{"lan": {Address: "1.2.3.4", Port: 1}}}})
	if a, b, c := address("n1", "web"), address("n1", "db"), address("n2", "p"); a != "240.0.0.1" || b != "240.0.0.2" || c != a {
		t.Fatal(a, b, c)
	}
	if tagged := s.Snapshot().Service("n2", "p").TaggedAddresses; len(tagged) != 2 || tagged[VirtualTag].Port != 2000 {
		t.Fatal(tagged)
	}
	if topics := must(t, s, native("n1", "web")); len(topics) != 0 {
		t.Fatal("the same again touched", topics)
	}
	must(t, s, &model.Deregistration{Node: "n1"})
	must(t, s, native("n1", "db"))
	if a := address("n1", "db"); a != "240.0.0.3" {
		t.Fatal("an address that was given back is used at once:", a)
	}
	s.work.nextVirtual = virtualLast
	must(t, s, native("n1", "mail"))
	if a := address("n1", "mail"); a != "240.0.0.2" {
		t.Fatal("after the last address comes the first that is free:", a)
	}
}

func TestTimesAreTheCommands(t *testing.T) {
	s := New()
	check := func(status, output string) *model.Check {
		return &model.Check{ID: "c", ServiceID: "w", Status: status, Output: output}
	}
	at := func(index int) time.Time { return t0.Add(time.Duration(index-1) * time.Second) }
	must(t, s, web("n", "w", check("passing", "1")))  // 2
	must(t, s, web("n", "w", check("passing", "2")))  // 3
	must(t, s, web("n", "w", check("critical", "3"))) // 4
	r := web("n", "w", check("critical", "4"))        // 5
	r.Service.Port = 81
	must(t, s, r)
	snap := s.Snapshot()
	c, svc := snap.Check("n", "c"), snap.Service("n", "w")
	if !c.StatusSince.Equal(at(4)) || c.Create != 2 || c.Modify != 5 {
		t.Errorf("check: %v %+v", c.StatusSince, c.Indexes)
	}
	if !svc.RegisteredAt.Equal(at(2)) || svc.Create != 2 || svc.Modify != 5 {
		t.Errorf("service: %v %+v", svc.RegisteredAt, svc.Indexes)
	}
}

// TestRenameKeepsServices: a machine that comes back under another name is never
// without its services.
func TestRenameKeepsServices(t *testing.T) {
	s := New()
	r := web("old", "w", &model.Check{ID: "c", ServiceID: "w", Status: "passing"})
	r.Node.ID = "id"
	must(t, s, r)
	must(t, s, &model.Registration{Node: model.Node{ID: "id", Name: "new", Address: "10.0.0.1"}})
	snap := s.Snapshot()
	got := snap.Instances("WEB")
	if snap.Node("old") != nil || len(got) != 1 || got[0].Node.Name != "new" || len(got[0].Checks) != 1 || got[0].Checks[0].Node != "new" {
		t.Fatal(got)
	}
	if n := snap.NodeByID("id"); n.Name != "new" || n.Create != 2 || n.Modify != 3 {
		t.Fatal(n)
	}
}

// TestRenameOfLivingNode: only the leader knows from gossip that it has a new name.
func TestRenameOfLivingNode(t *testing.T) {
	health := func(status string) *model.Check { return &model.Check{ID: model.CheckSerfHealth, Status: status} }
	for _, c := range []struct {
		health *model.Check
		source string
		ok     bool
	}{
		{health(model.StatusPassing), model.SourceAgent, false},
		{health(model.StatusPassing), "http", true}, // whoever does this by hand means it
		{health(model.StatusPassing), model.SourceLeader, true},
		{health(model.StatusCritical), model.SourceAgent, true},
		{&model.Check{ID: "other", Status: model.StatusPassing}, "http", true}, // a node from outside
	} {
		s := New()
		r := web("old", "w", c.health)
		r.Node.ID = "id"
		must(t, s, r)
		b := s.Batch()
		_, err := b.Register(&model.CommandMeta{Source: c.source}, &model.Registration{Node: model.Node{ID: "id", Name: "new", Address: "10.0.0.9"}})
		b.Commit()
		if renamed := s.Snapshot().Node("old") == nil; (err == nil) != c.ok || renamed != c.ok {
			t.Errorf("%s, %s by %s: renamed %v, %v", c.health.ID, c.health.Status, c.source, renamed, err)
		}
		if err == nil {
			continue
		}
		for _, want := range []string{`"new" (10.0.0.9)`, `"old" (`, "id id", "node-id"} {
			if model.KindOf(err) != model.KindConflict || !strings.Contains(err.Error(), want) {
				t.Errorf("%v: want %q", err, want)
			}
		}
	}
}

func TestCARoots(t *testing.T) {
	s := New()
	set := func() *model.CARootSet {
		return &model.CARootSet{ClusterID: "c", Roots: []*model.CARoot{{ID: "b", Active: true}, {ID: "a"}}, ExpectIndex: new(uint64)}
	}
	topics := must(t, s, set()) // 2
	if !slices.Equal(topics, []model.Topic{{Kind: model.TopicCARoots}}) {
		t.Fatal(topics)
	}
	again := set()
	again.ExpectIndex = nil
	if topics := must(t, s, again); len(topics) != 0 { // 3
		t.Fatal(topics)
	}
	rotated := set()
	rotated.Roots[0].Active, rotated.Roots[1].Active = false, true
	rotated.Roots = append(rotated.Roots[1:], rotated.Roots[0], &model.CARoot{ID: "n"})
	*rotated.ExpectIndex = 2
	must(t, s, rotated) // 4
	items, index := s.Items(model.Topic{Kind: model.TopicCARoots})
	var got []string
	for _, i := range items {
		got = append(got, i.(*model.CARoot).ID)
	}
	if index != 4 || strings.Join(got, "") != "abn" || items[0].(*model.CARoot).Create != 2 || items[2].(*model.CARoot).Create != 4 {
		t.Fatal(index, got)
	}
	if _, id := s.Snapshot().CARoots(); id != "c" {
		t.Fatal(id)
	}
}

func TestNodeServicesOfMany(t *testing.T) {
	// More instances than a change looks through one by one.
	s := New()
	for i := range 3 * longWork {
		must(t, s, web("n", string(rune('A'+i))))
	}
	must(t, s, &model.Registration{Node: node("n"), Checks: []*model.Check{{ID: "m", Status: "warning"}}})
	for _, inst := range s.Snapshot().Instances("web") {
		if len(inst.Checks) != 1 {
			t.Fatal(inst.Service.ID)
		}
	}
	must(t, s, &model.Deregistration{Node: "n"})
	if s.work.services.Len()+s.work.instances.Len()+s.work.checks.Len()+s.work.failing.Len()+s.work.summaries.Len() != 0 {
		t.Fatal("something was left")
	}
}
