package state

import (
	"strings"
	"testing"

	"github.com/muster-discovery/muster/internal/model"
)

// TestRestoreRefusesRevisions: what no server writes is not taken.
func TestRestoreRefusesRevisions(t *testing.T) {
	rec := func(key string, index uint64, present bool) RevisionRecord {
		return RevisionRecord{Revision: model.Revision{Key: key, Index: index}, Present: present}
	}
	setting := &model.KVHistory{Revisions: 3, MaxBytes: 1000}
	key := &model.KVEntry{Key: "k", Indexes: model.Indexes{Create: 5, Modify: 5}}
	for name, c := range map[string]struct {
		records []any
		want    string
	}{
		"no setting":        {[]any{rec("a", 2, false)}, "no history is kept"},
		"two settings":      {[]any{setting, setting}, "twice"},
		"no key":            {[]any{setting, rec("", 2, false)}, "no key"},
		"too new":           {[]any{setting, rec("a", 11, false)}, "impossible index"},
		"twice":             {[]any{setting, rec("a", 2, false), rec("a", 2, false)}, "out of order"},
		"out of order":      {[]any{setting, rec("b", 2, false), rec("a", 3, false)}, "out of order"},
		"no such key":       {[]any{setting, rec("k", 5, true)}, "not the present one"},
		"another index":     {[]any{key, setting, rec("k", 4, true)}, "not the present one"},
		"after the present": {[]any{key, setting, rec("k", 5, true), rec("k", 6, false)}, "after the present one"},
		"all right":         {[]any{key, setting, rec("a", 2, false), rec("k", 4, false), rec("k", 5, true)}, ""},
	} {
		r, err := NewRestorer(Header{Index: 10, Floor: 1, KVFloor: 1})
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range c.records {
			if err == nil {
				err = r.Add(v)
			}
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestQuietKey: a key's present value stays known however much of others is past, and
// becomes history when it is replaced at last.
func TestQuietKey(t *testing.T) {
	s := New()
	meta := &model.CommandMeta{Time: t0, Source: "test"}
	write := func(op *model.KVOp) {
		b := s.Batch()
		if _, _, err := b.WriteKV(meta, op); err != nil {
			t.Fatal(err)
		}
		b.Commit()
	}
	b := s.Batch()
	if _, err := b.SetHistory(meta, &model.KVHistorySet{Config: model.KVHistory{Revisions: 5, MaxBytes: 1000}}); err != nil {
		t.Fatal(err)
	}
	b.Commit()
	write(&model.KVOp{Verb: model.KVSet, Key: "quiet", Value: []byte("old")})
	for i := range 100 {
		write(&model.KVOp{Verb: model.KVSet, Key: "busy", Value: []byte{byte(i)}})
	}
	if list, _ := s.Snapshot().KeyHistory("quiet", 0); len(list) != 1 || list[0].Source != "test" {
		t.Fatalf("%+v", list)
	}
	write(&model.KVOp{Verb: model.KVDelete, Key: "quiet"})
	list, index := s.Snapshot().KeyHistory("quiet", 0)
	if len(list) != 2 || string(list[1].Entry.Value) != "old" || list[0].Entry != nil || index != list[0].Index || s.pastBytes > 1000 {
		t.Fatalf("%+v %d %d", list, index, s.pastBytes)
	}
	if list, _ := s.Snapshot().KeyHistory("quiet", 1); len(list) != 1 {
		t.Fatal("no limit")
	}
}
