package state

import (
	"fmt"
	"maps"
	"testing"

	"pgregory.net/rapid"

	"github.com/muster-discovery/muster/internal/model"
)

// derived is what a rollback must restore besides the tables.
func derived(s *Store) string {
	text := ""
	for _, name := range sortedNames(s.tallies) {
		text += fmt.Sprintf("%s %d %v; ", name, s.tallies[name].instances, s.tallies[name].tags)
	}
	for _, name := range sortedNames(s.virtuals.byName) {
		text += fmt.Sprintf("%s %v; ", name, *s.virtuals.byName[name])
	}
	return text + fmt.Sprint(s.virtuals.used, s.graves.Items(), s.kvGraves.Items(), s.locks.Items(), s.bound.Items())
}

func sortedNames[V any](m map[string]V) []string {
	t := newTree(func(a, b string) bool { return a < b })
	for name := range maps.Keys(m) {
		t.Set(name)
	}
	return t.Items()
}

// genCatalogOps are operations of a transaction on nodes, services and checks.
func genCatalogOps(t *rapid.T) (ops []model.TxnOp) {
	verbs := []model.CatalogVerb{model.CatalogSet, model.CatalogSet, model.CatalogSet, model.CatalogCAS, model.CatalogDelete, model.CatalogDeleteCAS}
	for range rapid.IntRange(0, 6).Draw(t, "ops") {
		verb := rapid.SampledFrom(verbs).Draw(t, "verb")
		node := rapid.SampledFrom(nodeNames).Draw(t, "node")
		switch rapid.IntRange(0, 2).Draw(t, "kind") {
		case 0:
			ops = append(ops, model.TxnOp{Node: &model.NodeOp{Verb: verb, Node: genNode(t)}})
		case 1:
			s := genService(t)
			s.Node = node
			ops = append(ops, model.TxnOp{Service: &model.ServiceOp{Verb: verb, Service: *s}})
		case 2:
			c := genCheck(t)
			c.Node = node
			ops = append(ops, model.TxnOp{Check: &model.CheckOp{Verb: verb, Check: *c}})
		}
	}
	return ops
}

// TestRollback: a transaction that fails leaves nothing behind but its index, one that
// succeeds leaves what its operations would have left one by one.
func TestRollback(t *testing.T) {
	meta := &model.CommandMeta{Time: t0, Datacenter: "dc1"}
	rapid.Check(t, func(t *rapid.T) {
		s := New()
		s.maxTombstones = rapid.IntRange(0, 3).Draw(t, "tombstones")
		for range rapid.IntRange(0, 15).Draw(t, "before") {
			b := s.Batch()
			_, _ = apply(b, genOp(t))
			b.Commit()
		}
		for range rapid.IntRange(1, 4).Draw(t, "transactions") {
			before, header, was := views(s.Snapshot()), s.Snapshot().Header(), derived(s)
			ops := genCatalogOps(t)
			if rapid.Bool().Draw(t, "fail") {
				ops = append(ops, model.TxnOp{KV: &model.KVOp{Verb: model.KVGet, Key: "none"}})
			}
			b := s.Batch()
			_, out, err := b.Transact(meta, &model.Txn{Ops: ops})
			touched := b.Commit()
			if err != nil {
				t.Fatal(err)
			}
			header.Index++
			if len(out.Errors) == 0 {
				c := restored(t, s.Snapshot())
				same(t, views(s.Snapshot()), views(c.Snapshot()))
				if a, b := fmt.Sprint(s.virtuals.used), fmt.Sprint(c.virtuals.used); a != b || len(s.tallies) != len(c.tallies) {
					t.Fatal(a, b, s.tallies, c.tallies)
				}
				continue
			}
			same(t, before, views(s.Snapshot()))
			if got := s.Snapshot().Header(); got != header || derived(s) != was || len(touched) > 0 {
				t.Fatalf("%v %v\n%s\n%s\n%v", got, header, derived(s), was, touched)
			}
		}
	})
}
