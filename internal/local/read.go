package local

import "github.com/muster-discovery/muster/internal/model"

// Services returns all services, sidecars among them, sorted by id.
func (l *Local) Services() []*model.Service {
	l.mu.RLock()
	defer l.mu.RUnlock()
	out := make([]*model.Service, 0, l.services.Len())
	l.services.Scan(func(_ string, e *serviceEntry) bool {
		out = append(out, e.service)
		return true
	})
	return out
}

// Service returns one service.
func (l *Local) Service(id string) (*model.Service, bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	e, ok := l.services.Get(id)
	if !ok {
		return nil, false
	}
	return e.service, true
}

// Definition returns a service as it is registered now, with its token and all
// checks that run for it. Sidecars are services of their own.
func (l *Local) Definition(id string) (*model.ServiceDefinition, bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	e, ok := l.services.Get(id)
	if !ok {
		return nil, false
	}
	d := &model.ServiceDefinition{Service: *e.service, Token: e.token}
	for _, c := range l.units[e.unit].checks {
		if c.def.ServiceID == id && !c.maintenance {
			d.Checks = append(d.Checks, c.def)
		}
	}
	return d, true
}

// Checks returns all checks with their states, sorted by id.
func (l *Local) Checks() []*model.Check {
	l.mu.RLock()
	defer l.mu.RUnlock()
	out := make([]*model.Check, 0, l.checks.Len())
	l.checks.Scan(func(_ string, e *checkEntry) bool {
		out = append(out, e.state)
		return true
	})
	return out
}

// Check returns one check with its state.
func (l *Local) Check(id string) (*model.Check, bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	e, ok := l.checks.Get(id)
	if !ok {
		return nil, false
	}
	return e.state, true
}

// CheckDefinition returns the definition of one check.
func (l *Local) CheckDefinition(id string) (*model.CheckDefinition, bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	e, ok := l.checks.Get(id)
	if !ok {
		return nil, false
	}
	return e.def, true
}

// ServiceChecks returns the checks of one service, sorted by id.
func (l *Local) ServiceChecks(id string) []*model.Check {
	l.mu.RLock()
	defer l.mu.RUnlock()
	var out []*model.Check
	l.eachServiceCheckLocked(id, func(e *checkEntry) { out = append(out, e.state) })
	return out
}

// eachServiceCheckLocked visits the checks of a service, or of the node if the id
// is empty, sorted by id.
func (l *Local) eachServiceCheckLocked(service string, visit func(*checkEntry)) {
	if service == "" {
		for _, id := range sortedIDs(l.nodeOwn) {
			if e, ok := l.checks.Get(id); ok {
				visit(e)
			}
		}
		return
	}
	s, ok := l.services.Get(service)
	if !ok {
		return
	}
	for _, c := range l.units[s.unit].checks {
		if c.def.ServiceID != service {
			continue
		}
		if e, ok := l.checks.Get(c.def.ID); ok {
			visit(e)
		}
	}
}

var closed = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// Watch returns a channel that is closed when the service changes or goes. For a
// service that is not there it is closed already.
func (l *Local) Watch(id string) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, ok := l.services.Get(id)
	if !ok {
		return closed
	}
	if e.changed == nil {
		e.changed = make(chan struct{})
	}
	return e.changed
}
