package snapshot

import (
	"bytes"
	"io"
	"strings"

	"github.com/muster-discovery/muster/internal/fsm"
	"github.com/muster-discovery/muster/internal/model"
)

// A transaction of a merge stays within what any server takes.
const (
	mergeOps   = 64
	mergeBytes = 256 << 10
)

// Merge brings the keys below a prefix from a snapshot into a running cluster, by
// ordinary writes: values and flags. Locks are not restored, a key's session and its
// fencing token stay what they are.
type Merge struct {
	Prefix  string
	Delete  bool             // keys that the snapshot does not have
	Present []*model.KVEntry // all below the prefix, by key
	// Write does a transaction. Nil: nothing is written, only counted.
	Write func(ops []model.TxnOp) error

	Merged
	ops  []model.TxnOp
	size int
}

// Merged are the counts of a merge. After an error they say how far it came.
type Merged struct {
	Created, Updated, Unchanged, Deleted int
	Kept                                 int // that the snapshot does not have, and were left
	Transactions                         int
}

// Run reads a state whose checksums were compared before. Both sides come in the
// order of keys, so that nothing is held but a transaction.
func (m *Merge) Run(state io.Reader) error {
	_, err := fsm.Scan(state, func(v any, _ int) error {
		e, ok := v.(*model.KVEntry)
		if !ok || !strings.HasPrefix(e.Key, m.Prefix) {
			return nil
		}
		return m.entry(e)
	})
	if err == nil {
		err = m.gone(func(string) bool { return true })
	}
	if err == nil {
		err = m.flush()
	}
	return err
}

// entry brings in one key of the snapshot.
func (m *Merge) entry(e *model.KVEntry) error {
	if err := m.gone(func(key string) bool { return key < e.Key }); err != nil {
		return err
	}
	if len(m.Present) > 0 && m.Present[0].Key == e.Key {
		now := m.Present[0]
		m.Present = m.Present[1:]
		if now.Flags == e.Flags && bytes.Equal(now.Value, e.Value) {
			m.Unchanged++
			return nil
		}
		return m.add(&m.Updated, &model.KVOp{Verb: model.KVSet, Key: e.Key, Value: e.Value, Flags: e.Flags})
	}
	return m.add(&m.Created, &model.KVOp{Verb: model.KVSet, Key: e.Key, Value: e.Value, Flags: e.Flags})
}

// gone takes the keys before some point, which the snapshot does not have.
func (m *Merge) gone(before func(key string) bool) error {
	for len(m.Present) > 0 && before(m.Present[0].Key) {
		key := m.Present[0].Key
		m.Present = m.Present[1:]
		if !m.Delete {
			m.Kept++
			continue
		}
		if err := m.add(&m.Deleted, &model.KVOp{Verb: model.KVDelete, Key: key}); err != nil {
			return err
		}
	}
	return nil
}

func (m *Merge) add(count *int, op *model.KVOp) error {
	if m.Write == nil {
		*count++
		return nil
	}
	size := len(op.Key) + len(op.Value)
	if len(m.ops) == mergeOps || len(m.ops) > 0 && m.size+size > mergeBytes {
		if err := m.flush(); err != nil {
			return err
		}
	}
	m.ops, m.size = append(m.ops, model.TxnOp{KV: op}), m.size+size
	*count++
	return nil
}

func (m *Merge) flush() error {
	if len(m.ops) == 0 {
		return nil
	}
	if err := m.Write(m.ops); err != nil {
		return err
	}
	m.Transactions++
	m.ops, m.size = nil, 0
	return nil
}
