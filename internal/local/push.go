package local

import (
	"context"
	"sync"
	"time"

	"github.com/muster-discovery/muster/internal/retry"
)

// pusher brings the catalog to what is registered here. What is pending is kept
// as names of slots (a service with its checks, or the node with its own) and
// never as writes: a write is made from the present state when its turn comes, so
// any number of changes to a slot coalesce while it waits, and its last state
// wins. A slot has one write under way at most, so its writes can't overtake
// each other.
//
// A first change goes out at once. The queue is bounded by the number of slots.
//
// When a write fails because the servers are away, everything waits and a single
// write tries again with growing pauses; when one is refused for its content,
// only its slot waits.
//
// All fields are guarded by the tables' lock.
type pusher struct {
	l    *Local
	wake chan struct{}

	slots      map[string]*slot // by service id; the empty id is the node
	queue      []*slot
	delayed    map[string]*slot // not to be tried before their time
	nextCheck  time.Time        // when a delayed slot or an output may be due; zero: none
	outputs    map[string]bool  // ids of checks whose output alone the catalog misses
	inFlight   int
	nodeSynced bool
	nodeSeq    uint64 // changes of the node's entry

	active  bool // run has begun
	down    bool // the servers don't answer
	wasUp   bool // they have answered before
	backoff retry.Backoff
	retryAt time.Time

	// compared is set once the catalog was read for the first time. Until then
	// nothing is written: after a restart most of it is there already.
	compared    bool
	fullDue     time.Time
	fullRunning bool
	touched     map[string]bool // slots that changed while a comparison reads the catalog
}

// slot is a service or the node with something to write.
type slot struct {
	id        string
	queued    bool
	busy      bool
	again     bool // changed while busy
	alone     bool // its last write was refused; don't mix it with others
	fails     int
	notBefore time.Time

	told chan struct{} // closed when no write is pending any more; made by who waits

	followers []*slot // sidecars that wait for the end of this service's write

	goneService bool // the service is to be removed from the catalog
	goneToken   string
	goneChecks  map[string]string // checks to be removed, with the token for it
}

const (
	// retryMin is short: most failures are elections, over in less than a second.
	retryMin = 50 * time.Millisecond
	// retryMax keeps 10,000 agents under 1,500 tries a second while there is no
	// leader; agents that learn of a new one call Sync.
	retryMax = 10 * time.Second
	// refusedPause is how long a refused write waits. Nothing here changes the
	// answer; only an operator does.
	refusedPause = 2 * time.Minute
	// maxChecksOnly bounds how many slots with changes of checks alone share a
	// write.
	maxChecksOnly = 64
)

func newPusher(l *Local) *pusher {
	return &pusher{
		l:       l,
		wake:    make(chan struct{}, 1),
		slots:   map[string]*slot{},
		delayed: map[string]*slot{},
		outputs: map[string]bool{},
		backoff: retry.Backoff{Min: retryMin, Max: retryMax, Jitter: 0.5, Rand: l.cfg.Checks.Rand},
	}
}

// followTime bounds how long a change waits for the catalog to follow: what a
// write takes when the servers are well, several times over.
const followTime = 10 * time.Millisecond

