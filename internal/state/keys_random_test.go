package state

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-discovery/muster/internal/model"
)

var (
	someKeys     = []string{"a", "a/", "a/b", "a/b/c", "ab", "b", "\xff\x00"}
	somePrefixes = []string{"", "a", "a/", "a/b", "b", "\xff", "zz"}
	someSessions = []string{"s1", "s2", "s3"}
	someNodes    = []string{"n1", "n2"}
)

func genKVOp(t *rapid.T, s *Snapshot, reads bool) *model.KVOp {
	last := model.KVDeleteTree
	if reads {
		last = model.KVCheckNotExists
	}
	op := &model.KVOp{
		Verb:  model.KVVerb(rapid.IntRange(int(model.KVSet), int(last)).Draw(t, "verb")),
		Key:   rapid.SampledFrom(someKeys).Draw(t, "key"),
		Value: rapid.SampledFrom([][]byte{nil, {}, []byte("x"), []byte("y")}).Draw(t, "value"),
		Flags: rapid.Uint64Range(0, 1).Draw(t, "flags"),
	}
	if rapid.Bool().Draw(t, "lock") && op.Verb <= model.KVDeleteCAS {
		op.Verb = rapid.SampledFrom([]model.KVVerb{model.KVLock, model.KVLock, model.KVUnlock}).Draw(t, "lock verb")
	}
	op.Session = rapid.SampledFrom(append(someSessions, "")).Draw(t, "session")
	// Right as often as not: the present indexes and tokens, or others.
	if e := s.Key(op.Key); e != nil && rapid.Bool().Draw(t, "right") {
		op.Index = e.Modify
	} else {
		op.Index = rapid.Uint64Range(0, 5).Draw(t, "index")
	}
	op.Fence = genFence(t, s)
	return op
}

func genFence(t *rapid.T, s *Snapshot) *model.Fence {
	if rapid.IntRange(0, 4).Draw(t, "fence") > 0 {
		return nil
	}
	f := &model.Fence{Key: rapid.SampledFrom(someKeys).Draw(t, "fence key")}
	if e := s.Key(f.Key); e != nil && rapid.Bool().Draw(t, "right token") {
		f.Token = e.Token
	} else {
		f.Token = rapid.Uint64Range(0, 3).Draw(t, "token")
	}
	return f
}

func genStatusCheck(t *rapid.T, node string) *model.Check {
	return &model.Check{Node: node, ID: rapid.SampledFrom([]string{"c1", "c2"}).Draw(t, "check"),
		Status: rapid.SampledFrom([]string{"passing", "passing", "warning", "critical"}).Draw(t, "status")}
}

func genTxnOp(t *rapid.T, s *Snapshot) model.TxnOp {
	node := rapid.SampledFrom(someNodes).Draw(t, "node")
	verb := rapid.SampledFrom([]model.CatalogVerb{model.CatalogSet, model.CatalogSet, model.CatalogDelete}).Draw(t, "verb")
	switch rapid.IntRange(0, 9).Draw(t, "kind") {
	case 0:
		return model.TxnOp{Node: &model.NodeOp{Verb: verb, Node: model.Node{Name: node}}}
	case 1:
		return model.TxnOp{Check: &model.CheckOp{Verb: verb, Check: *genStatusCheck(t, node)}}
	case 2:
		return model.TxnOp{Session: &model.SessionOp{Verb: model.CatalogDelete, ID: rapid.SampledFrom(someSessions).Draw(t, "id")}}
	}
	return model.TxnOp{KV: genKVOp(t, s, true)}
}

func genKeyCommand(t *rapid.T, s *Snapshot) any {
	node := rapid.SampledFrom(someNodes).Draw(t, "node")
	switch rapid.IntRange(0, 11).Draw(t, "command") {
	case 0, 1, 2:
		e := model.Session{ID: rapid.SampledFrom(someSessions).Draw(t, "id"), Node: node,
			Behavior:  rapid.SampledFrom([]string{model.BehaviorRelease, model.BehaviorDelete}).Draw(t, "behavior"),
			LockDelay: rapid.SampledFrom([]time.Duration{0, time.Second}).Draw(t, "delay"),
			TTL:       rapid.SampledFrom([]string{"", "10s"}).Draw(t, "ttl")}
		e.NodeChecks = rapid.SampledFrom([][]string{nil, {}, {"c1"}, {"c1", "c2"}}).Draw(t, "checks")
		return &model.SessionCreation{Session: e}
	case 3:
		return &model.SessionDestruction{ID: rapid.SampledFrom(someSessions).Draw(t, "id")}
	case 4:
		x := &model.Expiry{Sessions: rapid.SliceOfN(rapid.SampledFrom(someSessions), 0, 1).Draw(t, "ids")}
		items, _ := s.Items(model.Topic{Kind: model.TopicTimers})
		for _, item := range items {
			if d, ok := item.(*model.LockDelay); ok && rapid.Bool().Draw(t, "over") {
				x.Delays = append(x.Delays, model.LockDelay{Key: d.Key, Index: d.Index - rapid.Uint64Range(0, 1).Draw(t, "other")})
			}
		}
		return x
	case 5:
		return &model.Registration{Node: model.Node{Name: node}, Checks: []*model.Check{genStatusCheck(t, node)}}
	case 6:
		d := &model.Deregistration{Node: node}
		if rapid.Bool().Draw(t, "check only") {
			d.CheckID = "c1"
		}
		return d
	case 7, 8:
		txn := &model.Txn{Fence: genFence(t, s)}
		for range rapid.IntRange(0, 12).Draw(t, "ops") {
			txn.Ops = append(txn.Ops, genTxnOp(t, s))
		}
		return txn
	}
	return genKVOp(t, s, false)
}

