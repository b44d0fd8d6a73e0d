package lookup

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/muster-discovery/muster/internal/view"
)

// maxPrepared bounds the compiled questions that are kept.
const maxPrepared = 1024

// maxKeptKey is the length of a question's key above which it is compiled for each
// caller anew and its answers are not kept, as for filters above maxKeptSize:
// made-up ones would otherwise fill the memory.
const maxKeptKey = 1024

// Prepare makes the variant for a question, nil for one that asks for everything.
// Variants are cached and shared. The error's kind is Invalid.
func (l *Lookup) Prepare(enc *view.Encoder, q Question) (*view.Variant, error) {
	q.Filter = strings.TrimSpace(q.Filter)
	if !q.Passing && !q.Healthy && len(q.Tags) == 0 && len(q.NodeMeta) == 0 && q.Filter == "" && q.Near == "" {
		return nil, nil
	}
	var space [128]byte
	key := appendKey(space[:0], &q)
	if v := l.prepared.find(enc, key); v != nil {
		return v, nil
	}
	s, err := l.compile(enc, &q)
	if err != nil {
		return nil, err
	}
	v := &view.Variant{Key: string(key), Select: s.apply, Outside: len(q.NodeMeta) > 0, Question: cloneQuestion(&q)}
	if q.Near != "" {
		v.Private = true
		v.Sort = l.nearest(q.Near)
	}
	if len(key) > maxKeptKey || s.filter != nil && s.filter.size > maxKeptSize {
		v.Private = true
		return v, nil
	}
	return l.prepared.add(enc, v), nil
}

// cloneQuestion keeps a question beyond the buffers that its parts may be in.
func cloneQuestion(q *Question) *Question {
	c := *q
	c.Tags = foldTags(q.Tags)
	for i, tag := range c.Tags {
		c.Tags[i] = strings.Clone(tag)
	}
	c.NodeMeta, c.Filter, c.Near = cloneMeta(q.NodeMeta), strings.Clone(q.Filter), strings.Clone(q.Near)
	return &c
}

// appendKey writes a question so that questions with the same answer have the same
// key. Every part is preceded by its length, so no part can pose as another.
func appendKey(b []byte, q *Question) []byte {
	flag := byte('a')
	if q.Passing {
		flag = 'p' // includes healthy
	} else if q.Healthy {
		flag = 'h'
	}
	b = append(b, flag)
	for _, tag := range foldTags(q.Tags) {
		b = appendPart(b, 't', tag)
	}
	for _, name := range sortedKeys(q.NodeMeta) {
		b = appendPart(appendPart(b, 'm', name), '=', q.NodeMeta[name])
	}
	if q.Filter != "" {
		b = appendPart(b, 'f', q.Filter)
	}
	if q.Near != "" {
		b = appendPart(b, 'n', q.Near)
	}
	return b
}

func appendPart(b []byte, kind byte, s string) []byte {
	b = append(b, kind)
	for n := len(s); ; n >>= 7 {
		if n < 0x80 {
			b = append(b, byte(n))
			break
		}
		b = append(b, byte(n)|0x80)
	}
	return append(b, s...)
}

// foldTags returns the tags in lower case, sorted, each once.
func foldTags(tags []string) []string {
	if len(tags) == 0 {
		return nil
	}
	folded := make([]string, len(tags))
	for i, t := range tags {
		folded[i] = strings.ToLower(t)
	}
	slices.Sort(folded)
	return slices.Compact(folded)
}

func sortedKeys(m map[string]string) []string {
	if len(m) == 0 {
		return nil
	}
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// cache keeps compiled questions, and forgets some of those that were not used
// lately when it is full.
type cache struct {
	mu    sync.RWMutex
	known map[cacheKey]*cached
}

type cacheKey struct {
	encoder  *view.Encoder
	question string
}

type cached struct {
	variant *view.Variant
	used    atomic.Bool
}

func (c *cache) find(enc *view.Encoder, key []byte) *view.Variant {
	c.mu.RLock()
	defer c.mu.RUnlock()
	e := c.known[cacheKey{enc, string(key)}]
	if e == nil {
		return nil
	}
	if !e.used.Load() {
		e.used.Store(true)
	}
	return e.variant
}

// add returns the variant to use: the one that another caller added meanwhile, if
// any, so that all share one.
func (c *cache) add(enc *view.Encoder, v *view.Variant) *view.Variant {
	key := cacheKey{enc, v.Key}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.known[key]; e != nil {
		return e.variant
	}
	if c.known == nil {
		c.known = make(map[cacheKey]*cached)
	}
	if len(c.known) >= maxPrepared {
		c.makeRoomLocked()
	}
	c.known[key] = &cached{variant: v}
	return v
}

// makeRoomLocked drops what was not used since the last time, or some entry if all
// were.
func (c *cache) makeRoomLocked() {
	before := len(c.known)
	for key, e := range c.known {
		if !e.used.Swap(false) {
			delete(c.known, key)
		}
	}
	if len(c.known) == before {
		for key := range c.known {
			delete(c.known, key)
			break
		}
	}
}