// await waits until the catalog follows, or is known not to, for a short time.
func (p *pusher) await(ctx context.Context, id string) {
	p.l.mu.Lock()
	s := p.slots[id]
	if !p.active || p.down || s == nil || !s.queued && !s.busy {
		p.l.mu.Unlock()
		return
	}
	if s.told == nil {
		s.told = make(chan struct{})
	}
	told := s.told
	p.l.mu.Unlock()
	timer := time.NewTimer(followTime)
	defer timer.Stop()
	select {
	case <-told:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// run starts writes until ctx is done, and waits for those under way.
func (p *pusher) run(ctx context.Context) {
	p.l.mu.Lock()
	p.active = true
	p.l.mu.Unlock()
	var writes sync.WaitGroup
	defer writes.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		for _, work := range p.next(time.Now()) {
			writes.Go(func() {
				ctx, cancel := context.WithTimeout(ctx, p.l.cfg.WriteTimeout)
				defer cancel()
				work(ctx)
			})
		}
		if pause, ok := p.pause(time.Now()); ok {
			timer.Reset(pause)
		}
		select {
		case <-ctx.Done():
			return
		case <-p.wake:
		case <-timer.C:
		}
	}
}

// next takes what may be done now.
func (p *pusher) next(now time.Time) (work []func(context.Context)) {
	p.l.mu.Lock()
	defer p.l.mu.Unlock()
	p.releaseLocked(now)
	if !now.Before(p.fullDue) && !p.fullRunning && p.roomLocked(now) {
		p.fullRunning = true
		p.inFlight++
		p.touched = map[string]bool{}
		work = append(work, p.compare)
	}
	for p.compared && len(p.queue) > 0 && p.roomLocked(now) {
		w := p.takeLocked()
		if w == nil {
			continue
		}
		p.inFlight++
		work = append(work, func(ctx context.Context) { p.done(w, p.write(ctx, w)) })
	}
	p.l.metrics.pending.Set(float64(len(p.queue) + len(p.delayed)))
	return work
}

// roomLocked reports whether one more write may start.
func (p *pusher) roomLocked(now time.Time) bool {
	if p.down {
		return p.inFlight == 0 && !now.Before(p.retryAt)
	}
	return p.inFlight < p.l.cfg.MaxWrites
}

// pause is how long nothing will be due unless something happens; false if only
// something that happens makes work.
func (p *pusher) pause(now time.Time) (time.Duration, bool) {
	p.l.mu.RLock()
	defer p.l.mu.RUnlock()
	at := p.nextCheck
	if !p.fullRunning && (at.IsZero() || p.fullDue.Before(at)) {
		at = p.fullDue
	}
	if p.compared && len(p.queue) > 0 {
		at = now // held back by what follows
	}
	switch {
	case p.down && p.inFlight > 0, p.inFlight >= p.l.cfg.MaxWrites:
		return 0, false // the end of a write wakes the loop
	case at.IsZero():
		return 0, false
	case p.down && at.Before(p.retryAt):
		at = p.retryAt
	}
	return max(at.Sub(now), 0), true
}

// releaseLocked queues delayed slots and outputs whose time has come.
func (p *pusher) releaseLocked(now time.Time) {
	if p.nextCheck.IsZero() || now.Before(p.nextCheck) {
		return
	}
	p.nextCheck = time.Time{}
	for id, s := range p.delayed {
		if now.Before(s.notBefore) {
			p.checkAtLocked(s.notBefore)
			continue
		}
		delete(p.delayed, id)
		p.queueLocked(s)
	}
	for id := range p.outputs {
		e, ok := p.l.checks.Get(id)
		switch {
		case !ok || e.outputDue.IsZero():
			delete(p.outputs, id)
		case now.Before(e.outputDue):
			p.checkAtLocked(e.outputDue)
		default:
			delete(p.outputs, id)
			p.enqueueLocked(e.def.ServiceID)
		}
	}
}

func (p *pusher) checkAtLocked(t time.Time) {
	if p.nextCheck.IsZero() || t.Before(p.nextCheck) {
		p.nextCheck = t
	}
}

func (p *pusher) signal() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

func (p *pusher) slotLocked(id string) *slot {
	s := p.slots[id]
	if s == nil {
		s = &slot{id: id}
		p.slots[id] = s
	}
	return s
}

// enqueueLocked has a slot written as soon as possible.
func (p *pusher) enqueueLocked(id string) {
	s := p.slotLocked(id)
	s.notBefore = time.Time{}
	delete(p.delayed, id)
	p.queueLocked(s)
	p.signal()
}

func (p *pusher) queueLocked(s *slot) {
	if p.touched != nil {
		p.touched[s.id] = true
	}
	switch {
	case s.busy:
		s.again = true
	case !s.queued:
		s.queued = true
		p.queue = append(p.queue, s)
	}
}

// keepLocked notes that a service is registered again before its removal went out.
func (p *pusher) keepLocked(id string) {
	if s := p.slots[id]; s != nil {
		s.goneService = false
	}
}

func (p *pusher) keepCheckLocked(service, id string) {
	if s := p.slots[service]; s != nil {
		delete(s.goneChecks, id)
	}
}

func (p *pusher) removeServiceLocked(id, token string) {
	if token == "" {
		token = p.l.cfg.Token()
	}
	s := p.slotLocked(id)
	s.goneService, s.goneToken = true, token
	p.enqueueLocked(id)
}

func (p *pusher) removeCheckLocked(service, id, token string) {
	s := p.slotLocked(service)
	if s.goneChecks == nil {
		s.goneChecks = map[string]string{}
	}
	s.goneChecks[id] = token
	p.enqueueLocked(service)
}

// stateChangedLocked passes a check's new state on: a new status at once, an
// output alone when its time comes.
func (p *pusher) stateChangedLocked(e *checkEntry) {
	switch {
	case e.synced == nil || !sameCheck(e.synced, e.state) || p.l.cfg.CheckUpdateInterval == 0:
		p.enqueueLocked(e.def.ServiceID)
	case e.synced.Output != e.state.Output && e.outputDue.IsZero():
		// At least the interval, and up to a quarter more to spread the load.
		interval := p.l.cfg.CheckUpdateInterval
		e.outputDue = time.Now().Add(retry.Spread(interval+interval/4, 0.2, p.l.cfg.Checks.Rand))
		p.outputs[e.def.ID] = true
		p.checkAtLocked(e.outputDue)
		p.signal()
	}
}

func (p *pusher) nodeChangedLocked() {
	p.nodeSynced = false
	p.nodeSeq++
	p.enqueueLocked("")
}

// syncNow asks for a comparison and for new tries, now.
func (p *pusher) syncNow() {
	p.l.mu.Lock()
	defer p.l.mu.Unlock()
	now := time.Now()
	p.fullDue, p.retryAt = now, now
	p.backoff.Reset()
	p.releaseTransientLocked()
	if _, ok := p.l.cfg.Catalog.(NodeReader); !ok {
		p.nodeChangedLocked()
	}
	p.signal()
}

// releaseTransientLocked queues the slots that wait because the servers were away.
func (p *pusher) releaseTransientLocked() {
	for id, s := range p.delayed {
		if !s.alone {
			delete(p.delayed, id)
			p.queueLocked(s)
		}
	}
}

// token is the secret for a service's writes.
func (p *pusher) token(own string) string {
	if own != "" {
		return own
	}
	return p.l.cfg.Token()
}

// checkNeeded reports whether the catalog must be told about a check.
func (p *pusher) checkNeeded(e *checkEntry, now time.Time) bool {
	if e.synced == nil || !sameCheck(e.synced, e.state) {
		return true
	}
	if e.synced.Output == e.state.Output {
		return false
	}
	return p.l.cfg.CheckUpdateInterval == 0 || (!e.outputDue.IsZero() && !now.Before(e.outputDue))
}

// serviceNeeded reports whether the catalog must be told about a service.
func serviceNeeded(e *serviceEntry) bool {
	return e.synced == nil || !sameService(e.synced, e.service)
}
