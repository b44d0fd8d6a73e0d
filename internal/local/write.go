package local

import (
	"context"
	"strings"
	"time"

	"github.com/muster-discovery/muster/internal/model"
)

// write is one round of a slot, or of several that only have changes of checks:
// removals first, then a registration.
type write struct {
	slots    []*slot
	removals []removal
	register *model.Registration // nil: nothing to register
	token    string
	service  *serviceEntry // whose service register holds
	pushed   *model.Service
	checks   []pushedCheck
	nodeSeq  uint64
}

type removal struct {
	what  model.Deregistration
	token string
}

type pushedCheck struct {
	entry *checkEntry
	state *model.Check
}

// takeLocked makes the write of the first slot in the queue; nil if it turns out
// that there is nothing to do.
func (p *pusher) takeLocked() *write {
	s := p.popLocked()
	if p.followLocked(s) {
		return nil
	}
	w := p.buildLocked(s)
	if w == nil {
		p.dropLocked(s)
		return nil
	}
	s.busy = true
	for w.checksOnly() && !s.alone && len(w.slots) < maxChecksOnly && len(p.queue) > 0 {
		more := p.buildLocked(p.queue[0])
		if more == nil || !more.checksOnly() || more.token != w.token || p.queue[0].alone {
			break
		}
		next := p.popLocked()
		next.busy = true
		w.slots = append(w.slots, next)
		w.checks = append(w.checks, more.checks...)
		w.register.Checks = append(w.register.Checks, more.register.Checks...)
	}
	return w
}

func (w *write) checksOnly() bool {
	return len(w.removals) == 0 && w.register != nil && w.register.Service == nil && w.register.SkipNodeUpdate
}

func (p *pusher) popLocked() *slot {
	s := p.queue[0]
	p.queue[0] = nil
	p.queue = p.queue[1:]
	s.queued = false
	return s
}

// followLocked makes a sidecar wait while its service is being written, so that
// nobody finds a sidecar of a service that is not there.
func (p *pusher) followLocked(s *slot) bool {
	e, ok := p.l.services.Get(s.id)
	if !ok || e.unit == serviceUnit(s.id) {
		return false
	}
	parent := p.slots[strings.TrimPrefix(e.unit, serviceUnit(""))]
	if parent == nil || !parent.busy && !parent.queued {
		return false
	}
	parent.followers = append(parent.followers, s)
	return true
}

func (p *pusher) releaseFollowersLocked(s *slot) {
	for _, f := range s.followers {
		p.queueLocked(f)
	}
	s.followers = nil
}

// dropLocked forgets a slot that has nothing to do.
func (p *pusher) dropLocked(s *slot) {
	p.releaseFollowersLocked(s)
	s.fails, s.alone = 0, false
	if !s.goneService && len(s.goneChecks) == 0 {
		delete(p.slots, s.id)
	}
}

// buildLocked makes the write that a slot needs in the present state.
func (p *pusher) buildLocked(s *slot) *write {
	l := p.l
	w := &write{slots: []*slot{s}, nodeSeq: p.nodeSeq}
	e, exists := l.services.Get(s.id)
	if s.goneService && !exists {
		w.removals = append(w.removals, removal{p.deregistration(s.id, ""), s.goneToken})
		return w // its checks go with it
	}
	s.goneService = false
	for _, id := range sortedIDs(s.goneChecks) {
		if _, back := l.checks.Get(id); back {
			delete(s.goneChecks, id)
			continue
		}
		w.removals = append(w.removals, removal{p.deregistration("", id), s.goneChecks[id]})
	}
	p.addRegistrationLocked(w, s, e)
	if len(w.removals) == 0 && w.register == nil {
		return nil
	}
	return w
}

func (p *pusher) deregistration(service, check string) model.Deregistration {
	return model.Deregistration{Datacenter: p.l.node.Datacenter, Node: p.l.nodeName(), ServiceID: service, CheckID: check}
}

func (p *pusher) addRegistrationLocked(w *write, s *slot, e *serviceEntry) {
	l, now := p.l, time.Now()
	r := &model.Registration{Datacenter: l.node.Datacenter, Node: l.node, SkipNodeUpdate: p.nodeSynced}
	needed := s.id == "" && !p.nodeSynced
	w.token = l.cfg.Token()
	if e != nil {
		w.token = p.token(e.token)
		if serviceNeeded(e) {
			r.Service, w.service, w.pushed = e.service, e, e.service
			needed = true
		}
	}
	l.eachServiceCheckLocked(s.id, func(c *checkEntry) {
		if p.checkNeeded(c, now) {
			r.Checks = append(r.Checks, c.state)
			w.checks = append(w.checks, pushedCheck{c, c.state})
		}
	})
	if len(w.checks) == 0 && !needed {
		return
	}
	if r.Service == nil && len(w.checks) == 1 {
		w.token = l.tokenLocked(w.checks[0].entry) // a check may have its own
	}
	w.register = r
}

// write carries a write out.
func (p *pusher) write(ctx context.Context, w *write) error {
	for _, r := range w.removals {
		err := p.l.cfg.Catalog.Deregister(ctx, r.token, &r.what)
		if err != nil && model.KindOf(err) != model.KindNotFound {
			return err
		}
	}
	if w.register == nil {
		return nil
	}
	if w.service != nil && w.pushed.EnableTagOverride {
		if err := p.adoptTags(ctx, w); err != nil {
			return err
		}
	}
	return p.l.cfg.Catalog.Register(ctx, w.token, w.register)
}

