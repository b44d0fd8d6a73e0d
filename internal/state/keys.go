package state

import (
	"slices"
	"strings"

	"github.com/muster-discovery/muster/internal/model"
)

// tomb remembers that a key was deleted.
type tomb struct {
	key   string
	index uint64
}

func lessTombAge(a, b tomb) bool {
	if a.index != b.index {
		return a.index < b.index
	}
	return a.key < b.key
}

func (t *tables) key(key string) *model.KVEntry {
	e, _ := t.kv.Get(&model.KVEntry{Key: key})
	return e
}

// eachKey calls f for each entry that begins with prefix, in the order of bytes.
func (t *tables) eachKey(prefix string, f func(*model.KVEntry) bool) {
	t.kv.Ascend(&model.KVEntry{Key: prefix}, func(e *model.KVEntry) bool {
		return strings.HasPrefix(e.Key, prefix) && f(e)
	})
}

// keyIndex is the index of a key's last change, or the floor if nothing is known of
// it. An entry's own index is above any floor told before it was made.
func (t *tables) keyIndex(key string) uint64 {
	if e := t.key(key); e != nil {
		return e.Modify
	}
	if d, ok := t.kvTombs.Get(tomb{key: key}); ok {
		return d.index
	}
	return t.kvFloor
}

// prefixIndex is the index of the last change below a prefix. The floor counts in
// any case: the newest change may have been a deletion whose tombstone is gone.
func (t *tables) prefixIndex(prefix string) uint64 {
	index := t.tombIndex(prefix)
	t.eachKey(prefix, func(e *model.KVEntry) bool {
		index = max(index, e.Modify)
		return true
	})
	return index
}

func (t *tables) tombIndex(prefix string) uint64 {
	index := t.kvFloor
	t.kvTombs.Ascend(tomb{key: prefix}, func(d tomb) bool {
		if !strings.HasPrefix(d.key, prefix) {
			return false
		}
		index = max(index, d.index)
		return true
	})
	return index
}

func (t *tables) prefixItems(prefix string) (items []any, index uint64) {
	index = max(t.tombIndex(prefix), t.raised)
	t.eachKey(prefix, func(e *model.KVEntry) bool {
		items = append(items, e)
		index = max(index, e.Modify)
		return true
	})
	return items, index
}

// keyChanges are the keys that the current command wrote, in the order of the first
// write, with the entries as they were before it.
type keyChanges struct {
	list []keyChange
	at   map[string]int // places in the list, made when it gets long
}

type keyChange struct {
	key  string
	old  *model.KVEntry     // nil if there was none
	kind model.RevisionKind // of the last write
	txn  bool
}

// longKeys is the number of keys from which on they are found by a map.
const longKeys = 8

func (c *keyChanges) add(key string, old *model.KVEntry, kind model.RevisionKind, txn bool) {
	if i := c.find(key); i >= 0 {
		c.list[i].kind = kind
		return
	}
	c.list = append(c.list, keyChange{key, old, kind, txn})
	if c.at != nil {
		c.at[key] = len(c.list) - 1
	} else if len(c.list) > longKeys {
		c.at = make(map[string]int, 2*longKeys)
		for i := range c.list {
			c.at[c.list[i].key] = i
		}
	}
}

func (c *keyChanges) find(key string) int {
	if c.at != nil {
		if i, ok := c.at[key]; ok {
			return i
		}
		return -1
	}
	return slices.IndexFunc(c.list, func(k keyChange) bool { return k.key == key })
}

func (c *keyChanges) reset() {
	clear(c.list)
	c.list, c.at = c.list[:0], nil
}

// write replaces an entry; either may be nil. All writes of keys end here.
func (b *Batch) write(old, entry *model.KVEntry) {
	t := b.s.work
	holder := func(e *model.KVEntry) string {
		if e == nil {
			return ""
		}
		return e.Session
	}
	row := entry
	if row == nil {
		row = old
	}
	b.keys.add(row.Key, old, b.kind, b.s.undo != nil)
	if was, is := holder(old), holder(entry); was != is {
		if was != "" {
			b.s.locks.Delete(lock{was, row.Key})
		}
		if is != "" {
			b.s.locks.Set(lock{is, row.Key})
		}
	}
	if entry == nil {
		t.kv.Delete(old)
		return
	}
	t.kv.Set(entry)
}

// buryKeys ends a command: keys that came out different are reported and recorded,
// deleted ones become tombstones, and the oldest tombstones beyond the bound are
// collected, which raises the floor.
func (b *Batch) buryKeys() {
	if len(b.keys.list) == 0 {
		return
	}
	t, from := b.s.work, b.origin()
	for i := range b.keys.list {
		c := &b.keys.list[i]
		now := t.key(c.key)
		if now == c.old {
			continue
		}
		if from != nil {
			b.record(c, now, from)
		}
		if d, ok := t.kvTombs.Get(tomb{key: c.key}); ok {
			t.kvTombs.Delete(d)
			b.s.kvGraves.Delete(d)
		}
		if now == nil {
			d := tomb{c.key, t.index}
			t.kvTombs.Set(d)
			b.s.kvGraves.Set(d)
		}
		b.report(model.Topic{Kind: model.TopicKVKey, Name: c.key})
	}
	b.keys.reset()
	b.s.trim()
	for b.s.kvGraves.Len() > b.s.maxTombstones {
		d, _ := b.s.kvGraves.PopMin()
		t.kvTombs.Delete(d)
		t.kvFloor = max(t.kvFloor, d.index)
	}
}
