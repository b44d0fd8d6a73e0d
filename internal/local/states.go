package local

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/muster-discovery/muster/internal/model"
)

// Check states on disk. They are written behind the answer to the application: a
// changed status at once, a status that was only confirmed at most once each
// quarter of its TTL (between refreshMin and refreshMax). kill -9 therefore loses
// the last milliseconds of changes, and may let a TTL run out early by that
// quarter, never late.
const (
	aliveKey   = "alive"
	refreshMin = time.Second
	refreshMax = 30 * time.Second
	// flushPause gathers changes that come in quick succession.
	flushPause = 50 * time.Millisecond
	// flushParallel writes share a disk write; more would not be faster.
	flushParallel = 64
	// aliveEvery and aliveFor: states of probed checks are taken over if the agent
	// was away for less than aliveFor and the machine was not started anew.
	aliveEvery = 15 * time.Second
	aliveFor   = 2 * time.Minute
)

func stateKey(id string) string { return "state/" + id }

type stateRecord struct {
	Format   int       `json:"format"`
	Status   string    `json:"status"`
	Output   string    `json:"output,omitempty"`
	Deadline time.Time `json:"deadline,omitzero"`
}

func decodeState(value []byte) (stateRecord, error) {
	var r stateRecord
	if err := json.Unmarshal(value, &r); err != nil {
		return r, err
	}
	if r.Format != recordFormat {
		return r, fmt.Errorf("format %d is not known", r.Format)
	}
	return r, nil
}

// restoreLocked gives a new entry its state from disk and reports whether it did.
func (l *Local) restoreLocked(e *checkEntry, r stateRecord) bool {
	switch {
	case e.maintenance || e.def.Type() == "alias":
		return false
	case e.def.TTL > 0:
		if r.Deadline.IsZero() {
			return false
		}
		e.deadline = r.Deadline
		if latest := time.Now().Add(e.def.TTL); e.deadline.After(latest) {
			e.deadline = latest // the clock was set back
		}
		if !r.Deadline.After(time.Now()) {
			r.Status = model.StatusCritical
			if !strings.HasPrefix(r.Output, "TTL expired") {
				r.Output = expiredOutput(r.Output)
			}
			e.deadline = time.Now().Add(e.def.TTL)
		}
	case !l.warm:
		return false
	}
	e.state = l.describe(e.checkDef, r.Status, r.Output)
	return true
}

// stateWriter writes check states to disk. Its fields are guarded by the tables'
// lock.
type stateWriter struct {
	l     *Local
	wake  chan struct{}
	now   map[string]bool      // ids to write at once; removed checks among them
	later map[string]time.Time // ids to write when their time comes
}

func (w *stateWriter) init(l *Local) {
	w.l = l
	w.wake = make(chan struct{}, 1)
	w.now = map[string]bool{}
	w.later = map[string]time.Time{}
}

// noteLocked takes in that a check's state is newer than on disk.
func (w *stateWriter) noteLocked(e *checkEntry, changed bool) {
	if w.l.cfg.Journal == nil || e.def.Type() == "alias" {
		return
	}
	id := e.def.ID
	if !changed {
		if _, ok := w.later[id]; !ok && !w.now[id] {
			w.later[id] = e.saveAfter
		}
		return
	}
	w.now[id] = true
	delete(w.later, id)
	w.signal()
}

// forgetLocked has the state of a removed check removed.
func (w *stateWriter) forgetLocked(id string) {
	if w.l.cfg.Journal == nil {
		return
	}
	w.now[id] = true
	delete(w.later, id)
	w.signal()
}

func (w *stateWriter) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// run writes until stop is closed, and then everything that is left.
func (w *stateWriter) run(stop <-chan struct{}) {
	if w.l.cfg.Journal == nil {
		<-stop
		return
	}
	tick := time.NewTicker(refreshMin)
	defer tick.Stop()
	alive := time.NewTicker(aliveEvery)
	defer alive.Stop()
	w.writeAlive()
	for {
		select {
		case <-stop:
			w.flush(true)
			w.writeAlive()
			return
		case <-w.wake:
			w.flush(false)
			select { // a pause, unless the end has come
			case <-stop:
			case <-time.After(flushPause):
			}
		case <-tick.C:
			w.flush(false)
		case <-alive.C:
			w.writeAlive()
		}
	}
}

// flush writes the states that are due, or all.
func (w *stateWriter) flush(all bool) {
	writes := w.take(time.Now(), all)
	places := make(chan struct{}, flushParallel)
	var wg sync.WaitGroup
	for id, r := range writes {
		places <- struct{}{}
		wg.Go(func() {
			defer func() { <-places }()
			w.write(id, r)
		})
	}
	wg.Wait()
}

// take collects what to write; nil stands for a check that is gone.
func (w *stateWriter) take(now time.Time, all bool) map[string]*stateRecord {
	w.l.mu.Lock()
	defer w.l.mu.Unlock()
	for id, at := range w.later {
		if all || !at.After(now) {
			w.now[id] = true
			delete(w.later, id)
		}
	}
	out := make(map[string]*stateRecord, len(w.now))
	for id := range w.now {
		out[id] = nil
		if e, ok := w.l.checks.Get(id); ok {
			out[id] = &stateRecord{Format: recordFormat, Status: e.state.Status, Output: e.state.Output}
			if e.def.TTL > 0 {
				out[id].Deadline = e.deadline
			}
			e.saveAfter = now.Add(min(max(e.def.TTL/4, refreshMin), refreshMax))
		}
	}
	clear(w.now)
	return out
}

func (w *stateWriter) write(id string, r *stateRecord) {
	ctx := context.Background() // the caller waits; there is nobody to give up
	var err error
	if r == nil {
		err = w.l.cfg.Journal.Delete(ctx, stateKey(id))
	} else {
		var value []byte
		if value, err = json.Marshal(r); err == nil {
			err = w.l.cfg.Journal.Put(ctx, stateKey(id), value)
		}
	}
	if err != nil {
		w.l.metrics.stateErrors.Inc()
		w.l.log.Warn("store check state", "check", id, "err", err)
	}
}

func (l *Local) hasProbes() (found bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	l.checks.Scan(func(_ string, e *checkEntry) bool {
		switch e.state.Type {
		case "ttl", "alias", "maintenance":
			return true
		}
		found = true
		return false
	})
	return found
}

type aliveRecord struct {
	Format int       `json:"format"`
	Time   time.Time `json:"time"`
	Boot   string    `json:"boot,omitempty"`
}

// writeAlive leaves a sign of life for the next start, if there are checks that
// will ask for it.
func (w *stateWriter) writeAlive() {
	if !w.l.hasProbes() {
		return
	}
	value, err := json.Marshal(aliveRecord{Format: recordFormat, Time: time.Now(), Boot: bootID()})
	if err == nil {
		err = w.l.cfg.Journal.Put(context.Background(), aliveKey, value)
	}
	if err != nil {
		w.l.log.Warn("store sign of life", "err", err)
	}
}

// aliveRecently reports whether the agent that left the sign was here a moment
// ago, on the same start of the machine.
func aliveRecently(value []byte) bool {
	var r aliveRecord
	if json.Unmarshal(value, &r) != nil || r.Format != recordFormat {
		return false
	}
	age := time.Since(r.Time)
	return r.Boot == bootID() && age >= 0 && age < aliveFor
}

// bootID tells starts of the machine apart, where the system says so.
func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
