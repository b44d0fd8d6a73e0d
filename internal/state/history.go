package state

import (
	"math"
	"strings"
	"time"

	"github.com/muster-discovery/muster/internal/model"
)

// revision is one recorded write of a key. It never changes.
type revision struct {
	key   string
	from  *origin
	entry *model.KVEntry // shared with the table of keys while it is the present one; nil: deleted
	kind  model.RevisionKind
	txn   bool
	place uint32 // counts a key's revisions, so that two of them tell how many lie between
}

// origin is what the revisions of one command have in common: a tree of 100,000 keys
// is deleted with one of them.
type origin struct {
	index            uint64
	time             time.Time
	accessor, source string
}

func lessRevision(a, b *revision) bool {
	if c := strings.Compare(a.key, b.key); c != 0 {
		return c < 0
	}
	return a.from.index < b.from.index
}

// aged is a revision that is not a key's present one, with the index that made it so:
// the one of the next write, or a deletion's own.
type aged struct {
	at uint64
	r  *revision
}

func lessAged(a, b aged) bool {
	if a.at != b.at {
		return a.at < b.at
	}
	return lessRevision(a.r, b.r)
}

// revisionCost is what a past revision takes beside its key and value: measured at
// 100,000 keys with four revisions each. All servers must agree on it.
const revisionCost = 256

func (r *revision) cost() uint64 {
	n := revisionCost + len(r.key)
	if r.entry != nil {
		n += len(r.entry.Value)
	}
	return uint64(n)
}

// lastRevision is the newest revision of a key, or nil.
func (t *tables) lastRevision(key string) (last *revision) {
	t.eachRevision(key, func(r *revision) bool {
		last = r
		return false
	})
	return last
}

// eachRevision calls f for the revisions of a key, newest first.
func (t *tables) eachRevision(key string, f func(*revision) bool) {
	end := &revision{key: key, from: &origin{index: math.MaxUint64}}
	t.revisions.Descend(end, func(r *revision) bool { return r.key == key && f(r) })
}

// record notes what the current command made of a key that it changed.
func (b *Batch) record(c *keyChange, now *model.KVEntry, from *origin) {
	t := b.s.work
	last := t.lastRevision(c.key)
	if c.old != nil && (last == nil || last.entry != c.old) { // written before history was kept
		unknown := &revision{key: c.key, from: &origin{index: c.old.Modify}, entry: c.old}
		b.s.addRevision(unknown, last)
		last = unknown
	}
	next := &revision{key: c.key, from: from, entry: now, kind: c.kind, txn: c.txn}
	if now != nil {
		next.key = now.Key // one string for both
	}
	b.s.addRevision(next, last)
	b.s.trimKey(next)
}

// addRevision enters a revision after the last one of its key, which may be nil.
func (s *Store) addRevision(r, last *revision) {
	if last != nil {
		r.place = last.place + 1
		if last.entry != nil {
			s.age(aged{r.from.index, last})
		}
	}
	s.work.revisions.Set(r)
	if r.entry == nil {
		s.age(aged{r.from.index, r})
	}
}

func (s *Store) age(a aged) {
	s.past.Set(a)
	s.pastBytes += a.r.cost()
}

// trimKey drops what the key has beyond the bound. A key's revisions are only ever
// dropped from its first one on.
func (s *Store) trimKey(last *revision) {
	for {
		var first, second *revision
		s.work.revisions.Ascend(&revision{key: last.key, from: new(origin)}, func(r *revision) bool {
			if first == nil {
				first = r
				return r != last
			}
			second = r
			return false
		})
		if second == nil || uint64(last.place-first.place) < s.work.history.Revisions {
			return
		}
		s.drop(aged{second.from.index, first})
	}
}

// drop forgets a past revision, of which the age is that of the next one: a
// deletion's is its own.
func (s *Store) drop(a aged) {
	if a.r.entry == nil {
		a.at = a.r.from.index
	}
	s.past.Delete(a)
	s.forget(a.r)
}

func (s *Store) forget(r *revision) {
	s.work.revisions.Delete(r)
	s.pastBytes -= r.cost()
}

// trim drops the past that has been past for longest until the rest fits.
func (s *Store) trim() {
	if s.work.history == nil {
		return
	}
	for s.pastBytes > s.work.history.MaxBytes {
		a, ok := s.past.PopMin()
		if !ok {
			return
		}
		s.forget(a.r)
	}
}

// origin is what the current command's revisions have in common; nil if no history is
// kept.
func (b *Batch) origin() *origin {
	if h := b.s.work.history; h == nil || h.Revisions == 0 {
		return nil
	}
	return &origin{index: b.s.work.index, time: b.meta.Time, accessor: b.meta.Accessor, source: b.meta.Source}
}

// SetHistory says how much history is kept from now on. What is too much goes at once.
// It is read by its index, not watched, so it has no topic.
func (b *Batch) SetHistory(meta *model.CommandMeta, set *model.KVHistorySet) (uint64, error) {
	index := b.begin(meta)
	t := b.s.work
	next := set.Config
	next.Indexes = model.Indexes{Create: index, Modify: index}
	if t.history != nil {
		next.Create = t.history.Create
	}
	t.history = &next
	if next.Revisions == 0 {
		t.revisions = newTree(lessRevision)
		b.s.past, b.s.pastBytes = newTree(lessAged), 0
		return index, nil
	}
	b.s.trimKeys()
	b.s.trim()
	return index, nil
}

// trimKeys is trimKey for all keys.
func (s *Store) trimKeys() {
	var last *revision
	var long []*revision
	s.work.revisions.Reverse(func(r *revision) bool {
		if last == nil || last.key != r.key {
			last = r
		} else if uint64(last.place-r.place) == s.work.history.Revisions {
			long = append(long, last)
		}
		return true
	})
	for _, r := range long {
		s.trimKey(r)
	}
}

// History is how much is kept of the past of keys, nil until a leader has said so.
func (s *Snapshot) History() *model.KVHistory { return s.t.history }

// KeyHistory are the revisions of a key, newest first, at most limit of them; 0 is no
// limit. The index is that of the key's last change.
func (s *Snapshot) KeyHistory(key string, limit int) (list []*model.Revision, index uint64) {
	index = s.TopicIndex(model.Topic{Kind: model.TopicKVKey, Name: key})
	now := s.t.key(key)
	if last := s.t.lastRevision(key); now != nil && (last == nil || last.entry != now) {
		list = append(list, &model.Revision{Key: key, Index: now.Modify, Entry: now})
	}
	s.t.eachRevision(key, func(r *revision) bool {
		if limit > 0 && len(list) >= limit {
			return false
		}
		list = append(list, r.value())
		return true
	})
	return list, index
}

func (r *revision) value() *model.Revision {
	return &model.Revision{Key: r.key, Index: r.from.index, Time: r.from.time, Accessor: r.from.accessor,
		Source: r.from.source, Kind: r.kind, Txn: r.txn, Entry: r.entry}
}