// applyKeys runs a command and returns the code of its refusal, as slowKeys does.
func applyKeys(b *Batch, op any) (index uint64, code string) {
	return applyKeysAs(b, &model.CommandMeta{Time: t0, Datacenter: "dc1"}, op)
}

func applyKeysAs(b *Batch, meta *model.CommandMeta, op any) (index uint64, code string) {
	var err error
	switch op := op.(type) {
	case *model.KVOp:
		index, _, err = b.WriteKV(meta, op)
	case *model.SessionCreation:
		index, err = b.CreateSession(meta, op)
	case *model.SessionDestruction:
		index, err = b.DestroySession(meta, op)
	case *model.Expiry:
		index, err = b.Expire(meta, op)
	case *model.Txn:
		var out *model.Outcome
		if index, out, err = b.Transact(meta, op); err == nil {
			for _, e := range out.Errors {
				code += fmt.Sprintf("%d %s,", e.Op, e.Code)
			}
			return index, code
		}
	case *model.Registration:
		index, err = b.Register(meta, copyOp(op).(*model.Registration))
	case *model.Deregistration:
		index, err = b.Deregister(meta, op)
	}
	var e *model.Error
	if errors.As(err, &e) {
		return index, e.Field
	}
	return index, ""
}

func keyViews(s *Snapshot) map[model.Topic]view {
	var topics []model.Topic
	add := func(kind model.TopicKind, names ...string) {
		for _, name := range names {
			topics = append(topics, model.Topic{Kind: kind, Name: name})
		}
	}
	add(model.TopicKVKey, append(someKeys, "zz")...)
	add(model.TopicKVPrefix, somePrefixes...)
	add(model.TopicSession, append(someSessions, "other")...)
	add(model.TopicNodeSessions, append(someNodes, "other")...)
	add(model.TopicSessions, "")
	add(model.TopicTimers, "")
	all := make(map[model.Topic]view)
	for _, topic := range topics {
		var v view
		v.values, v.index = s.Items(topic)
		if v.index != s.TopicIndex(topic) {
			panic("two indexes of one topic")
		}
		for _, item := range v.values {
			text := fmt.Sprintf("%#v", item)
			v.texts = append(v.texts, strings.TrimPrefix(text, "&"))
		}
		all[topic] = v
	}
	return all
}

// wakes tells whether touched topics wake who waits for one.
func wakes(touched []model.Topic, t model.Topic) bool {
	return slices.ContainsFunc(touched, func(k model.Topic) bool {
		return k == t || t.Kind == model.TopicKVPrefix && k.Kind == model.TopicKVKey && strings.HasPrefix(k.Name, t.Name)
	})
}

// TestRandomKeys holds keys, sessions and transactions to a slow version, and to what
// readers rely on: exactly the topics whose answers changed are touched, indexes never
// go back and move only with a change or, where tombstones were collected, with the
// floor.
func TestRandomKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, m := New(), newSlowKeys()
		s.maxTombstones = rapid.IntRange(0, 3).Draw(t, "tombstones")
		for range rapid.IntRange(1, 40).Draw(t, "commands") {
			op := genKeyCommand(t, s.Snapshot())
			before := keyViews(s.Snapshot())
			want := m.apply(op)
			b := s.Batch()
			index, got := applyKeys(b, op)
			touched := b.Commit()
			if index != m.index || got != want {
				t.Fatalf("%#v: got %d %q, want %d %q", op, index, got, m.index, want)
			}
			compareKeys(t, m, before, keyViews(s.Snapshot()), touched, index, s.Snapshot())
			if s.Snapshot().Header().Fence != m.fence {
				t.Fatal("fence", s.Snapshot().Header().Fence, m.fence)
			}
			if s.undo != nil || len(b.keys.list) > 0 {
				t.Fatal("a transaction left something behind")
			}
		}
		c := restored(t, s.Snapshot())
		c.maxTombstones = s.maxTombstones
		same(t, keyViews(s.Snapshot()), keyViews(c.Snapshot()))
		for range rapid.IntRange(0, 10).Draw(t, "after") {
			op := genKeyCommand(t, s.Snapshot())
			a, b := s.Batch(), c.Batch()
			i, x := applyKeys(a, op)
			j, y := applyKeys(b, op)
			a.Commit()
			b.Commit()
			if i != j || x != y {
				t.Fatalf("after a restore: %d %q, %d %q", i, x, j, y)
			}
		}
		same(t, keyViews(s.Snapshot()), keyViews(c.Snapshot()))
	})
}

func compareKeys(t *rapid.T, m *slowKeys, before, after map[model.Topic]view, touched []model.Topic, index uint64, s *Snapshot) {
	for topic, now := range after {
		old := before[topic]
		if want := m.items(topic); !slices.Equal(now.texts, want) {
			t.Fatalf("%v:\n got %q\nwant %q", topic, now.texts, want)
		}
		floor := s.Floor()
		if topic.Kind == model.TopicKVKey || topic.Kind == model.TopicKVPrefix {
			floor = s.Header().KVFloor
		}
		changed := !slices.Equal(old.texts, now.texts)
		switch {
		case changed != wakes(touched, topic):
			t.Fatalf("%v: changed %v, touched %v", topic, changed, touched)
		case changed && now.index == index:
		case changed && len(now.texts) == 0 && now.index == floor && floor == index: // collected at once
		case changed && topic.Kind == model.TopicKVPrefix && now.index == floor && floor == index:
		case !changed && now.index == old.index:
		case !changed && now.index == floor && now.index > old.index &&
			(len(now.texts) == 0 || topic.Kind == model.TopicKVPrefix): // collected
		default:
			t.Fatalf("%v: index %d to %d, command %d, floor %d, changed %v", topic, old.index, now.index, index, floor, changed)
		}
	}
}
