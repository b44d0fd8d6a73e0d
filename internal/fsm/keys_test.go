package fsm

import (
	"bytes"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/pb"
	"github.com/muster-discovery/muster/internal/state"
)

func genKey(t *rapid.T) string {
	return string(rapid.SliceOf(rapid.Byte()).Draw(t, "key"))
}

func genFence(t *rapid.T) *model.Fence {
	if rapid.Bool().Draw(t, "no fence") {
		return nil
	}
	return &model.Fence{Key: genKey(t), Token: rapid.Uint64().Draw(t, "token")}
}

func genKVOp(t *rapid.T) *model.KVOp {
	return &model.KVOp{Verb: model.KVVerb(rapid.IntRange(1, int(model.KVCheckNotExists)).Draw(t, "verb")), Key: genKey(t),
		Value: genBytes(t), Flags: rapid.Uint64().Draw(t, "flags"), Session: genString(t), Index: rapid.Uint64().Draw(t, "index"),
		Fence: genFence(t)}
}

func genSession(t *rapid.T) *model.Session {
	s := &model.Session{ID: genString(t), Name: genString(t), Node: genString(t), NodeChecks: genStrings(t),
		LockDelay: time.Duration(rapid.Int64().Draw(t, "delay")), Behavior: genString(t), TTL: genString(t), Indexes: genIndexes(t)}
	switch rapid.IntRange(0, 2).Draw(t, "service checks") {
	case 1:
		s.ServiceChecks = []model.ServiceCheck{}
	case 2:
		s.ServiceChecks = []model.ServiceCheck{{}, {ID: genString(t), Namespace: genString(t)}}
	}
	return s
}

func genCatalogVerb(t *rapid.T) model.CatalogVerb {
	return model.CatalogVerb(rapid.IntRange(1, int(model.CatalogDeleteCAS)).Draw(t, "catalog verb"))
}

func genTxnOp(t *rapid.T) model.TxnOp {
	switch rapid.IntRange(0, 4).Draw(t, "kind") {
	case 0:
		return model.TxnOp{Node: &model.NodeOp{Verb: genCatalogVerb(t), Node: genNode(t)}}
	case 1:
		return model.TxnOp{Service: &model.ServiceOp{Verb: genCatalogVerb(t), Service: *genService(t)}}
	case 2:
		return model.TxnOp{Check: &model.CheckOp{Verb: genCatalogVerb(t), Check: *genCheck(t)}}
	case 3:
		return model.TxnOp{Session: &model.SessionOp{Verb: genCatalogVerb(t), ID: genString(t)}}
	}
	return model.TxnOp{KV: genKVOp(t)}
}

func genDelay(t *rapid.T) model.LockDelay {
	return model.LockDelay{Key: genKey(t), Delay: time.Duration(rapid.Int64().Draw(t, "delay")), Index: rapid.Uint64().Draw(t, "index")}
}

// genKeyOp makes an operation on keys or sessions in all its shapes.
func genKeyOp(t *rapid.T) any {
	switch rapid.IntRange(0, 5).Draw(t, "key op") {
	case 0:
		return &model.SessionCreation{Session: *genSession(t)}
	case 1:
		return &model.SessionDestruction{ID: genString(t)}
	case 2:
		return &model.SessionRenewal{ID: genString(t)}
	case 3:
		x := new(model.Expiry)
		for range rapid.IntRange(0, 2).Draw(t, "expired") {
			x.Sessions = append(x.Sessions, genString(t))
			x.Delays = append(x.Delays, genDelay(t))
		}
		return x
	case 4:
		txn := &model.Txn{Fence: genFence(t)}
		for range rapid.IntRange(0, 4).Draw(t, "ops") {
			txn.Ops = append(txn.Ops, genTxnOp(t))
		}
		return txn
	}
	return genKVOp(t)
}

// genMeetingOp makes an operation on few names, so that operations meet.
func genMeetingOp(t *rapid.T, node string) any {
	session := rapid.SampledFrom([]string{"s1", "s2"}).Draw(t, "session")
	key := rapid.SampledFrom([]string{"a", "a/b", "\xff"}).Draw(t, "key")
	kv := &model.KVOp{Verb: model.KVVerb(rapid.IntRange(1, int(model.KVDeleteTree)).Draw(t, "verb")), Key: key,
		Value: []byte{byte(rapid.IntRange(0, 1).Draw(t, "value"))}, Session: session}
	switch rapid.IntRange(0, 5).Draw(t, "what") {
	case 0:
		return &model.SessionCreation{Session: model.Session{ID: session, Node: node, LockDelay: time.Second, TTL: "10s"}}
	case 1:
		return &model.SessionDestruction{ID: session}
	case 2:
		return &model.Txn{Ops: []model.TxnOp{{KV: kv}, {KV: &model.KVOp{Verb: model.KVGet, Key: "a"}},
			{Node: &model.NodeOp{Verb: model.CatalogSet, Node: model.Node{Name: node, Address: "10.9.9.9"}}}}}
	case 3:
		return &model.SessionRenewal{ID: session}
	}
	return kv
}

