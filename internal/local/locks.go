package local

import (
	"slices"
	"sync"
)

// nameLocks are locks by name, so that writes to different units wait for the
// disk together and writes to the same one come one after the other.
type nameLocks struct {
	mu    sync.Mutex
	locks map[string]*nameLock
}

type nameLock struct {
	mu   sync.Mutex
	refs int
}

// lock takes the locks of all names and returns the function that gives them
// back. Names are locked in order, so callers can't block each other in a circle.
func (n *nameLocks) lock(names []string) (unlock func()) {
	names = slices.Clone(names)
	slices.Sort(names)
	names = slices.Compact(names)
	held := make([]*nameLock, len(names))
	n.mu.Lock()
	if n.locks == nil {
		n.locks = map[string]*nameLock{}
	}
	for i, name := range names {
		l := n.locks[name]
		if l == nil {
			l = &nameLock{}
			n.locks[name] = l
		}
		l.refs++
		held[i] = l
	}
	n.mu.Unlock()
	for _, l := range held {
		l.mu.Lock()
	}
	return func() {
		for _, l := range held {
			l.mu.Unlock()
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		for i, l := range held {
			if l.refs--; l.refs == 0 {
				delete(n.locks, names[i])
			}
		}
	}
}
