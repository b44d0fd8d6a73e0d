package local

import (
	"context"
	"maps"
	"time"

	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/retry"
)

// serverService is the service by which servers announce themselves. The leader
// keeps it, and its checks, and serfHealth.
const serverService = "consul"

// catalogState is what the catalog has of this node.
type catalogState struct {
	node     *model.Node // nil: unknown or not asked
	asked    bool        // node was read
	services map[string]*model.Service
	checks   map[string]*model.Check
}

// compare reads what the catalog has of this node and queues all that differs.
func (p *pusher) compare(ctx context.Context) {
	state, err := p.read(ctx)
	p.l.mu.Lock()
	defer p.l.mu.Unlock()
	p.inFlight--
	p.fullRunning = false
	touched := p.touched
	p.touched = nil
	p.l.metrics.compared(err)
	if err != nil && transient(err) {
		p.downLocked(err) // fullDue has passed: the next try is a comparison again
		p.signal()
		return
	}
	if err != nil {
		p.fullDue = time.Now().Add(refusedPause)
		p.compared = true // what may be written is another matter
		p.l.log.Error("catalog refuses to tell what it has of this agent", "err", err)
		p.signal()
		return
	}
	p.upLocked()
	p.fullDue = time.Now().Add(retry.Spread(p.l.cfg.SyncInterval(), 0.25, p.l.cfg.Checks.Rand))
	p.compareNodeLocked(state)
	p.compareKnownLocked(state, touched)
	p.removeForeignLocked(state, touched)
	p.compared = true
	p.signal()
}

func (p *pusher) read(ctx context.Context) (*catalogState, error) {
	name := p.l.nodeName()
	services, checks, err := p.l.cfg.Catalog.NodeState(ctx, name)
	if err != nil && model.KindOf(err) != model.KindNotFound {
		return nil, err
	}
	s := &catalogState{
		services: make(map[string]*model.Service, len(services)),
		checks:   make(map[string]*model.Check, len(checks)),
	}
	for _, svc := range services {
		s.services[svc.ID] = svc
	}
	for _, c := range checks {
		s.checks[c.ID] = c
	}
	if r, ok := p.l.cfg.Catalog.(NodeReader); ok {
		s.asked = true
		if s.node, err = r.Node(ctx, name); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (p *pusher) compareNodeLocked(state *catalogState) {
	if state.asked {
		p.nodeSynced = state.node != nil && sameNode(state.node, &p.l.node)
	}
	if !p.nodeSynced {
		p.enqueueSoftLocked("")
	}
}

// compareKnownLocked takes over what the catalog has of the services and checks
// registered here. Slots that changed while the catalog was read are left alone:
// the answer may be older than their last write. Before the first comparison there
// was none.
func (p *pusher) compareKnownLocked(state *catalogState, touched map[string]bool) {
	l, now := p.l, time.Now()
	moving := map[string]bool{}
	if p.compared {
		moving = maps.Clone(touched)
		for id, s := range p.slots {
			moving[id] = moving[id] || s.busy || s.queued
		}
	}
	l.services.Scan(func(id string, e *serviceEntry) bool {
		if moving[id] {
			return true
		}
		e.synced = state.services[id]
		if e.synced != nil {
			p.adoptLocked(e, e.synced)
		}
		if serviceNeeded(e) {
			p.enqueueSoftLocked(id)
		}
		return true
	})
	l.checks.Scan(func(id string, e *checkEntry) bool {
		if moving[e.def.ServiceID] {
			return true
		}
		e.synced = state.checks[id]
		if e.synced == nil || !sameCheck(e.synced, e.state) || p.checkNeeded(e, now) {
			p.enqueueSoftLocked(e.def.ServiceID)
		} else {
			p.stateChangedLocked(e) // the output may differ
		}
		return true
	})
}

// removeForeignLocked queues the removal of what others put on this node.
func (p *pusher) removeForeignLocked(state *catalogState, touched map[string]bool) {
	l := p.l
	for id, svc := range state.services {
		if _, ours := l.services.Get(id); ours || touched[id] || isServer(svc) {
			continue
		}
		s := p.slotLocked(id)
		s.goneService, s.goneToken = true, l.cfg.Token()
		p.enqueueSoftLocked(id)
	}
	for id, c := range state.checks {
		if _, ours := l.checks.Get(id); ours || touched[c.ServiceID] || id == model.CheckSerfHealth {
			continue
		}
		if svc := state.services[c.ServiceID]; svc != nil {
			if _, ours := l.services.Get(svc.ID); !ours {
				continue // goes with its service, or is a server's
			}
		}
		s := p.slotLocked(c.ServiceID)
		if s.goneChecks == nil {
			s.goneChecks = map[string]string{}
		}
		s.goneChecks[id] = l.cfg.Token()
		p.enqueueSoftLocked(c.ServiceID)
	}
}

func isServer(s *model.Service) bool { return s.ID == serverService && s.Name == serverService }

// enqueueSoftLocked is enqueueLocked without cutting short the wait of a slot
// that was refused.
func (p *pusher) enqueueSoftLocked(id string) {
	if _, waits := p.delayed[id]; waits {
		return
	}
	p.enqueueLocked(id)
}
