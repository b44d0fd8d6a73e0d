package state

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-discovery/muster/internal/model"
)

// slowRevision is a revision of slowHistory; at is when it became past, 0 if it has not.
type slowRevision struct {
	key       string
	index, at uint64
	cost      uint64
	text      string
}

// slowHistory is the obvious version of the keys' history: it compares all keys before
// and after each command.
type slowHistory struct {
	*slowKeys
	set  *model.KVHistory
	list []slowRevision // by index
}

func (s *slowHistory) apply(meta *model.CommandMeta, op any) string {
	before, kinds := maps.Clone(s.kv), s.kinds(op)
	code := s.slowKeys.apply(op)
	if s.set == nil || s.set.Revisions == 0 {
		return code
	}
	keys := maps.Clone(before)
	maps.Copy(keys, s.kv)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		old, had := before[key]
		now, has := s.kv[key]
		if had == has && fmt.Sprintf("%#v", old) == fmt.Sprintf("%#v", now) {
			continue
		}
		if had && s.last(key) == nil {
			s.add(key, old.Modify, fmt.Sprintf("%d unknown %#v", old.Modify, old), &old)
		}
		_, txn := op.(*model.Txn)
		text := fmt.Sprintf("%d %v %s %s %s %v ", s.index, meta.Time.Unix(), meta.Accessor, meta.Source, kinds[key], txn)
		if has {
			s.add(key, s.index, text+fmt.Sprintf("%#v", now), &now)
		} else {
			s.add(key, s.index, text+"deleted", nil)
		}
	}
	s.trim()
	return code
}

// kinds tells of each key what the last operation that wrote it was.
func (s *slowHistory) kinds(op any) map[string]string {
	kinds, c := map[string]string{}, s.clone()
	c.index++
	step := func(kind string, do func()) {
		before := maps.Clone(c.kv)
		do()
		for _, key := range someKeys {
			if fmt.Sprintf("%#v", before[key]) != fmt.Sprintf("%#v", c.kv[key]) {
				kinds[key] = kind
			}
		}
	}
	switch op := op.(type) {
	case *model.Txn:
		for i := range op.Ops {
			kind := "session-end"
			if kv := op.Ops[i].KV; kv != nil {
				kind = kv.Verb.String()
			}
			step(kind, func() { c.step(&op.Ops[i]) })
		}
	case *model.KVOp:
		step(op.Verb.String(), func() { c.write(op) })
	default:
		step("session-end", func() {
			c.index-- // apply takes it
			c.apply(op)
		})
	}
	return kinds
}

func (s *slowHistory) last(key string) *slowRevision {
	for i := range slices.Backward(s.list) {
		if s.list[i].key == key {
			return &s.list[i]
		}
	}
	return nil
}

func (s *slowHistory) add(key string, index uint64, text string, e *model.KVEntry) {
	if last := s.last(key); last != nil && last.at == 0 {
		last.at = index
	}
	r := slowRevision{key: key, index: index, text: text, cost: uint64(256 + len(key))}
	if e == nil {
		r.at = index
	} else {
		r.cost += uint64(len(e.Value))
	}
	s.list = append(s.list, r)
}

func (s *slowHistory) trim() {
	if s.set.Revisions == 0 {
		s.list = nil
		return
	}
	count := map[string]uint64{}
	for i := len(s.list) - 1; i >= 0; i-- {
		if count[s.list[i].key]++; count[s.list[i].key] > s.set.Revisions {
			s.list = slices.Delete(s.list, i, i+1)
		}
	}
	for s.bytes() > s.set.MaxBytes {
		oldest := slices.MinFunc(s.list, func(a, b slowRevision) int {
			return cmp.Or(cmp.Compare(a.at-1, b.at-1), cmp.Compare(a.key, b.key), cmp.Compare(a.index, b.index)) // 0 is never
		})
		s.list = slices.DeleteFunc(s.list, func(r slowRevision) bool { return r == oldest })
	}
}

func (s *slowHistory) bytes() (n uint64) {
	for _, r := range s.list {
		if r.at != 0 {
			n += r.cost
		}
	}
	return n
}

// of lists a key's revisions, newest first.
func (s *slowHistory) of(key string) (texts []string) {
	if e, ok := s.kv[key]; ok && s.last(key) == nil {
		texts = append(texts, fmt.Sprintf("%d unknown %#v", e.Modify, e))
	}
	for _, r := range slices.Backward(s.list) {
		if r.key == key {
			texts = append(texts, r.text)
		}
	}
	return texts
}

func historyOf(s *Snapshot, key string) (texts []string) {
	list, _ := s.KeyHistory(key, 0)
	for _, r := range list {
		if r.Kind == model.RevisionUnknown {
			texts = append(texts, fmt.Sprintf("%d unknown %#v", r.Index, *r.Entry))
			continue
		}
		text := fmt.Sprintf("%d %v %s %s %s %v ", r.Index, r.Time.Unix(), r.Accessor, r.Source, r.Kind, r.Txn)
		if r.Entry == nil {
			text += "deleted"
		} else {
			text += fmt.Sprintf("%#v", *r.Entry)
		}
		texts = append(texts, text)
	}
	return texts
}

func genHistory(t *rapid.T) *model.KVHistorySet {
	return &model.KVHistorySet{Config: model.KVHistory{Revisions: rapid.Uint64Range(0, 4).Draw(t, "revisions"),
		MaxBytes: rapid.SampledFrom([]uint64{0, 300, 1000, 3000, 1 << 20}).Draw(t, "bytes")}}
}

// TestRandomHistory holds the history of keys to a slow version, also across a snapshot
// and whatever the setting is changed to.
func TestRandomHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, m := New(), &slowHistory{slowKeys: newSlowKeys()}
		for i := range rapid.IntRange(1, 60).Draw(t, "commands") {
			meta := &model.CommandMeta{Time: t0.Add(time.Duration(i) * time.Second), Accessor: fmt.Sprint("a", i%3), Source: "test"}
			b := s.Batch()
			if rapid.IntRange(0, 6).Draw(t, "what") == 0 {
				set := genHistory(t)
				if _, err := b.SetHistory(meta, set); err != nil {
					t.Fatal(err)
				}
				m.set = &set.Config
				m.index++
				m.trim()
			} else {
				op := genKeyCommand(t, s.Snapshot())
				m.apply(meta, op)
				applyKeysAs(b, meta, op)
			}
			b.Commit()
			if rapid.IntRange(0, 9).Draw(t, "restart") == 0 {
				s = restored(t, s.Snapshot())
			}
			for _, key := range append(someKeys, "zz") {
				if got, want := historyOf(s.Snapshot(), key), m.of(key); !slices.Equal(got, want) {
					t.Fatalf("%q:\n got %q\nwant %q", key, got, want)
				}
			}
			if s.pastBytes != m.bytes() || s.past.Len() > s.work.revisions.Len() {
				t.Fatalf("%d bytes, want %d", s.pastBytes, m.bytes())
			}
		}
	})
}
