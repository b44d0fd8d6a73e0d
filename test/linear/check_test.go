package linear

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// at is an operation of client n between two moments.
func at(n int, call, ret int64, op Op) Op {
	op.Client, op.Call, op.Return = n, call, ret
	if op.On == "" {
		op.On = "x"
	}
	if op.Result == "" {
		op.Result = Yes
	}
	return op
}

// TestModels: histories that have an explanation, and their neighbors that have none.
func TestModels(t *testing.T) {
	const s1, s2 = "session-1", "session-2"
	for _, c := range []struct {
		name string
		ops  []Op
		want bool
	}{
		{"read what was written", []Op{
			at(1, 1, 2, Op{Kind: Put, Value: "a"}), at(2, 3, 4, Op{Kind: Get, Value: "a", Index: 5})}, true},
		{"an acknowledged write is lost", []Op{
			at(1, 1, 2, Op{Kind: Put, Value: "a"}), at(2, 3, 4, Op{Kind: Get})}, false},
		{"a stale read", []Op{
			at(1, 1, 2, Op{Kind: Put, Value: "a"}), at(1, 3, 4, Op{Kind: Put, Value: "b"}),
			at(2, 5, 6, Op{Kind: Get, Value: "a", Index: 5})}, false},
		{"a write under way may be seen, and then stays seen", []Op{
			at(1, 1, 9, Op{Kind: Put, Value: "a"}), at(2, 2, 3, Op{Kind: Get, Value: "a", Index: 5}),
			at(2, 4, 5, Op{Kind: Get, Value: "a", Index: 5})}, true},
		{"seen and then not", []Op{
			at(1, 1, 9, Op{Kind: Put, Value: "a"}), at(2, 2, 3, Op{Kind: Get, Value: "a", Index: 5}),
			at(2, 4, 5, Op{Kind: Get})}, false},
		{"an unknown write may never happen", []Op{
			at(1, 1, 2, Op{Kind: Put, Value: "a", Result: Unknown}), at(2, 3, 4, Op{Kind: Get})}, true},
		{"an unknown write may happen late", []Op{
			at(1, 1, 2, Op{Kind: Put, Value: "a", Result: Unknown}), at(2, 3, 4, Op{Kind: Get}),
			at(2, 5, 6, Op{Kind: Get, Value: "a", Index: 5})}, true},
		{"but only once", []Op{
			at(1, 1, 2, Op{Kind: Put, Value: "a", Result: Unknown}), at(2, 3, 4, Op{Kind: Get, Value: "a", Index: 5}),
			at(2, 5, 6, Op{Kind: Put, Value: "b"}), at(2, 7, 8, Op{Kind: Get, Value: "a", Index: 5})}, false},
		{"two creations", []Op{
			at(1, 1, 2, Op{Kind: CAS, Value: "a"}), at(2, 1, 2, Op{Kind: CAS, Value: "b"})}, false},
		{"a cas that lost", []Op{
			at(1, 1, 2, Op{Kind: CAS, Value: "a"}), at(2, 1, 2, Op{Kind: CAS, Value: "b", Result: No}),
			at(2, 3, 4, Op{Kind: DeleteCAS, Expect: "a"}), at(2, 5, 6, Op{Kind: Get})}, true},
		{"a cas refused without a reason", []Op{
			at(1, 1, 2, Op{Kind: Put, Value: "a"}), at(2, 3, 4, Op{Kind: CAS, Expect: "a", Value: "b", Result: No})}, false},
		{"one index, two values", []Op{
			at(1, 1, 9, Op{Kind: Put, Value: "a"}), at(3, 1, 9, Op{Kind: Put, Value: "b"}),
			at(2, 2, 3, Op{Kind: Get, Value: "a", Index: 5}), at(2, 4, 5, Op{Kind: Get, Value: "b", Index: 5})}, false},
		{"an index that goes back", []Op{
			at(1, 1, 9, Op{Kind: Put, Value: "a"}), at(3, 1, 9, Op{Kind: Put, Value: "b"}),
			at(2, 2, 3, Op{Kind: Get, Value: "a", Index: 6}), at(2, 4, 5, Op{Kind: Get, Value: "b", Index: 5})}, false},

		{"one after the other", []Op{
			at(1, 1, 2, Op{Kind: Acquire, Session: s1, Token: 7}), at(1, 3, 4, Op{Kind: Guarded, Session: s1, Token: 7, Value: "a"}),
			at(1, 5, 6, Op{Kind: Release, Session: s1}), at(2, 7, 8, Op{Kind: Acquire, Session: s2, Token: 9}),
			at(1, 9, 10, Op{Kind: Guarded, Session: s1, Token: 7, Value: "b", Result: No}), at(1, 11, 12, Op{Kind: Look, Value: "a"})}, true},
		{"two holders", []Op{
			at(1, 1, 2, Op{Kind: Acquire, Session: s1, Token: 7}), at(2, 3, 4, Op{Kind: Acquire, Session: s2, Token: 8})}, false},
		{"the first one's time is over", []Op{
			at(1, 1, 2, Op{Kind: Acquire, Session: s1, Token: 7}), at(1, 3, 0, Op{Kind: End, Session: s1, Result: Unknown}),
			at(2, 3, 4, Op{Kind: Acquire, Session: s2, Token: 8})}, true},
		{"it is over too early", []Op{
			at(1, 1, 2, Op{Kind: Acquire, Session: s1, Token: 7}), at(1, 5, 0, Op{Kind: End, Session: s1, Result: Unknown}),
			at(2, 3, 4, Op{Kind: Acquire, Session: s2, Token: 8})}, false},
		{"a token that does not grow", []Op{
			at(1, 1, 2, Op{Kind: Acquire, Session: s1, Token: 7}), at(1, 3, 4, Op{Kind: Release, Session: s1}),
			at(2, 5, 6, Op{Kind: Acquire, Session: s2, Token: 7})}, false},
		{"both write", []Op{
			at(1, 1, 2, Op{Kind: Acquire, Session: s1, Token: 7}), at(1, 2, 0, Op{Kind: End, Session: s1, Result: Unknown}),
			at(2, 3, 4, Op{Kind: Acquire, Session: s2, Token: 8}), at(2, 5, 6, Op{Kind: Guarded, Session: s2, Token: 8, Value: "b"}),
			at(1, 7, 8, Op{Kind: Guarded, Session: s1, Token: 7, Value: "a"})}, false},
		{"nobody knows who took it", []Op{
			at(1, 1, 2, Op{Kind: Acquire, Session: s1, Result: Unknown}), at(2, 3, 4, Op{Kind: Acquire, Session: s2, Result: No}),
			at(2, 5, 6, Op{Kind: Holder, Session: s1, Token: 4}), at(1, 7, 8, Op{Kind: End, Session: s1}),
			at(2, 9, 10, Op{Kind: Acquire, Session: s2, Token: 5})}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			_, err := Check(c.ops, time.Second, dir)
			if (err == nil) != c.want {
				t.Errorf("explained: %v (%v), want %v", err == nil, err, c.want)
			}
			if err != nil && !strings.Contains(err.Error(), "index") {
				checkFiles(t, dir, c.ops)
			}
		})
	}
}

