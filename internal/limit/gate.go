package limit

import (
	"container/list"
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/muster-discovery/muster/internal/model"
)

// GateConfig bounds a Gate.
type GateConfig struct {
	Running int // at once
	Waiting int // in the queue; more are refused
	// Patience is the longest wait in the queue.
	Patience time.Duration
	// Hold is how long a place is kept: who takes longer waits for its client, not for
	// this process, and must not hold up the others.
	Hold time.Duration
}

// DefaultGateConfig is for snapshots. Four a core keep all cores busy while some wait
// for their connections. A place in the queue costs a few hundred bytes, and the
// patience is less than what a client waits for a sign of life.
func DefaultGateConfig(cores int) GateConfig {
	return GateConfig{Running: 4 * cores, Waiting: 1 << 16, Patience: 10 * time.Second, Hold: 100 * time.Millisecond}
}

// Gate lets a number of callers through at a time and has a bounded number wait, first
// come, first served. All methods may be called at the same time; a nil Gate is open.
type Gate struct {
	*meter
	cfg GateConfig

	mu      sync.Mutex
	running int
	queue   list.List // of chan struct{}, closed when its owner may run
	pace    time.Duration
	waits   func(time.Duration)
}

// Enter returns once the caller may run. Leave may be called more than once.
func (g *Gate) Enter(ctx context.Context) (leave func(), err error) {
	if g == nil {
		return func() {}, nil
	}
	turn, place, ok := g.join()
	if !ok {
		return nil, g.over(true, g.hint(), "too many snapshots are asked for: %d are under way and %d wait; come back in %s, or add servers",
			g.cfg.Running, g.cfg.Waiting, g.hint().Round(time.Millisecond))
	}
	if turn == nil {
		g.waits(0)
		return g.place(), nil
	}
	start := time.Now()
	timer := time.NewTimer(g.cfg.Patience)
	defer timer.Stop()
	select {
	case <-turn:
		g.waits(time.Since(start))
		return g.place(), nil
	case <-timer.C:
		err = g.over(true, g.hint(), "the snapshot was not begun within %s: %d others wait; come back in %s, or add servers",
			g.cfg.Patience, g.len(), g.hint().Round(time.Millisecond))
	case <-ctx.Done():
		err = model.Errorf(model.KindUnavailable, "canceled while waiting for a snapshot: %v", context.Cause(ctx))
	}
	g.resign(turn, place)
	return nil, err
}

// join takes a free place, with a nil turn, or one in the queue.
func (g *Gate) join() (turn chan struct{}, place *list.Element, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.running < g.cfg.Running:
		g.running++
		return nil, nil, true
	case g.queue.Len() >= g.cfg.Waiting:
		return nil, nil, false
	}
	turn = make(chan struct{})
	return turn, g.queue.PushBack(turn), true
}

// resign leaves the queue; a turn that came at the same moment is passed on.
func (g *Gate) resign(turn chan struct{}, place *list.Element) {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-turn:
		g.nextLocked()
	default:
		g.queue.Remove(place)
	}
}

// place is a running caller's: it ends with leave or when it was held for long enough.
func (g *Gate) place() (leave func()) {
	start := time.Now()
	once := sync.OnceFunc(func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		// A moving average over some tens of places; the hint needs no more.
		g.pace += (time.Since(start) - g.pace) / 32
		g.nextLocked()
	})
	timer := time.AfterFunc(g.cfg.Hold, once)
	return func() {
		timer.Stop()
		once()
	}
}

func (g *Gate) nextLocked() {
	first := g.queue.Front()
	if first == nil {
		g.running--
		return
	}
	close(g.queue.Remove(first).(chan struct{}))
}

func (g *Gate) len() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.queue.Len()
}

func (g *Gate) busy() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.running
}

// hint is when the queue will be shorter, different for each caller, so that those who
// were refused together don't come back together.
func (g *Gate) hint() time.Duration {
	g.mu.Lock()
	drain := g.pace * time.Duration(g.queue.Len()) / time.Duration(g.cfg.Running)
	g.mu.Unlock()
	drain = min(max(drain, minHint), maxHint)
	return drain/2 + rand.N(drain)
}

const (
	connPause        = time.Second // until a connection is closed; nobody knows
	minHint, maxHint = time.Second, 30 * time.Second
)