// sampleKeyOps are commands that leave one of everything behind.
func sampleKeyOps() []any {
	lock := func(session, key string) *model.KVOp {
		return &model.KVOp{Verb: model.KVLock, Key: key, Value: []byte("held"), Session: session, Flags: 7}
	}
	return []any{
		&model.Registration{Node: model.Node{Name: "s", Address: "10.0.0.9"}, Checks: []*model.Check{{ID: "c", Status: "passing"}}},
		&model.SessionCreation{Session: model.Session{ID: "s1", Name: "one", Node: "s", NodeChecks: []string{"c"}, TTL: "15s", LockDelay: time.Second}},
		&model.SessionCreation{Session: model.Session{ID: "s2", Node: "s", NodeChecks: []string{}, LockDelay: time.Second,
			ServiceChecks: []model.ServiceCheck{{ID: "c"}}, Behavior: model.BehaviorDelete}},
		lock("s1", "lock/1"), lock("s2", "lock/2"), lock("s1", "lock/3"),
		&model.KVOp{Verb: model.KVSet, Key: "\xff\x00", Value: []byte{}, Fence: &model.Fence{Key: "lock/1", Token: 1}},
		&model.SessionDestruction{ID: "s2"},
		&model.Txn{Ops: []model.TxnOp{{KV: &model.KVOp{Verb: model.KVSet, Key: "t", Value: []byte("v")}},
			{KV: &model.KVOp{Verb: model.KVGetTree, Key: "lock/"}},
			{Check: &model.CheckOp{Verb: model.CatalogSet, Check: model.Check{Node: "s", ID: "d", Status: "warning"}}},
			{Service: &model.ServiceOp{Verb: model.CatalogSet, Service: model.Service{Node: "s", Name: "web"}}},
			{Session: &model.SessionOp{Verb: model.CatalogDelete, ID: "none"}}},
			Fence: &model.Fence{Key: "lock/1", Token: 1}},
		&model.Txn{Ops: []model.TxnOp{{KV: &model.KVOp{Verb: model.KVCAS, Key: "t", Index: 1}}, {Node: &model.NodeOp{Verb: model.CatalogGet, Node: model.Node{Name: "none"}}}}},
		&model.Expiry{Sessions: []string{"none"}, Delays: []model.LockDelay{{Key: "lock/9", Delay: 1, Index: 2}}},
		&model.KVOp{Verb: model.KVDelete, Key: "lock/3"},
	}
}

func TestOutcomeRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := &model.Outcome{Token: rapid.Uint64().Draw(t, "token")}
		for range rapid.IntRange(0, 3).Draw(t, "results") {
			switch rapid.IntRange(0, 4).Draw(t, "kind") {
			case 0:
				want.Results = append(want.Results, model.TxnResult{KV: &model.KVEntry{Key: genKey(t), Value: genBytes(t), Session: genString(t),
					LockIndex: rapid.Uint64().Draw(t, "lock"), Token: 3, Flags: 4, Indexes: genIndexes(t)}})
			case 1:
				n := genNode(t)
				want.Results = append(want.Results, model.TxnResult{Node: &n})
			case 2:
				want.Results = append(want.Results, model.TxnResult{Service: genService(t)})
			case 3:
				want.Results = append(want.Results, model.TxnResult{Check: genCheck(t)})
			case 4:
				want.Results = append(want.Results, model.TxnResult{Session: genSession(t)})
			}
		}
		for i := range rapid.IntRange(0, 2).Draw(t, "errors") {
			want.Errors = append(want.Errors, model.TxnError{Op: i, Code: genString(t), Text: genString(t)})
		}
		b := EncodeOutcome(want)
		got, err := DecodeOutcome(b)
		if err != nil || b == nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%v\n got %#v\nwant %#v", err, got, want)
		}
		var m pb.Outcome
		if err := proto.Unmarshal(b, &m); err != nil {
			t.Fatal(err)
		}
		m.ProtoReflect().Range(func(f protoField, v protoValue) bool { return known(t, f, v) })
	})
}

