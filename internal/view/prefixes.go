package view

import (
	"strings"
	"sync"

	"github.com/tidwall/btree"

	"github.com/muster-discovery/muster/internal/model"
)

// prefixes are the views of key prefixes, so that a write of a key finds those above
// it without looking at the others: the state reports keys only, and how many prefixes
// a key has is no reason to touch as many topics.
//
// They are kept in order. The largest prefix that is not above some text either is a
// prefix of it, or tells by how much of it they agree that nothing in between is one:
// so each step of the search shortens the text, and there are at most as many as the
// key has bytes, usually one or two more than views above it.
type prefixes struct {
	mu     sync.Mutex
	sorted btree.BTreeG[*live] // guarded by mu; by the topic's name
}

func newPrefixes() *prefixes {
	return &prefixes{sorted: *btree.NewBTreeGOptions(
		func(a, b *live) bool { return a.topic.Name < b.topic.Name },
		btree.Options{NoLocks: true, Degree: 16})}
}

func (p *prefixes) add(v *live) {
	if v.topic.Kind == model.TopicKVPrefix {
		p.mu.Lock()
		p.sorted.Set(v)
		p.mu.Unlock()
	}
}

func (p *prefixes) remove(v *live) {
	if v.topic.Kind == model.TopicKVPrefix {
		p.mu.Lock()
		p.sorted.Delete(v)
		p.mu.Unlock()
	}
}

// above calls f for each view of a prefix of the key. It must not call back.
func (p *prefixes) above(key string, f func(*live)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sorted.Len() == 0 {
		return
	}
	pivot := new(live)
	for text, more := key, true; more; {
		pivot.topic.Name = text
		var found *live
		p.sorted.Descend(pivot, func(v *live) bool { found = v; return false })
		if found == nil {
			return
		}
		name := found.topic.Name
		if !strings.HasPrefix(text, name) {
			text = text[:common(text, name)]
			continue
		}
		f(found)
		if more = name != ""; more {
			text = name[:len(name)-1]
		}
	}
}

// common is how many bytes two texts begin alike with.
func common(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