// adoptTags takes over the tags that the catalog has of a service whose tags
// others may change, so that registering it doesn't set them back.
func (p *pusher) adoptTags(ctx context.Context, w *write) error {
	services, _, err := p.l.cfg.Catalog.NodeState(ctx, p.l.nodeName())
	if err != nil {
		return err
	}
	for _, s := range services {
		if s.ID == w.pushed.ID {
			p.l.mu.Lock()
			p.adoptLocked(w.service, s)
			w.pushed = w.service.service
			p.l.mu.Unlock()
			w.register.Service = w.pushed
		}
	}
	return nil
}

func (p *pusher) adoptLocked(e *serviceEntry, remote *model.Service) {
	if !e.service.EnableTagOverride || sameStrings(e.service.Tags, remote.Tags) {
		return
	}
	s := *e.service
	s.Tags = remote.Tags
	e.service = &s
	e.notify()
}

// done takes a write's outcome.
func (p *pusher) done(w *write, err error) {
	p.l.mu.Lock()
	defer p.l.mu.Unlock()
	p.inFlight--
	p.l.metrics.write(err)
	for _, s := range w.slots {
		s.busy = false
		p.releaseFollowersLocked(s)
		if p.touched != nil {
			p.touched[s.id] = true
		}
	}
	switch {
	case err == nil:
		p.upLocked()
		p.confirmLocked(w)
		for _, s := range w.slots {
			p.l.log.Debug("catalog follows", "service", s.id)
		}
	case transient(err):
		p.downLocked(err)
		p.retryLocked(w)
	default:
		p.upLocked()
		p.refusedLocked(w, err)
	}
	for _, s := range w.slots {
		if s.told != nil && !s.queued {
			close(s.told)
			s.told = nil
		}
	}
	p.signal()
}

// confirmLocked notes what the catalog has now.
func (p *pusher) confirmLocked(w *write) {
	if w.register != nil && !w.register.SkipNodeUpdate && w.nodeSeq == p.nodeSeq {
		p.nodeSynced = true
	}
	if w.service != nil {
		w.service.synced = w.pushed
	}
	for _, c := range w.checks {
		c.entry.synced = c.state
		c.entry.outputDue = time.Time{}
		if c.entry.state.Output != c.state.Output {
			p.stateChangedLocked(c.entry)
		}
	}
	for _, s := range w.slots {
		for _, r := range w.removals {
			if r.what.ServiceID != "" {
				s.goneService = false
				s.goneChecks = nil
			}
			delete(s.goneChecks, r.what.CheckID)
		}
		s.fails, s.alone = 0, false
		p.settleLocked(s)
	}
}

// settleLocked queues a slot that changed meanwhile and forgets another.
func (p *pusher) settleLocked(s *slot) {
	if s.again {
		s.again = false
		p.queueLocked(s)
		return
	}
	p.dropLocked(s)
}

// transient reports whether an error says something about the servers' state
// rather than about the write.
func transient(err error) bool {
	switch model.KindOf(err) {
	case model.KindInvalid, model.KindNotFound, model.KindDenied, model.KindConflict, model.KindTooLarge:
		return false
	}
	return true
}

func (p *pusher) upLocked() {
	p.backoff.Reset()
	again := p.wasUp
	p.wasUp = true
	if !p.down {
		return
	}
	p.down = false
	if again {
		p.l.log.Info("catalog writes work again", "count", len(p.queue)+len(p.delayed))
	}
	p.releaseTransientLocked()
}

func (p *pusher) downLocked(err error) {
	switch {
	case !p.down && p.wasUp:
		p.l.log.Warn("catalog writes don't work; local registrations are kept and tried again", "err", err)
	case !p.down:
		p.l.log.Info("waiting for servers to bring registrations to", "err", err)
	}
	p.down = true
	p.retryAt = time.Now().Add(p.backoff.Next())
}

// retryLocked puts the slots of a failed write at the end of the queue, so that
// one that always fails can't hold up the others.
func (p *pusher) retryLocked(w *write) {
	for _, s := range w.slots {
		s.again = false
		s.fails++
		if s.fails > 1 {
			p.delayLocked(s, min(retryMin<<min(s.fails, 10), retryMax))
			continue
		}
		p.queueLocked(s)
	}
}

// refusedLocked makes slots whose write was refused wait, after one more try in
// case that the write was refused for another slot in it or for a service that
// somebody removed from the catalog.
func (p *pusher) refusedLocked(w *write, err error) {
	for _, s := range w.slots {
		if e, ok := p.l.services.Get(s.id); ok && w.service == nil {
			e.synced = nil
		}
		s.fails++
		again := s.again
		s.again = false
		if again || !s.alone {
			s.alone = true
			p.queueLocked(s)
			continue
		}
		if s.fails == 2 {
			p.l.log.Error("catalog refuses a registration of this agent; it is tried again now and then", "service", s.id, "err", err)
		}
		p.delayLocked(s, refusedPause)
	}
}

func (p *pusher) delayLocked(s *slot, d time.Duration) {
	s.notBefore = time.Now().Add(p.l.random(d/4) + d)
	p.delayed[s.id] = s
	p.checkAtLocked(s.notBefore)
}
