package state

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/muster-discovery/muster/internal/model"
)

// Small sets, so that operations meet.
var (
	nodeNames    = []string{"n1", "N1", "n2", "n3"}
	nodeIDs      = []string{"", "", "id1", "id2"}
	serviceIDs   = []string{"a", "b", "c"}
	serviceNames = []string{"web", "Web", "db", "mail"}
	checkIDs     = []string{"c1", "c2", "c3", "serfHealth"}
	statuses     = []string{"passing", "passing", "warning", "critical", "purple", ""}
	tagLists     = [][]string{nil, {}, {"x"}, {"y", "x"}, {"x", "x"}}
	metas        = []map[string]string{nil, {}, {"k": "1"}, {"k": "2"}}
)

func genNode(t *rapid.T) model.Node {
	return model.Node{
		Name:    rapid.SampledFrom(nodeNames).Draw(t, "node"),
		ID:      rapid.SampledFrom(nodeIDs).Draw(t, "id"),
		Address: rapid.SampledFrom([]string{"10.0.0.1", "10.0.0.1", "10.0.0.2"}).Draw(t, "address"),
		Meta:    rapid.SampledFrom(metas).Draw(t, "meta"),
	}
}

func genService(t *rapid.T) *model.Service {
	s := &model.Service{
		ID:   rapid.SampledFrom(serviceIDs).Draw(t, "service"),
		Name: rapid.SampledFrom(serviceNames).Draw(t, "name"),
		Tags: rapid.SampledFrom(tagLists).Draw(t, "tags"),
		Port: rapid.SampledFrom([]int{0, 80}).Draw(t, "port"),
		Meta: rapid.SampledFrom(metas).Draw(t, "smeta"),
	}
	switch rapid.IntRange(0, 4).Draw(t, "kind") {
	case 0:
		s.Kind = model.KindConnectProxy
		s.Proxy = &model.Proxy{DestinationServiceName: rapid.SampledFrom(serviceNames).Draw(t, "dest")}
	case 1:
		s.Connect.Native = true
	}
	return s
}

func genCheck(t *rapid.T) *model.Check {
	return &model.Check{
		ID:        rapid.SampledFrom(checkIDs).Draw(t, "check"),
		Status:    rapid.SampledFrom(statuses).Draw(t, "status"),
		ServiceID: rapid.SampledFrom([]string{"", "", "a", "b", "c"}).Draw(t, "of"),
		Output:    rapid.SampledFrom([]string{"", "out"}).Draw(t, "output"),
	}
}

func genOp(t *rapid.T) any {
	if rapid.IntRange(0, 3).Draw(t, "op") == 0 {
		d := &model.Deregistration{Node: rapid.SampledFrom(nodeNames).Draw(t, "node")}
		switch rapid.IntRange(0, 3).Draw(t, "what") {
		case 0:
			d.CheckID = rapid.SampledFrom(checkIDs).Draw(t, "check")
		case 1, 2:
			d.ServiceID = rapid.SampledFrom(serviceIDs).Draw(t, "service")
		}
		return d
	}
	r := &model.Registration{Node: genNode(t), SkipNodeUpdate: rapid.IntRange(0, 3).Draw(t, "skip") == 0}
	if rapid.IntRange(0, 2).Draw(t, "with service") > 0 {
		r.Service = genService(t)
	}
	for range rapid.IntRange(0, 2).Draw(t, "checks") {
		r.Checks = append(r.Checks, genCheck(t))
	}
	return r
}

// copyOp makes a copy for the second of two machines: values belong to the store.
func copyOp(op any) any {
	r, ok := op.(*model.Registration)
	if !ok {
		return op
	}
	c := *r
	if r.Service != nil {
		s := *r.Service
		c.Service = &s
	}
	c.Checks = nil
	for _, check := range r.Checks {
		k := *check
		c.Checks = append(c.Checks, &k)
	}
	return &c
}

// universe is every topic that the random operations can touch, and some beside.
func universe() (all []model.Topic) {
	for kind := model.TopicNodes; kind < model.TopicCARoots; kind++ {
		var names []string
		switch kind {
		case model.TopicNode, model.TopicNodeChecks:
			names = []string{"n1", "n2", "n3", "other"}
		case model.TopicService, model.TopicConnect, model.TopicServiceCheck:
			names = []string{"web", "db", "mail", "other"}
		case model.TopicChecksState:
			names = []string{"passing", "warning", "critical", "purple", "other"}
		default:
			names = []string{""}
		}
		for _, name := range names {
			all = append(all, model.Topic{Kind: kind, Name: name})
		}
	}
	return all
}

// view is what a reader sees of one topic.
type view struct {
	values []any
	texts  []string
	index  uint64
}

func views(s *Snapshot) map[model.Topic]view {
	all := make(map[model.Topic]view)
	for _, topic := range universe() {
		var v view
		v.values, v.index = s.Items(topic)
		for _, item := range v.values {
			v.texts = append(v.texts, slowString(item))
		}
		all[topic] = v
	}
	return all
}

