package fsm

import (
	"bytes"
	"os"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-discovery/muster/internal/model"
)

func genHistorySet(t *rapid.T) *model.KVHistorySet {
	return &model.KVHistorySet{Config: model.KVHistory{Revisions: rapid.Uint64().Draw(t, "revisions"),
		MaxBytes: rapid.Uint64().Draw(t, "bytes"), Indexes: genIndexes(t)}}
}

// genMeetingHistory makes settings under which much is dropped.
func genMeetingHistory(t *rapid.T) *model.KVHistorySet {
	return &model.KVHistorySet{Config: model.KVHistory{Revisions: rapid.Uint64Range(0, 3).Draw(t, "revisions"),
		MaxBytes: rapid.SampledFrom([]uint64{300, 1000, 1 << 20}).Draw(t, "bytes")}}
}

func sampleHistory() *model.KVHistorySet {
	return &model.KVHistorySet{Config: model.KVHistory{Revisions: 10, MaxBytes: 64 << 20}}
}

// sampleWrites are commands that leave revisions of every shape.
func sampleWrites() (list []*Command) {
	set := func(key, value string, flags uint64) *model.KVOp {
		return &model.KVOp{Verb: model.KVSet, Key: key, Value: []byte(value), Flags: flags}
	}
	for i, op := range []any{
		set("old", "before history", 1),
		sampleHistory(),
		set("old", "after", 2),
		set("a", "1", 0), set("a", "2", 7), &model.KVOp{Verb: model.KVDelete, Key: "a"}, &model.KVOp{Verb: model.KVSet, Key: "a"},
		&model.Registration{Node: model.Node{Name: "n", Address: "10.0.0.1"}},
		&model.SessionCreation{Session: model.Session{ID: "s", Node: "n"}},
		&model.KVOp{Verb: model.KVLock, Key: "\xfflock", Value: []byte{0}, Session: "s"},
		&model.SessionDestruction{ID: "s"},
		&model.Txn{Ops: []model.TxnOp{{KV: set("t/1", "x", 0)}, {KV: set("t/2", "", 0)}}},
		&model.KVOp{Verb: model.KVDeleteTree, Key: "t/"},
	} {
		c := &Command{Meta: model.CommandMeta{RequestID: [16]byte{9, byte(i)}, Time: t0.Add(time.Duration(i) * time.Second),
			Datacenter: "dc1", Accessor: "00000000-0000-0000-0000-000000000002", Source: "http"}, Op: op}
		list = append(list, c)
	}
	return list
}

// TestGoldenHistory pins what was added to format 1 for the history of keys.
func TestGoldenHistory(t *testing.T) {
	command := encode(t, &Command{Meta: sample(1).Meta, Op: sampleHistory()})
	golden(t, "testdata/command_1_history.bin", command)
	if got, err := Decode(command); err != nil || !reflect.DeepEqual(got.Op, sampleHistory()) {
		t.Fatal(got, err)
	}
	f := newFixture()
	for i, c := range sampleWrites() {
		if r := f.Apply([][]byte{encode(t, c)}); r[0].Err != nil {
			t.Fatal(i, r[0].Err)
		}
	}
	image := f.snapshot(t)
	golden(t, "testdata/snapshot_1_history.bin", image)
	g := newFixture()
	if err := g.Restore(bytes.NewReader(image)); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"old", "a", "\xfflock", "t/1", "t/2", "none"} {
		got, _ := g.store.Snapshot().KeyHistory(key, 0)
		want, _ := f.store.Snapshot().KeyHistory(key, 0)
		if len(got) != len(want) {
			t.Fatalf("%q: %d revisions, want %d", key, len(got), len(want))
		}
		for i := range got {
			if a, b := shownRevision(got[i]), shownRevision(want[i]); !reflect.DeepEqual(a, b) {
				t.Errorf("%q:\n got %+v\nwant %+v", key, a, b)
			}
		}
	}
	if !bytes.Equal(image, g.snapshot(t)) {
		t.Error("the snapshot of the restored state differs")
	}
}

// shownRevision is a revision without what only a key's present entry has.
func shownRevision(r *model.Revision) model.Revision {
	v := *r
	if e := r.Entry; e != nil {
		v.Entry = &model.KVEntry{Key: e.Key, Value: e.Value, Flags: e.Flags, Session: e.Session}
	}
	return v
}

// TestSnapshotWithoutHistory: what older versions wrote is read, and history begins
// with the setting; what was there before is then kept too.
func TestSnapshotWithoutHistory(t *testing.T) {
	old, err := os.ReadFile("testdata/snapshot_1.bin")
	if err != nil {
		t.Fatal(err)
	}
	f := newFixture()
	if err := f.Restore(bytes.NewReader(old)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(old, f.snapshot(t)) {
		t.Fatal("written again it differs")
	}
	write := encode(t, &Command{Op: &model.KVOp{Verb: model.KVSet, Key: "lock/1", Value: []byte("new")}})
	f.Apply([][]byte{write})
	if list, _ := f.store.Snapshot().KeyHistory("lock/1", 0); len(list) != 1 || list[0].Kind != model.RevisionUnknown {
		t.Fatal("history is kept before it was set:", list)
	}
	f.Apply([][]byte{encode(t, &Command{Op: sampleHistory()}), encode(t, &Command{Op: &model.KVOp{Verb: model.KVDeleteTree}})})
	list, _ := f.store.Snapshot().KeyHistory("lock/1", 0)
	if len(list) != 2 || list[0].Entry != nil || string(list[1].Entry.Value) != "new" || list[1].Kind != model.RevisionUnknown {
		t.Fatalf("%+v", list)
	}
}
