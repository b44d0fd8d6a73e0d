package discovery

import (
	"cmp"
	"reflect"
	"slices"
	"time"

	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/retry"
)

// Watch is one query that a Mux keeps up to date. Its methods may be called from any
// goroutine.
type Watch struct {
	mux      *Mux
	id       uint64
	query    Query
	onChange func(Update)

	// The rest is guarded by the Mux's mutex.
	closed     bool
	subscribed bool // on the stream that is open
	current    bool // the server has brought it up to date on that stream
	refused    error
	attempts   int       // refusals in a row
	retryAt    time.Time // after a refusal
	index      uint64    // 0: never had anything
	instances  []*model.Instance
	incoming   []*model.Instance // parts of a snapshot so far
	receiving  bool
	confirmed  uint64 // by the owner
	acked      uint64 // told to the server on this stream
}

// Close ends the watch. It may be called in a callback, and twice.
func (w *Watch) Close() {
	m := w.mux
	m.mu.Lock()
	defer m.mu.Unlock()
	if w.closed {
		return
	}
	w.closed = true
	delete(m.watches, w.id)
	if w.subscribed {
		m.gone = append(m.gone, w.id)
	}
	m.signal(w)
}

// Ack confirms that everything up to the index was taken over, also by those whom
// the owner serves. See Config.ManualAcks.
func (w *Watch) Ack(index uint64) {
	m := w.mux
	m.mu.Lock()
	defer m.mu.Unlock()
	if index > w.confirmed && index <= w.index {
		w.confirmed = index
		m.signal(w)
	}
}

// Latest is the last state: what the callback got last, with ok false if there never
// was one.
func (w *Watch) Latest() (u Update, ok bool) {
	w.mux.mu.Lock()
	defer w.mux.mu.Unlock()
	return Update{Instances: w.instances, Index: w.index, Err: w.refused}, w.index > 0
}

// leave is called with the mutex held when the stream has ended.
func (w *Watch) leave() {
	w.subscribed, w.current, w.receiving, w.incoming = false, false, false, nil
	w.acked, w.attempts, w.retryAt = 0, 0, time.Time{} // another server may not refuse it
}

// Pauses before a refused watch is tried again on the same stream: short enough for
// a server that is starting, long enough for a token that may never do.
const minRetry, maxRetry = 500 * time.Millisecond, 30 * time.Second

// refuse notes a refusal, with the mutex held.
func (w *Watch) refuse(err error, now time.Time) {
	w.subscribed, w.current, w.receiving, w.incoming = false, false, false, nil
	w.refused = err
	pause := min(minRetry<<min(w.attempts, 10), maxRetry)
	w.attempts++
	w.retryAt = now.Add(retry.Spread(pause, 0.5, nil))
}

// compare orders instances as servers do.
func compare(aNode, aID, bNode, bID string) int {
	if aNode != bNode {
		if c := cmp.Compare(model.Fold(aNode), model.Fold(bNode)); c != 0 {
			return c
		}
	}
	return cmp.Or(cmp.Compare(aID, bID), cmp.Compare(aNode, bNode))
}

func compareInstances(a, b *model.Instance) int {
	return compare(a.Node.Name, a.Service.ID, b.Node.Name, b.Service.ID)
}

// key is an instance's name.
type key struct{ node, id string }

// patch returns a new list with removals and upserts applied, in this order. The old
// list stays as it is.
func patch(list, upsert []*model.Instance, remove []key) []*model.Instance {
	list = slices.Clone(list)
	for _, k := range remove {
		if at, found := find(list, k.node, k.id); found {
			list = slices.Delete(list, at, at+1)
		}
	}
	for _, i := range upsert {
		at, found := find(list, i.Node.Name, i.Service.ID)
		if found {
			list[at] = i
		} else {
			list = slices.Insert(list, at, i)
		}
	}
	return list
}

// settle orders a snapshot, and keeps the old addresses of what is the same.
func settle(old, list []*model.Instance) []*model.Instance {
	if !slices.IsSortedFunc(list, compareInstances) {
		slices.SortFunc(list, compareInstances)
	}
	for k, i := range list {
		if at, found := find(old, i.Node.Name, i.Service.ID); found && reflect.DeepEqual(old[at], i) {
			list[k] = old[at]
		}
	}
	return list
}

func find(list []*model.Instance, node, id string) (int, bool) {
	return slices.BinarySearchFunc(list, key{node, id}, func(i *model.Instance, k key) int {
		return compare(i.Node.Name, i.Service.ID, k.node, k.id)
	})
}
