package view

import (
	"errors"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/muster-discovery/muster/internal/model"
)

// maxVariants is how many variants' frames a content keeps. Above that, answers
// are made for their caller alone, so that made-up questions cost time, not memory.
const maxVariants = 64

// Content is what a topic held at one index. It never changes; only frames are
// added to it as they are asked for.
type Content struct {
	Topic model.Topic
	Index uint64 // never 0
	Items []*Item

	epoch uint64 // the hub's count of restores when it was built

	// frames is replaced as a whole, so that readers take no lock.
	frames atomic.Pointer[map[frameKey]*frame]
	adding sync.Mutex // guards the replacement of frames
}

type frameKey struct {
	encoder *Encoder
	variant string
}

// frame is one encoded answer. Its maker alone writes it, then closes ready.
type frame struct {
	done  atomic.Bool // spares the channel operation once it is made
	used  atomic.Bool // since the last trim
	ready chan struct{}
	value any
	count int
	err   error
}

func newContent(t model.Topic, items []*Item, index, epoch uint64) *Content {
	return &Content{Topic: t, Index: max(index, 1), Items: items, epoch: epoch}
}

// Frame is the content as the encoder assembled it, narrowed by the variant if it
// is not nil, with the number of items in it. It is made once for each encoder and
// variant key and shared, so it must not be modified. An error is the variant's.
func (c *Content) Frame(e *Encoder, v *Variant) (any, int, error) {
	key := frameKey{encoder: e}
	if v != nil {
		if v.Private || v.Key == "" {
			return c.make(e, v)
		}
		key.variant = v.Key
	}
	if all := c.frames.Load(); all != nil {
		if f := (*all)[key]; f != nil {
			return f.wait()
		}
	}
	f, mine := c.reserve(key)
	switch {
	case f == nil:
		return c.make(e, v)
	case !mine:
		return f.wait()
	}
	f.fill(func() (any, int, error) { return c.make(e, v) })
	return f.wait()
}

// make computes a frame for nobody else.
func (c *Content) make(e *Encoder, v *Variant) (any, int, error) {
	items := c.Items
	if v != nil && v.Select != nil {
		selected, err := v.Select(items)
		if err != nil {
			return nil, 0, err
		}
		items = selected
	}
	if v != nil && v.Sort != nil {
		items = append([]*Item(nil), items...)
		v.Sort(items)
	}
	return e.Assemble(items), len(items), nil
}

// reserve finds the frame for a key or adds an empty one, which the caller then
// has to fill. Without room it returns nil.
func (c *Content) reserve(key frameKey) (f *frame, mine bool) {
	c.adding.Lock()
	defer c.adding.Unlock()
	var all map[frameKey]*frame
	if p := c.frames.Load(); p != nil {
		all = *p
	}
	if f := all[key]; f != nil {
		return f, false
	}
	// The frame of everything is kept in any case: there is one for each encoder.
	if key.variant != "" && len(all) >= maxVariants {
		return nil, false
	}
	grown := make(map[frameKey]*frame, len(all)+1)
	maps.Copy(grown, all)
	f = &frame{ready: make(chan struct{})}
	grown[key] = f
	c.frames.Store(&grown)
	return f, true
}

// trim forgets the frames that nobody asked for since the last call.
func (c *Content) trim() {
	c.adding.Lock()
	defer c.adding.Unlock()
	p := c.frames.Load()
	if p == nil {
		return
	}
	kept := make(map[frameKey]*frame, len(*p))
	for key, f := range *p {
		if f.used.Swap(false) || !f.done.Load() {
			kept[key] = f
		}
	}
	if len(kept) < len(*p) {
		c.frames.Store(&kept)
	}
}

func (f *frame) wait() (any, int, error) {
	if !f.done.Load() {
		<-f.ready
	}
	// Reading first keeps the cache line shared between readers.
	if !f.used.Load() {
		f.used.Store(true)
	}
	return f.value, f.count, f.err
}

var errEncoder = errors.New("encoder panicked")

func (f *frame) fill(make func() (any, int, error)) {
	f.err = errEncoder // what the others see if make does not come back
	defer func() {
		f.done.Store(true)
		close(f.ready)
	}()
	f.value, f.count, f.err = make()
}
