package snapshot

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/muster-discovery/muster/internal/fsm"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/state"
)

// TestMerge compares with the obvious way, on random keys of both sides.
func TestMerge(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const prefix = "a/"
		saved, now := drawKeys(rt, "saved"), drawKeys(rt, "now")
		del, dry := rapid.Bool().Draw(rt, "delete"), rapid.Bool().Draw(rt, "dry")
		m := Merge{Prefix: prefix, Delete: del, Present: below(machineOf(t, now), prefix)}
		got, largest := map[string]string{}, 0
		for k, v := range now {
			got[k] = v
		}
		if !dry {
			m.Write = func(ops []model.TxnOp) error {
				largest = max(largest, len(ops))
				for _, op := range ops {
					if op.KV.Verb == model.KVDelete {
						delete(got, op.KV.Key)
					} else {
						got[op.KV.Key] = string(op.KV.Value)
					}
				}
				return nil
			}
		}
		var image bytes.Buffer
		if _, err := machineOf(t, saved).Image().WriteTo(&image); err != nil {
			rt.Fatal(err)
		}
		if err := m.Run(&image); err != nil {
			rt.Fatal(err)
		}
		want, counts := expected(saved, now, prefix, del)
		counts.Transactions = m.Transactions
		if dry {
			want = now
		}
		if m.Merged != counts || fmt.Sprint(got) != fmt.Sprint(want) || largest > mergeOps || dry != (m.Transactions == 0) && counts.Created+counts.Updated+counts.Deleted > 0 {
			rt.Fatalf("delete %t, dry %t: %+v, want %+v\n got %v\nwant %v", del, dry, m.Merged, counts, got, want)
		}
	})
}

func drawKeys(t *rapid.T, label string) map[string]string {
	return rapid.MapOfN(rapid.SampledFrom([]string{"a", "a/", "a/1", "a/2", "a/3", "a/4", "a/x/1", "a0", "b"}),
		rapid.SampledFrom([]string{"", "v", "w"}), 0, 9).Draw(t, label)
}

func machineOf(t *testing.T, keys map[string]string) *fsm.Machine {
	m := fsm.New(state.New(), func([]model.Topic) {})
	for k, v := range keys {
		apply(t, m, &model.KVOp{Verb: model.KVSet, Key: k, Value: []byte(v)})
	}
	return m
}

func below(m *fsm.Machine, prefix string) (list []*model.KVEntry) {
	var image bytes.Buffer
	_, _ = m.Image().WriteTo(&image)
	_, _ = fsm.Scan(&image, func(v any, _ int) error {
		if e, ok := v.(*model.KVEntry); ok && len(e.Key) >= len(prefix) && e.Key[:len(prefix)] == prefix {
			list = append(list, e)
		}
		return nil
	})
	return list
}

func expected(saved, now map[string]string, prefix string, del bool) (map[string]string, Merged) {
	want, counts := map[string]string{}, Merged{}
	inside := func(k string) bool { return len(k) >= len(prefix) && k[:len(prefix)] == prefix }
	for k, v := range now {
		want[k] = v
		if _, ok := saved[k]; ok || !inside(k) {
			continue
		}
		if counts.Kept++; del {
			counts.Kept--
			counts.Deleted++
			delete(want, k)
		}
	}
	for k, v := range saved {
		if !inside(k) {
			continue
		}
		old, ok := now[k]
		switch want[k] = v; {
		case !ok:
			counts.Created++
		case old == v:
			counts.Unchanged++
		default:
			counts.Updated++
		}
	}
	return want, counts
}

// TestMergeBounds: a transaction has at most so many operations and, unless it is one
// value, so many bytes; an error ends the merge.
func TestMergeBounds(t *testing.T) {
	m := fsm.New(state.New(), func([]model.Topic) {})
	for i := range 150 {
		apply(t, m, &model.KVOp{Verb: model.KVSet, Key: fmt.Sprintf("k/%03d", i), Value: make([]byte, 10)})
	}
	for i := range 3 {
		apply(t, m, &model.KVOp{Verb: model.KVSet, Key: fmt.Sprintf("l/%d", i), Value: make([]byte, mergeBytes/2+1)})
	}
	var image bytes.Buffer
	if _, err := m.Image().WriteTo(&image); err != nil {
		t.Fatal(err)
	}
	var sizes []int
	g := Merge{Write: func(ops []model.TxnOp) error { sizes = append(sizes, len(ops)); return nil }}
	if err := g.Run(bytes.NewReader(image.Bytes())); err != nil || fmt.Sprint(sizes) != "[64 64 23 1 1]" {
		t.Errorf("%v, %v", sizes, err)
	}
	mine := errors.New("mine")
	g = Merge{Write: func([]model.TxnOp) error { return mine }}
	if err := g.Run(bytes.NewReader(image.Bytes())); !errors.Is(err, mine) || g.Transactions != 0 {
		t.Error(err)
	}
}