// checkFiles: what a violation leaves can be read again.
func checkFiles(t *testing.T, dir string, ops []Op) {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, "x.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	again, err := ReadJSON(f)
	if err != nil || len(again) != len(ops) {
		t.Errorf("%d of %d operations are in the file, %v", len(again), len(ops), err)
	}
	if html, err := os.ReadFile(filepath.Join(dir, "x.html")); err != nil || !strings.Contains(string(html), "<html") {
		t.Errorf("no picture: %v", err)
	}
}

// TestRandomRegisters: histories of a register that is right are explained; with one read
// made wrong they are not.
func TestRandomRegisters(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 0))
		ops := randomHistory(rng)
		if _, err := Check(slices.Clone(ops), time.Second, t.TempDir()); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		reads := slices.DeleteFunc(slices.Clone(ops), func(op Op) bool { return op.Kind != Get })
		wrong := reads[rng.IntN(len(reads))]
		wrong.Value, wrong.Index = "never written", 1000
		wrong.Call = wrong.Return
		if _, err := Check(append(ops, wrong), time.Second, t.TempDir()); err == nil {
			t.Fatalf("seed %d: a read of nothing is explained", seed)
		}
	}
}

// randomHistory runs clients against a register in simulated time: each operation takes
// effect at a moment between its call and its return, in the order of these moments.
func randomHistory(rng *rand.Rand) []Op {
	var ops []Op
	state, index, now := "", uint64(0), int64(0)
	for n := range 60 {
		now += 10
		op := Op{On: "x", Client: n, Call: now - rng.Int64N(40), Return: now + rng.Int64N(40), Result: Yes}
		next := state
		switch rng.IntN(4) {
		case 0:
			op.Kind, op.Value = Put, fmt.Sprint("v", n)
			next = op.Value
		case 1:
			op.Kind, op.Expect, op.Value = CAS, state, fmt.Sprint("v", n)
			next = op.Value
			if rng.IntN(2) == 0 {
				op.Expect, op.Result, next = "other", No, state
			}
		default:
			op.Kind, op.Value = Get, state
			if state != "" {
				op.Index = index
			}
		}
		if op.Kind != Get && rng.IntN(8) == 0 {
			op.Result = Unknown
			if rng.IntN(2) == 0 {
				next = state // it never happened
			}
		}
		if next != state {
			index++
		}
		state = next
		ops = append(ops, op)
	}
	return ops
}
