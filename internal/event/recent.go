package event

import "sync"

// Kept is how many events an agent remembers.
const Kept = 256

// Recent are the latest events in the order of their arrival. All methods may be
// called at the same time.
type Recent struct {
	mu      sync.Mutex
	events  []*Event // at most Kept, the oldest first; replaced as a whole
	changed chan struct{}
}

// NewRecent makes an empty list.
func NewRecent() *Recent { return &Recent{changed: make(chan struct{})} }

// Add appends an event, which must not be changed any more; the oldest gives way to
// it. Everybody who waits is woken.
func (r *Recent) Add(e *Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	drop := max(0, len(r.events)+1-Kept)
	grown := make([]*Event, 0, len(r.events)+1-drop)
	grown = append(grown, r.events[drop:]...)
	r.events = append(grown, e)
	close(r.changed)
	r.changed = make(chan struct{})
}

// List are the events, and a channel that is closed when the next one comes. The
// slice is shared and read-only.
func (r *Recent) List() ([]*Event, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.events, r.changed
}