func FuzzDecodeOutcome(f *testing.F) {
	f.Add(EncodeOutcome(&model.Outcome{Token: 1, Results: []model.TxnResult{{KV: &model.KVEntry{Key: "k"}}}, Errors: []model.TxnError{{Op: 1}}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		o, err := DecodeOutcome(b)
		if err != nil {
			return
		}
		again, err := DecodeOutcome(EncodeOutcome(o))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(EncodeOutcome(o), EncodeOutcome(again)) {
			t.Fatal("not the same again")
		}
	})
}

// TestRenewalInLog: a renewal has no business in the log; it is refused there like
// bytes that no version writes.
func TestRenewalInLog(t *testing.T) {
	f := newFixture()
	r := f.Apply([][]byte{encode(t, &Command{Op: &model.SessionRenewal{ID: "s"}})})
	if r[0].Index != 2 || r[0].Err != errInvalidCommand || len(f.published) != 0 {
		t.Fatal(r, f.published)
	}
}

// TestRepeatedOutcome: a repeated command gets the outcome of the first try, until the
// bound on what is kept is reached; tokens stay.
func TestRepeatedOutcome(t *testing.T) {
	f := newFixture()
	apply := func(id int, op any) Result {
		return f.Apply([][]byte{encode(t, &Command{Meta: model.CommandMeta{RequestID: [16]byte{1, byte(id), byte(id >> 8)}}, Op: op})})[0]
	}
	for i, op := range sampleKeyOps()[:3] {
		apply(1000+i, op)
	}
	token := apply(1, &model.KVOp{Verb: model.KVLock, Key: "l", Session: "s1", Value: bytes.Repeat([]byte("x"), 1<<20)})
	read := &model.Txn{Ops: []model.TxnOp{{KV: &model.KVOp{Verb: model.KVSet, Key: "w"}}, {KV: &model.KVOp{Verb: model.KVGet, Key: "l"}}}}
	first := apply(2, read)
	if again := apply(2, read); !reflect.DeepEqual(again, first) || len(first.Data) < 1<<20 {
		t.Fatal("not repeated", len(first.Data))
	}
	for i := range maxRecentData >> 20 {
		apply(3+i, read)
	}
	g := newFixture()
	if err := g.Restore(bytes.NewReader(f.snapshot(t))); err != nil {
		t.Fatal(err)
	}
	for _, f = range []*fixture{f, g} {
		if again := apply(2, read); again.Index != first.Index || again.Data != nil {
			t.Fatal("kept beyond the bound")
		}
		if again := apply(1, &model.KVOp{Verb: model.KVLock, Key: "l", Session: "s1"}); !reflect.DeepEqual(again, token) {
			t.Fatal("the token was lost")
		}
		if f.recent.data > maxRecentData {
			t.Fatal(f.recent.data)
		}
	}
	if !bytes.Equal(f.snapshot(t), g.snapshot(t)) {
		t.Fatal("the machines differ")
	}
}

// TestRaiseEpoch: tokens go on growing after an old snapshot was restored, and the
// snapshot is otherwise the same.
func TestRaiseEpoch(t *testing.T) {
	f := newFixture()
	for _, op := range sampleKeyOps() {
		f.Apply([][]byte{encode(t, &Command{Op: op})})
	}
	now := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	image := f.snapshot(t)
	last := f.store.Snapshot().Header().Fence
	for range 3 { // the same old snapshot each time
		var raised bytes.Buffer
		if err := RaiseEpoch(&raised, bytes.NewReader(image), state.Header{Fence: last, Index: 1000}, now); err != nil {
			t.Fatal(err)
		}
		again, size, err := Raised(bytes.NewReader(image), int64(len(image)), state.Header{Fence: last, Index: 1000}, now)
		if err != nil {
			t.Fatal(err)
		}
		if same, err := io.ReadAll(again); err != nil || size != int64(raised.Len()) || !bytes.Equal(same, raised.Bytes()) {
			t.Fatal("raised in place is another one:", err)
		}
		g := newFixture()
		if err := g.Restore(&raised); err != nil {
			t.Fatal(err)
		}
		want := f.store.Snapshot().Header()
		got := g.store.Snapshot().Header()
		if got.Fence <= last || got.Fence>>epochShift < uint64(now.Unix()) {
			t.Fatal(got.Fence, last)
		}
		want.Fence, want.Index, want.Raised = got.Fence, 1001, 1001
		if got != want || g.store.Snapshot().Key("lock/1").Token != 1 {
			t.Fatal(got, want)
		}
		r := g.Apply([][]byte{encode(t, &Command{Op: &model.SessionCreation{Session: model.Session{ID: "n", Node: "s"}}}),
			encode(t, &Command{Op: &model.KVOp{Verb: model.KVLock, Key: "new", Session: "n"}})})
		out, err := DecodeOutcome(r[1].Data)
		if err != nil || out.Token <= last {
			t.Fatal(r, err)
		}
		last = out.Token
	}
	damaged := bytes.Clone(image)
	damaged[len(damaged)-9] ^= 1
	if err := RaiseEpoch(&bytes.Buffer{}, bytes.NewReader(damaged), state.Header{}, now); err == nil || !strings.Contains(err.Error(), "checksum") {
		t.Fatal("damage went unnoticed:", err)
	}
}

func BenchmarkDeleteTree(b *testing.B) {
	for range b.N {
		b.StopTimer()
		f := newFixture()
		var entry [][]byte
		for i := range 100_000 {
			entry = append(entry, encode(b, &Command{Op: &model.KVOp{Verb: model.KVSet, Key: fmt.Sprintf("tree/%06d", i), Value: []byte("v")}}))
		}
		f.Apply(entry)
		del := [][]byte{encode(b, &Command{Op: &model.KVOp{Verb: model.KVDeleteTree, Key: "tree/"}})}
		b.StartTimer()
		f.Apply(del)
	}
}
