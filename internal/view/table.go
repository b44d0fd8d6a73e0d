package view

import (
	"hash/maphash"
	"sync/atomic"

	"github.com/muster-discovery/muster/internal/model"
)

// table finds live views by topic without a lock and without allocating: a fixed
// array of chains. Additions and removals are serialized by the hub's mutex; a
// reader that stands on a view being removed still finds its way on.
type table struct {
	seed    maphash.Seed
	buckets []atomic.Pointer[live]
}

func newTable(capacity int) *table {
	size := 64
	for size < capacity {
		size *= 2
	}
	return &table{seed: maphash.MakeSeed(), buckets: make([]atomic.Pointer[live], size)}
}

func (t *table) bucket(topic model.Topic) *atomic.Pointer[live] {
	// Kinds of one name land in neighboring buckets, which is as good as any.
	h := maphash.String(t.seed, topic.Name) + uint64(topic.Kind)
	return &t.buckets[h&uint64(len(t.buckets)-1)]
}

func (t *table) find(topic model.Topic) *live {
	for v := t.bucket(topic).Load(); v != nil; v = v.next.Load() {
		if v.topic == topic {
			return v
		}
	}
	return nil
}

func (t *table) addLocked(v *live) {
	b := t.bucket(v.topic)
	v.next.Store(b.Load())
	b.Store(v)
}

func (t *table) removeLocked(v *live) {
	p := t.bucket(v.topic)
	for at := p.Load(); at != nil; at = p.Load() {
		if at == v {
			p.Store(v.next.Load())
			return
		}
		p = &at.next
	}
}
