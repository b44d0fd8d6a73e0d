package linear

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// Verdict is what a check found.
type Verdict struct {
	Parts     int           // registers and locks, each judged by itself
	Undecided []string      // parts for which the time did not suffice
	Longest   time.Duration // of one part
}

// Check judges all registers and locks of a history, each within limit. An error names
// the first that has no explanation, and the files in dir that show it: the history, and
// porcupine's picture of it.
func Check(ops []Op, limit time.Duration, dir string) (Verdict, error) {
	var v Verdict
	if err := checkIndexes(ops); err != nil {
		path := filepath.Join(dir, "history.json")
		return v, errors.Join(fmt.Errorf("%w; see %s", err, path), save(path, ops))
	}
	for name, part := range parts(ops) {
		model := register
		if part[0].ofLock() {
			model = lock
		}
		start := time.Now()
		result, info := judge(model, part, limit)
		v.Parts++
		v.Longest = max(v.Longest, time.Since(start))
		switch result {
		case porcupine.Unknown:
			v.Undecided = append(v.Undecided, name)
		case porcupine.Illegal:
			base := filepath.Join(dir, strings.ReplaceAll(name, "/", "_"))
			err := fmt.Errorf("%q has no explanation; see %s.json and %s.html", name, base, base)
			return v, errors.Join(err, save(base+".json", part), porcupine.VisualizePath(model, info, base+".html"))
		}
	}
	return v, nil
}

// judge first leaves out operations that nobody knows to have happened and nobody saw. If
// the rest has an explanation so has the whole, with these at its end, where each is
// allowed. That matters, as each of them is concurrent with all that follows. Only if there
// is none are they tried: as what, say, made a cas fail.
func judge(model porcupine.Model, part []Op, limit time.Duration) (porcupine.CheckResult, porcupine.LinearizationInfo) {
	part = bound(part)
	seen := seenAt(part)
	doubtful := func(op Op, kinds ...Kind) bool {
		return op.Result == Unknown && slices.Contains(kinds, op.Kind) && seen[op.Value] == 0
	}
	less := slices.DeleteFunc(slices.Clone(part), func(op Op) bool { return doubtful(op, Put, CAS, Guarded, Delete, DeleteCAS) })
	if porcupine.CheckOperationsTimeout(model, operations(less), limit/4) == porcupine.Ok {
		return porcupine.Ok, porcupine.LinearizationInfo{}
	}
	less = slices.DeleteFunc(slices.Clone(part), func(op Op) bool { return doubtful(op, Put, CAS, Guarded) })
	if porcupine.CheckOperationsTimeout(model, operations(less), limit/4) == porcupine.Ok {
		return porcupine.Ok, porcupine.LinearizationInfo{}
	}
	return porcupine.CheckOperationsVerbose(model, operations(part), limit/2)
}

// bound closes operations without an outcome whose value was seen: they had happened then,
// as no value is written twice.
func bound(part []Op) []Op {
	seen := seenAt(part)
	part = slices.Clone(part)
	for i := range part {
		op := &part[i]
		at := seen[op.Value]
		if op.Result == Unknown && op.Value != "" && at != 0 {
			op.Return, op.Result = max(at, op.Call), Yes
		}
	}
	return part
}

// seenAt is when the first answer came that tells of a value.
func seenAt(part []Op) map[string]int64 {
	seen := map[string]int64{}
	note := func(value string, at int64) {
		if was, ok := seen[value]; value != "" && (!ok || at < was) {
			seen[value] = at
		}
	}
	for _, op := range part {
		if op.Result != Yes {
			continue
		}
		switch op.Kind {
		case Get, Look:
			note(op.Value, op.Return)
		case CAS:
			note(op.Expect, op.Return)
		}
	}
	return seen
}

func (op *Op) ofLock() bool {
	switch op.Kind {
	case Acquire, Release, End, Guarded, Look, Holder:
		return true
	}
	return false
}

// parts leaves out what can't be judged: reads without an answer.
func parts(ops []Op) map[string][]Op {
	m := map[string][]Op{}
	for _, op := range ops {
		reads := op.Kind == Get || op.Kind == Look || op.Kind == Holder
		if !reads || op.Result == Yes {
			m[op.On] = append(m[op.On], op)
		}
	}
	return m
}

// operations gives each client whose operation stays open another number: porcupine's
// picture wants one operation at a time from a client.
func operations(part []Op) []porcupine.Operation {
	slices.SortStableFunc(part, func(a, b Op) int { return int(a.Call - b.Call) })
	next := 0
	numbers := map[int]int{}
	var list []porcupine.Operation
	for i := range part {
		op := &part[i]
		if _, ok := numbers[op.Client]; !ok {
			numbers[op.Client] = next
			next++
		}
		end := op.Return
		if end == 0 || op.Result == Unknown {
			end = math.MaxInt64
		}
		list = append(list, porcupine.Operation{ClientId: numbers[op.Client], Input: op, Call: op.Call, Output: op, Return: end})
		if end == math.MaxInt64 {
			delete(numbers, op.Client)
		}
	}
	return list
}

// checkIndexes: a value has one ModifyIndex wherever it is read, two values never share
// one, and it grows: a read that begins after another ended sees no older one.
func checkIndexes(ops []Op) error {
	type mark struct{ key, value string }
	byIndex, byValue := map[uint64]mark{}, map[mark]uint64{}
	reads := map[string][]Op{}
	for _, op := range ops {
		if op.Kind != Get || op.Result != Yes || op.Value == "" {
			continue
		}
		m := mark{op.On, op.Value}
		if was, ok := byIndex[op.Index]; ok && was != m {
			return fmt.Errorf("index %d is that of %v and of %v", op.Index, was, m)
		}
		if was, ok := byValue[m]; ok && was != op.Index {
			return fmt.Errorf("%v has index %d and %d", m, was, op.Index)
		}
		byIndex[op.Index], byValue[m] = m, op.Index
		reads[op.On] = append(reads[op.On], op)
	}
	for key, list := range reads {
		if err := checkGrowth(list); err != nil {
			return fmt.Errorf("key %q: %w", key, err)
		}
	}
	return nil
}

func checkGrowth(reads []Op) error {
	begun := slices.Clone(reads)
	slices.SortFunc(begun, func(a, b Op) int { return int(a.Call - b.Call) })
	slices.SortFunc(reads, func(a, b Op) int { return int(a.Return - b.Return) })
	seen, i := uint64(0), 0
	for _, op := range begun {
		for ; i < len(reads) && reads[i].Return < op.Call; i++ {
			seen = max(seen, reads[i].Index)
		}
		if op.Index < seen {
			return fmt.Errorf("index %d was read after %d", op.Index, seen)
		}
	}
	return nil
}

func save(path string, ops []Op) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(WriteJSON(f, ops), f.Close())
}
