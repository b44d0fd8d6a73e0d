package local

import (
	"context"
	"slices"
	"time"

	"github.com/muster-discovery/muster/internal/model"
)

// AddService registers a service with its sidecar and checks, in place of one
// with the same id, and returns once that is on disk. Checks of an earlier
// registration stay unless replaceChecks is set; those that stay keep their
// state. The definition must not be modified afterwards.
func (l *Local) AddService(ctx context.Context, def *model.ServiceDefinition, replaceChecks bool) error {
	return l.addService(ctx, def, replaceChecks, false)
}

func (l *Local) addService(ctx context.Context, def *model.ServiceDefinition, replaceChecks, fromFile bool) error {
	def, err := completeService(def)
	if err != nil {
		return err
	}
	if err := l.refuseAny(def, fromFile); err != nil {
		return err
	}
	sidecarID := sidecarID(def.Service.ID)
	c := change{services: []string{def.Service.ID, sidecarID}}
	for _, d := range def.Checks {
		c.checks = append(c.checks, d.ID)
	}
	if def.Sidecar != nil {
		for _, d := range sidecarChecks(def, def.Sidecar.Checks, 0) {
			c.checks = append(c.checks, d.ID)
		}
	}
	var portErr error
	var reserved int
	c.build = func() ([]*unit, error) {
		old := l.claimUnit(serviceUnit(def.Service.ID))
		def := def
		if def.Sidecar != nil {
			var complete *model.ServiceDefinition
			complete, reserved, portErr = l.completeSidecar(def, old)
			withSidecar := *def
			withSidecar.Sidecar = complete // nil if there is no port: the service itself stays useful
			def = &withSidecar
		}
		return []*unit{l.serviceUnit(def, old, replaceChecks, fromFile)}, nil
	}
	err = l.do(ctx, c)
	l.releasePort(reserved)
	if err != nil {
		return err
	}
	return portErr
}

// unit returns the current unit of a key, nil if there is none.
func (l *Local) unit(key string) *unit {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.units[key]
}

// claimUnit is unit, or else what is stored of checks for a service that was to
// come from a file.
func (l *Local) claimUnit(key string) *unit {
	l.mu.Lock()
	defer l.mu.Unlock()
	if u := l.units[key]; u != nil {
		return u
	}
	over := l.overlays[key]
	delete(l.overlays, key)
	return over
}

// serviceUnit is the unit of a complete definition that follows old.
func (l *Local) serviceUnit(def *model.ServiceDefinition, old *unit, replaceChecks, fromFile bool) *unit {
	u := &unit{key: serviceUnit(def.Service.ID), fromFile: fromFile}
	l.addDefinition(u, def, old, fromFile)
	if def.Sidecar != nil {
		l.addDefinition(u, def.Sidecar, old, fromFile)
	}
	if old == nil {
		return u
	}
	for _, c := range old.checks {
		if u.check(c.def.ID) < 0 && u.service(c.def.ServiceID) >= 0 && keepCheck(c, replaceChecks, fromFile) {
			u.checks = append(u.checks, c)
		}
	}
	if fromFile {
		u.keepSame(old)
	}
	return u
}

// keepCheck reports whether a check outlives a registration that does not name it.
func keepCheck(c checkDef, replaceChecks, fromFile bool) bool {
	switch {
	case c.maintenance:
		return true // maintenance ends when someone says so
	case fromFile && c.fromFile && c.embedded:
		return false // taken out of the service's definition in the file
	}
	return !replaceChecks
}

func (l *Local) addDefinition(u *unit, def *model.ServiceDefinition, old *unit, fromFile bool) {
	svc := def.Service
	svc.Node = l.nodeName()
	svc.RegisteredAt = time.Now()
	if old != nil {
		if i := old.service(svc.ID); i >= 0 {
			svc.RegisteredAt = old.services[i].service.RegisteredAt
		}
	}
	u.services = append(u.services, serviceDef{service: &svc, token: def.Token})
	for _, c := range def.Checks {
		added := checkDef{def: c, embedded: true, fromFile: fromFile, serviceName: svc.Name, serviceTags: svc.Tags}
		if i := u.check(c.ID); i >= 0 {
			u.checks[i] = added // the last of several with one id counts
		} else {
			u.checks = append(u.checks, added)
		}
	}
}

// nodeName never changes after Open.
func (l *Local) nodeName() string { return l.cfg.Node.Name }

// RemoveService takes a service out with its checks and its sidecar, and returns
// once that is on disk.
func (l *Local) RemoveService(ctx context.Context, id string) error {
	return l.do(ctx, change{
		services: []string{id},
		build: func() ([]*unit, error) {
			l.mu.RLock()
			defer l.mu.RUnlock()
			e, ok := l.services.Get(id)
			if !ok {
				return nil, unknownService(id)
			}
			return []*unit{l.units[e.unit].withoutService(id)}, nil
		},
	})
}

// AddCheck registers a check of the node or of a service here, in place of one
// with the same id. A check that stays with its service and kind keeps its state.
// The definition must not be modified afterwards.
func (l *Local) AddCheck(ctx context.Context, def *model.CheckDefinition) error {
	return l.addCheck(ctx, def, false)
}

func (l *Local) addCheck(ctx context.Context, def *model.CheckDefinition, fromFile bool) error {
	def, err := completeCheck(def)
	if err != nil {
		return err
	}
	if err := l.refuse(def, fromFile); err != nil {
		return err
	}
	c := change{checks: []string{def.ID}}
	if def.ServiceID != "" {
		c.services = []string{def.ServiceID}
	}
	c.build = func() ([]*unit, error) {
		added := checkDef{def: def, fromFile: fromFile}
		if def.ServiceID == "" {
			u := &unit{key: checkUnit(def.ID), checks: []checkDef{added}}
			if fromFile {
				u.keepSame(l.unit(u.key))
			}
			return []*unit{u}, nil
		}
		l.mu.RLock()
		defer l.mu.RUnlock()
		e, ok := l.services.Get(def.ServiceID)
		if !ok {
			return nil, model.Errorf(model.KindNotFound, "ServiceID %q does not exist", def.ServiceID)
		}
		added.serviceName, added.serviceTags = e.service.Name, e.service.Tags
		return []*unit{l.units[e.unit].withCheck(added)}, nil
	}
	return l.do(ctx, c)
}

// RemoveCheck takes a check out and returns once that is on disk.
func (l *Local) RemoveCheck(ctx context.Context, id string) error {
	return l.do(ctx, change{
		checks: []string{id},
		build: func() ([]*unit, error) {
			l.mu.RLock()
			defer l.mu.RUnlock()
			e, ok := l.checks.Get(id)
			if !ok {
				return nil, unknownCheck(id)
			}
			return []*unit{l.units[e.unit].withoutCheck(id)}, nil
		},
	})
}

// sortedIDs is a helper for callers that go through ids in a stable order.
func sortedIDs[V any](m map[string]V) []string {
	ids := make([]string, 0, len(m))
	for id := range m {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}
