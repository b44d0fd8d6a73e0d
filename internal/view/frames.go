package view

import (
	"errors"
	"maps"
	"sync"
	"sync/atomic"
)

// maxVariants is how many variants' frames a content keeps. Above that, answers
// are made for their caller alone, so that made-up questions cost time, not memory.
const maxVariants = 64

// frames are what encoders made of one content or change. The map is replaced as a
// whole, so that readers take no lock.
type frames struct {
	all    atomic.Pointer[map[frameKey]*frame]
	adding sync.Mutex // guards the replacement of all
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

// maker makes the frames of a content or change.
type maker interface {
	make(e *Encoder, v *Variant) (any, int, error)
}

// get returns the frame for an encoder and variant, made at the first call.
func (s *frames) get(e *Encoder, v *Variant, m maker) (any, int, error) {
	key := frameKey{encoder: e}
	if v != nil {
		if v.Private || v.Key == "" {
			return m.make(e, v)
		}
		key.variant = v.Key
	}
	if f := s.find(key); f != nil {
		return f.wait()
	}
	f, mine := s.reserve(key)
	switch {
	case f == nil:
		return m.make(e, v)
	case !mine:
		return f.wait()
	}
	f.fill(func() (any, int, error) { return m.make(e, v) })
	return f.wait()
}

func (s *frames) find(key frameKey) *frame {
	if all := s.all.Load(); all != nil {
		return (*all)[key]
	}
	return nil
}

// reserve finds the frame for a key or adds an empty one, which the caller then
// has to fill. Without room it returns nil.
func (s *frames) reserve(key frameKey) (f *frame, mine bool) {
	s.adding.Lock()
	defer s.adding.Unlock()
	var all map[frameKey]*frame
	if p := s.all.Load(); p != nil {
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
	s.all.Store(&grown)
	return f, true
}

// trim forgets the frames that nobody asked for since the last call, and tells how
// many are left.
func (s *frames) trim() int {
	s.adding.Lock()
	defer s.adding.Unlock()
	p := s.all.Load()
	if p == nil {
		return 0
	}
	kept := make(map[frameKey]*frame, len(*p))
	for key, f := range *p {
		if f.used.Swap(false) || !f.done.Load() {
			kept[key] = f
		}
	}
	if len(kept) < len(*p) {
		s.all.Store(&kept)
	}
	return len(kept)
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
