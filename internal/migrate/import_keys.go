package migrate

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
)

// A transaction stays within what any server takes: values grow by a third on their
// way. A single larger value goes by itself.
const (
	maxOps   = 64
	maxBytes = 192 << 10
)

// importKeys compares a batch and writes what differs.
func (i *Importer) importKeys(ctx context.Context, b *Batch) error {
	pairs, gone, err := b.Load(ctx)
	if err != nil {
		return err
	}
	for _, key := range gone {
		if oddName(key) {
			i.tally.change(func(r *Report) {
				r.Left = bounded(r, r.Left, Left{Kind: "key", Name: key, Reason: reasonOdd})
			})
		}
	}
	if len(pairs) == 0 {
		return nil
	}
	writes, err := i.compareKeys(ctx, pairs)
	if err != nil || i.opt.DryRun {
		return err
	}
	for len(writes) > 0 {
		n := fitting(writes)
		if err := i.writeKeys(ctx, writes[:n]); err != nil {
			return err
		}
		writes = writes[n:]
	}
	return nil
}

// keyWrite is a key that is to be written, if the target has it still at an index: 0 is
// not at all.
type keyWrite struct {
	Pair
	index uint64
}

// compareKeys counts what stays, and returns what is to be written. In a dry run that is
// counted too.
func (i *Importer) compareKeys(ctx context.Context, pairs []Pair) (writes []keyWrite, err error) {
	names := make([]string, len(pairs))
	for k := range pairs {
		names[k] = pairs[k].Key
	}
	have, err := readKeys(ctx, i.to, names)
	if err != nil {
		return nil, err
	}
	for _, p := range pairs {
		if p.Locked {
			i.tally.change(func(r *Report) { r.Locks++ })
		}
		w, ok := i.compareKey(p, have[p.Key])
		if !ok {
			continue
		}
		writes = append(writes, w)
		if i.opt.DryRun {
			i.wrote(w)
		}
	}
	return writes, nil
}

func (i *Importer) compareKey(p Pair, have *entry) (w keyWrite, write bool) {
	keys := &i.tally.r.Keys
	switch {
	case have == nil:
		return keyWrite{p, 0}, true
	case have.Flags == p.Flags && bytes.Equal(have.Value, p.Value):
		i.tally.change(func(*Report) { keys.Unchanged++ })
	case i.opt.Overwrite:
		return keyWrite{p, have.ModifyIndex}, true
	default:
		i.tally.conflict(keys, Finding{Kind: "key", Name: p.Key, Reason: "it has another value or other flags"})
	}
	return w, false
}

func (i *Importer) wrote(w keyWrite) {
	i.tally.change(func(r *Report) {
		if w.index == 0 {
			r.Keys.Created++
		} else {
			r.Keys.Updated++
		}
	})
}

// fitting is how many writes fit one transaction, one at least.
func fitting(writes []keyWrite) int {
	size := 0
	for n := range writes {
		size += len(writes[n].Key) + len(writes[n].Value)
		if n > 0 && (n == maxOps || size > maxBytes) {
			return n
		}
	}
	return len(writes)
}

// writeKeys does the writes in one transaction; if one does not hold, one by one.
func (i *Importer) writeKeys(ctx context.Context, writes []keyWrite) error {
	if len(writes) == 1 && len(writes[0].Value) > maxBytes {
		return i.writeLarge(ctx, writes[0])
	}
	ops := make([]any, len(writes))
	for k, w := range writes {
		ops[k] = kvOp{Verb: "cas", Key: w.Key, Value: w.Value, Flags: w.Flags, Index: w.index}.op()
	}
	answer, err := transact(ctx, i.to, ops)
	switch {
	case err == nil && len(answer.Errors) == 0:
		for _, w := range writes {
			i.wrote(w)
		}
		return nil
	case len(writes) == 1:
		reason := ""
		if err == nil {
			reason = answer.Errors[0].What
		}
		return i.settle(ctx, writes[0], reason, err)
	case err != nil && statusOf(err) == 0:
		return err
	}
	for _, w := range writes {
		if err := i.writeKeys(ctx, []keyWrite{w}); err != nil {
			return err
		}
	}
	return nil
}

// writeLarge does a write that fits no transaction.
func (i *Importer) writeLarge(ctx context.Context, w keyWrite) error {
	params := url.Values{"cas": {strconv.FormatUint(w.index, 10)}, "flags": {strconv.FormatUint(w.Flags, 10)}}
	ok := false
	err := i.to.call(ctx, request{method: http.MethodPut, path: "/v1/kv/", name: w.Key, params: params, body: w.Value}, decodeInto(&ok))
	if err == nil && ok {
		i.wrote(w)
		return nil
	}
	return i.settle(ctx, w, "the key has changed meanwhile", err)
}

// settle looks at what became of a write that was refused: an earlier try of it may
// have been done after all, or somebody else was faster.
func (i *Importer) settle(ctx context.Context, w keyWrite, reason string, err error) error {
	keys := &i.tally.r.Keys
	if err != nil {
		if statusOf(err) == 0 {
			return err
		}
		i.tally.fail(keys, Finding{Kind: "key", Name: w.Key, Reason: err.Error()})
		return nil
	}
	have, err := readKeys(ctx, i.to, []string{w.Key})
	if err != nil {
		return fmt.Errorf("look again at key %q: %w", w.Key, err)
	}
	if now := have[w.Key]; now != nil && now.Flags == w.Flags && bytes.Equal(now.Value, w.Value) {
		i.wrote(w)
		return nil
	}
	i.tally.conflict(keys, Finding{Kind: "key", Name: w.Key, Reason: "it changed during the import: " + reason})
	return nil
}
