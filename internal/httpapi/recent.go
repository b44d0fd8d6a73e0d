package httpapi

import "sync"

// maxRecent bounds the questions that are remembered as asked before.
const maxRecent = 4096

// recent remembers questions, the newest at least.
type recent struct {
	mu        sync.Mutex
	young     map[string]struct{} // guarded by mu
	old       map[string]struct{} // guarded by mu; forgotten when young is full
	perWindow int
}

func newRecent() *recent {
	return &recent{young: map[string]struct{}{}, perWindow: maxRecent / 2}
}

// add reports whether the key was there.
func (r *recent) add(key string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.young[key]; ok {
		return true
	}
	_, ok := r.old[key]
	if len(r.young) >= r.perWindow {
		r.old, r.young = r.young, map[string]struct{}{}
	}
	r.young[key] = struct{}{}
	return ok
}
