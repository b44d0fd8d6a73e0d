package state

import (
	"bytes"

	"github.com/muster-discovery/muster/internal/model"
)

// WriteKV runs one operation on a key as a command of its own. The token is that of
// a lock that was taken. A condition that does not hold is an error of kind
// Conflict, with a code as its Field.
func (b *Batch) WriteKV(meta *model.CommandMeta, op *model.KVOp) (index, token uint64, err error) {
	index = b.begin(meta)
	if op.Verb.Reads() || !op.Verb.Known() {
		return index, 0, refuse(model.KindInvalid, model.CodeInvalid, "%q is not a write", op.Verb)
	}
	entry, err := b.writeKV(op)
	if err != nil {
		return index, 0, err
	}
	b.end()
	if op.Verb == model.KVLock {
		token = entry.Token
	}
	return index, token, nil
}

func refuse(kind model.ErrorKind, code, format string, args ...any) error {
	err := model.Errorf(kind, format, args...).(*model.Error)
	err.Field = code
	return err
}

// writeKV does an operation that changes something and returns the entry that it
// left, nil if it deleted. An error means that nothing was changed.
func (b *Batch) writeKV(op *model.KVOp) (*model.KVEntry, error) {
	if op.Key == "" && op.Verb != model.KVDeleteTree {
		return nil, refuse(model.KindInvalid, model.CodeInvalid, "Must provide key")
	}
	if err := b.s.work.checkFence(op.Fence); err != nil {
		return nil, err
	}
	b.kind = model.RevisionKind(op.Verb)
	if op.Verb == model.KVDeleteTree {
		b.deleteTree(op.Key)
		return nil, nil
	}
	old := b.s.work.key(op.Key)
	if err := b.checkKV(op, old); err != nil {
		return nil, err
	}
	if op.Verb == model.KVDelete || op.Verb == model.KVDeleteCAS {
		if old != nil {
			b.write(old, nil)
		}
		return nil, nil
	}
	return b.setKV(op, old), nil
}

// checkKV finds every reason to refuse a write of a key.
func (b *Batch) checkKV(op *model.KVOp, old *model.KVEntry) error {
	conflict := func(code, format string) error { return refuse(model.KindConflict, code, format, op.Key) }
	switch op.Verb {
	case model.KVCAS:
		if op.Index == 0 && old != nil || op.Index != 0 && (old == nil || old.Modify != op.Index) {
			return conflict(model.CodeStale, "failed to set key %q, index is stale")
		}
	case model.KVDeleteCAS:
		if old != nil && old.Modify != op.Index {
			return conflict(model.CodeStale, "failed to delete key %q, index is stale")
		}
	case model.KVLock:
		if op.Session == "" {
			return refuse(model.KindInvalid, model.CodeSession, "missing session")
		}
		if b.s.work.session(op.Session) == nil {
			return refuse(model.KindInvalid, model.CodeSession, "invalid session %q", op.Session)
		}
		if old != nil && old.Session == op.Session {
			return nil
		}
		if old != nil && old.Session != "" {
			return conflict(model.CodeHeld, "failed to lock key %q, lock is already held")
		}
		if _, delayed := b.s.work.delays.Get(&model.LockDelay{Key: op.Key}); delayed {
			return conflict(model.CodeDelayed, "failed to lock key %q due to lock delay")
		}
	case model.KVUnlock:
		if op.Session == "" {
			return refuse(model.KindInvalid, model.CodeSession, "missing session")
		}
		if old == nil || old.Session != op.Session {
			return conflict(model.CodeNotHeld, "failed to unlock key %q, lock isn't held, or is held by another session")
		}
	}
	return nil
}

// setKV writes an entry. One that comes out as it was keeps its index.
func (b *Batch) setKV(op *model.KVOp, old *model.KVEntry) *model.KVEntry {
	t := b.s.work
	e := &model.KVEntry{Key: op.Key, Value: op.Value, Flags: op.Flags,
		Indexes: model.Indexes{Create: t.index, Modify: t.index}}
	if old != nil {
		e.Key, e.Create, e.Session, e.Token = old.Key, old.Create, old.Session, old.Token
	}
	switch op.Verb {
	case model.KVUnlock:
		e.Session, e.LockIndex = "", old.LockIndex
	case model.KVLock:
		if old != nil {
			e.LockIndex = old.LockIndex
		}
		if e.Session == "" {
			t.fence++
			e.Session, e.Token = op.Session, t.fence
			e.LockIndex++
		}
	}
	if old != nil && sameEntry(e, old) {
		return old
	}
	b.write(old, e)
	return e
}

// sameEntry compares all but the indexes.
func sameEntry(a, b *model.KVEntry) bool {
	return a.Flags == b.Flags && a.Session == b.Session && a.LockIndex == b.LockIndex && a.Token == b.Token &&
		(a.Value == nil) == (b.Value == nil) && bytes.Equal(a.Value, b.Value)
}

func (b *Batch) deleteTree(prefix string) {
	var rows []*model.KVEntry
	b.s.work.eachKey(prefix, func(e *model.KVEntry) bool {
		rows = append(rows, e)
		return true
	})
	for _, e := range rows {
		b.write(e, nil)
	}
}

// checkFence refuses a write unless the token is the one of the latest acquisition.
// A lock that was deleted meanwhile has no token any more: who held it since can't
// be told, so that is a refusal too.
func (t *tables) checkFence(f *model.Fence) error {
	if f == nil {
		return nil
	}
	e := t.key(f.Key)
	if e == nil || e.Token == 0 {
		return refuse(model.KindConflict, model.CodeFenced,
			"fencing token %d is not valid: there is no lock %q", f.Token, f.Key)
	}
	if e.Token != f.Token {
		return refuse(model.KindConflict, model.CodeFenced,
			"fencing token %d for lock %q is not the latest, which is %d", f.Token, f.Key, e.Token)
	}
	return nil
}
