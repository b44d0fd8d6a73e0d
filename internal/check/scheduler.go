package check

import (
	"container/heap"
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// DefaultTimeout bounds a probe whose definition sets no timeout.
	DefaultTimeout = 10 * time.Second
	// MinInterval keeps a definition from turning the agent into a load generator.
	MinInterval = 100 * time.Millisecond
	// DefaultMaxProbes bounds the probes that run at once. A hanging HTTP probe
	// costs 20 to 30 KB, so the worst case is about 15 MB; 512 probes of 10 ms
	// each are 50,000 a second, far more than an agent's checks.
	DefaultMaxProbes = 512
	// slowProbe is how long a probe may take before its next runs go to the slow
	// lane, which may use three quarters of the places: targets that hang until
	// their timeout can't hold up the checks of those that answer.
	slowProbe = time.Second
)

// Config of a Scheduler. The zero value works.
type Config struct {
	MaxProbes int            // 0: DefaultMaxProbes
	Rand      func() float64 // in [0, 1); nil: the package's generator
	Registry  prometheus.Registerer
}

// Task is a probe that runs again and again.
type Task struct {
	Kind     string // for metrics
	Probe    Probe
	Interval time.Duration
	Timeout  time.Duration // 0: DefaultTimeout, for scripts DefaultScriptTimeout
	Delay    time.Duration // before the first run
	// Report gets each result. It is called from the probe's goroutine, one call
	// at a time for a task. A task that was removed or replaced in the same
	// instant may still report once; its owner tells the two apart.
	Report func(Result)
}

// Scheduler runs probes and deadlines when they are due. One goroutine watches a
// heap of times; a goroutine for a probe exists only while it runs. Against one
// goroutine and timer for each check, 10,000 idle checks cost their entries (about
// 300 bytes) instead of stacks, and how many probes run at once has a bound.
//
// All methods may be called at any time, also before Run.
type Scheduler struct {
	maxProbes int
	rand      func() float64
	metrics   *metrics
	wake      chan struct{} // holds one token: the heap's top has changed

	mu       sync.Mutex
	entries  map[string]*entry
	times    timeHeap
	queues   [2][]*entry // waiting for a place, in order: the fast and the slow lane
	running  [2]int
	inFlight sync.WaitGroup
}

// The two lanes.
const (
	fast = 0
	slow = 1
)

type entry struct {
	id    string
	at    time.Time
	index int // in the heap; -1: not there

	// Either a deadline ...
	expire func(now time.Time) (next time.Time)

	// ... or a task, with its state.
	task    Task
	lane    int
	runs    int
	busy    bool // waits in a queue or runs
	removed bool
	cancel  context.CancelFunc // while it runs
}

// NewScheduler makes a scheduler; nothing runs before Run.
func NewScheduler(cfg Config) *Scheduler {
	s := &Scheduler{
		maxProbes: cfg.MaxProbes,
		rand:      cfg.Rand,
		metrics:   newMetrics(cfg.Registry),
		wake:      make(chan struct{}, 1),
		entries:   map[string]*entry{},
	}
	if s.maxProbes <= 0 {
		s.maxProbes = DefaultMaxProbes
	}
	if s.rand == nil {
		s.rand = rand.Float64
	}
	return s
}

// Probe adds a task under an id, in place of what was there.
func (s *Scheduler) Probe(id string, t Task) {
	t.Interval = max(t.Interval, MinInterval)
	if t.Timeout <= 0 && t.Kind == "script" {
		t.Timeout = DefaultScriptTimeout
	} else if t.Timeout <= 0 {
		t.Timeout = DefaultTimeout
	}
	s.add(&entry{id: id, task: t}, time.Now().Add(t.Delay))
}

// Deadline calls expire at the given time, in place of what the id stood for. If
// expire returns a later time it is called again then; at the zero time the
// deadline rests until it is added again. expire must be quick.
func (s *Scheduler) Deadline(id string, at time.Time, expire func(now time.Time) (next time.Time)) {
	s.add(&entry{id: id, expire: expire}, at)
}

// Remove forgets an id and cancels its probe if it is running.
func (s *Scheduler) Remove(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.removeLocked(id)
}

func (s *Scheduler) add(e *entry, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.removeLocked(e.id)
	s.entries[e.id] = e
	e.at = at
	heap.Push(&s.times, e)
	if e.index == 0 {
		s.signal()
	}
}

func (s *Scheduler) removeLocked(id string) {
	e, ok := s.entries[id]
	if !ok {
		return
	}
	delete(s.entries, id)
	e.removed = true
	if e.index >= 0 {
		heap.Remove(&s.times, e.index)
	}
	if e.cancel != nil {
		e.cancel()
	}
}

func (s *Scheduler) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Run works until ctx is done, then cancels running probes and waits for them.
func (s *Scheduler) Run(ctx context.Context) error {
	defer s.inFlight.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.wake:
		case <-timer.C:
		}
		now := time.Now()
		expired, next := s.due(ctx, now)
		for _, e := range expired {
			s.expire(e, now)
		}
		if len(expired) > 0 {
			// Their next times may be the earliest.
			s.signal()
		}
		timer.Reset(next)
	}
}

// due starts the probes whose time has come and returns the deadlines that have
// passed, with the time until the next entry.
func (s *Scheduler) due(ctx context.Context, now time.Time) (expired []*entry, next time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.times) > 0 && !s.times[0].at.After(now) {
		e := s.times[0]
		if e.expire != nil {
			heap.Pop(&s.times)
			expired = append(expired, e)
			continue
		}
		s.startLocked(ctx, e)
		e.at = s.nextRun(e, now)
		heap.Fix(&s.times, 0)
	}
	if len(s.times) == 0 {
		return expired, time.Hour
	}
	return expired, s.times[0].at.Sub(now)
}

// nextRun spaces runs by the interval. The second run comes after a random part
// of it, so that checks registered together drift apart.
func (s *Scheduler) nextRun(e *entry, now time.Time) time.Time {
	step := e.task.Interval
	if e.runs++; e.runs == 1 {
		step -= time.Duration(s.rand() * float64(step) / 2)
	}
	if at := e.at.Add(step); at.After(now) {
		return at
	}
	return now.Add(step) // the machine slept; don't make up for lost runs
}

func (s *Scheduler) expire(e *entry, now time.Time) {
	next := e.expire(now)
	if next.IsZero() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !e.removed && e.index < 0 {
		e.at = next
		heap.Push(&s.times, e)
	}
}

// timeHeap orders entries by time.
type timeHeap []*entry

func (h timeHeap) Len() int           { return len(h) }
func (h timeHeap) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h timeHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}
func (h *timeHeap) Push(x any) {
	e := x.(*entry)
	e.index = len(*h)
	*h = append(*h, e)
}
func (h *timeHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	e.index = -1
	return e
}