// TestRandom compares the state with the slow one after every command, and holds
// it to what readers rely on: touched exactly what changed, indexes that only
// grow, values that keep their address, snapshots that never change.
func TestRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, m := New(), newSlow()
		s.maxTombstones = rapid.IntRange(0, 3).Draw(t, "tombstones")
		var kept *Snapshot
		var keptViews map[model.Topic]view
		for range rapid.IntRange(1, 25).Draw(t, "commands") {
			op := genOp(t)
			before, was := views(s.Snapshot()), s.Snapshot()
			wantErr := m.apply(copyOp(op))
			b := s.Batch()
			index, err := apply(b, op)
			touched := b.Commit()
			if index != m.index || (err == nil) != (wantErr == nil) || model.KindOf(err) != model.KindOf(wantErr) {
				t.Fatalf("got %d, %v, want %d, %v", index, err, m.index, wantErr)
			}
			compare(t, m, before, views(s.Snapshot()), touched, index, s.Snapshot().Floor())
			if kept == nil && rapid.IntRange(0, 9).Draw(t, "keep") == 0 {
				kept, keptViews = was, before
			}
		}
		if kept != nil {
			same(t, keptViews, views(kept))
		}
	})
}

func compare(t *rapid.T, m *slow, before, after map[model.Topic]view, touched []model.Topic, index, floor uint64) {
	for _, topic := range touched {
		if _, known := after[topic]; !known {
			t.Fatalf("unexpected topic %v", topic)
		}
	}
	for topic, now := range after {
		old := before[topic]
		if want := m.items(topic); !slices.Equal(now.texts, want) {
			t.Fatalf("%v:\n got %q\nwant %q", topic, now.texts, want)
		}
		changed := !slices.Equal(old.texts, now.texts)
		if changed != slices.Contains(touched, topic) {
			t.Fatalf("%v: changed %v, touched %v\n%q\n%q", topic, changed, touched, old.texts, now.texts)
		}
		switch {
		case changed && now.index == index:
		case changed && len(now.texts) == 0 && floor == index && now.index == floor: // collected at once
		case !changed && now.index == old.index:
		case !changed && len(now.texts) == 0 && now.index == floor && now.index > old.index: // collected
		default:
			t.Fatalf("%v: index %d to %d, command %d, floor %d, changed %v", topic, old.index, now.index, index, floor, changed)
		}
		if topic.Kind == model.TopicNode {
			continue // made for each call
		}
		for i, text := range old.texts {
			if j := slices.Index(now.texts, text); j >= 0 && old.values[i] != now.values[j] {
				t.Fatalf("%v: an unchanged value has a new address: %s", topic, text)
			}
		}
	}
}

func same(t *rapid.T, a, b map[model.Topic]view) {
	for topic, v := range a {
		if w := b[topic]; v.index != w.index || !slices.Equal(v.texts, w.texts) {
			t.Fatalf("%v differs:\n%d %q\n%d %q", topic, v.index, v.texts, w.index, w.texts)
		}
	}
}

// restored makes a store from another's records.
func restored(t *rapid.T, s *Snapshot) *Store {
	r, err := NewRestorer(s.Header())
	if err != nil {
		t.Fatal(err)
	}
	err = s.Records(func(v any) error {
		switch x := v.(type) { // as a decoder would: fresh values
		case *model.Node:
			c := *x
			v = &c
		case *model.Service:
			c := *x
			v = &c
		case *model.Check:
			c := *x
			c.ServiceName, c.ServiceTags = "", nil
			v = &c
		}
		return r.Add(v)
	})
	if err != nil {
		t.Fatal(err)
	}
	into := New()
	r.Finish(into)
	return into
}

// TestRandomRestore cuts a history by a restore: what follows must be the same.
// Batches are split differently on both sides.
func TestRandomRestore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := New()
		a.maxTombstones = rapid.IntRange(0, 3).Draw(t, "tombstones")
		for range rapid.IntRange(0, 15).Draw(t, "before") {
			b := a.Batch()
			_, _ = apply(b, genOp(t))
			b.Commit()
		}
		c := restored(t, a.Snapshot())
		c.maxTombstones = a.maxTombstones
		same(t, views(a.Snapshot()), views(c.Snapshot()))
		batch := c.Batch()
		for range rapid.IntRange(0, 15).Draw(t, "after") {
			op := genOp(t)
			b := a.Batch()
			i, err := apply(b, copyOp(op))
			b.Commit()
			j, err2 := apply(batch, op)
			if i != j || model.KindOf(err) != model.KindOf(err2) {
				t.Fatalf("%d %v, %d %v", i, err, j, err2)
			}
			if rapid.Bool().Draw(t, "commit") {
				batch.Commit()
				batch = c.Batch()
			}
		}
		batch.Commit()
		same(t, views(a.Snapshot()), views(c.Snapshot()))
		if a.Snapshot().Header() != c.Snapshot().Header() {
			t.Fatal(a.Snapshot().Header(), c.Snapshot().Header())
		}
	})
}
