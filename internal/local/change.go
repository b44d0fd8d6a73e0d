package local

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/muster-discovery/muster/internal/model"
)

// change is a write: it names the services and checks that it touches, and makes
// the new units once their present owners can't change any more.
type change struct {
	services []string
	checks   []string
	// build returns the units to store; an empty one is removed. It is called
	// without the tables' lock but while nobody else can write the same names.
	build func() ([]*unit, error)
}

// do carries out a change: first on disk, then in the tables. It is done as a
// whole or, when the disk refuses, not at all.
func (l *Local) do(ctx context.Context, c change) error {
	if err := l.carryOut(ctx, c); err != nil {
		return err
	}
	// Reading one's own write is what callers expect of one agent. The record is
	// safe by now, so this ends soon also when the catalog can't be reached.
	slots := c.services
	if len(slots) == 0 {
		slots = []string{""} // the node's own checks
	}
	for _, id := range slots {
		l.push.await(ctx, id)
	}
	return nil
}

func (l *Local) carryOut(ctx context.Context, c change) error {
	unlock := l.lockNames(c)
	defer unlock()
	units, err := c.build()
	if err != nil {
		return err
	}
	units = l.takeOver(units)
	// The caller going away must not leave disk and tables apart.
	ctx = context.WithoutCancel(ctx)
	for _, u := range units {
		if err := l.store(ctx, u); err != nil {
			return err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.applyLocked(units)
	return nil
}

// lockNames locks the names of a change and the units that own them. Owners can
// change while the locks are being taken; then it starts over with the new ones.
func (l *Local) lockNames(c change) (unlock func()) {
	names := l.namesOf(c)
	for {
		unlock := l.names.lock(names)
		now := l.namesOf(c)
		if !slices.ContainsFunc(now, func(n string) bool { return !slices.Contains(names, n) }) {
			return unlock
		}
		unlock()
		names = append(names, now...)
	}
}

func (l *Local) namesOf(c change) []string {
	names := make([]string, 0, 2*(len(c.services)+len(c.checks)))
	l.mu.RLock()
	defer l.mu.RUnlock()
	for _, id := range c.services {
		names = append(names, serviceUnit(id))
		if e, ok := l.services.Get(id); ok {
			names = append(names, e.unit)
		}
	}
	for _, id := range c.checks {
		names = append(names, checkUnit(id))
		if e, ok := l.checks.Get(id); ok {
			names = append(names, e.unit)
		}
	}
	return names
}

// takeOver adds the units that lose a service or check to one of the given.
func (l *Local) takeOver(units []*unit) []*unit {
	l.mu.RLock()
	defer l.mu.RUnlock()
	losers := map[string]*unit{}
	loser := func(owner string) *unit {
		if slices.ContainsFunc(units, func(u *unit) bool { return u.key == owner }) {
			return nil
		}
		if losers[owner] == nil {
			losers[owner] = l.units[owner]
		}
		return losers[owner]
	}
	for _, u := range units {
		for _, s := range u.services {
			if e, ok := l.services.Get(s.service.ID); ok && e.unit != u.key {
				if from := loser(e.unit); from != nil {
					losers[e.unit] = from.withoutService(s.service.ID)
				}
			}
		}
		for _, c := range u.checks {
			if e, ok := l.checks.Get(c.def.ID); ok && e.unit != u.key {
				if from := loser(e.unit); from != nil {
					losers[e.unit] = from.withoutCheck(c.def.ID)
				}
			}
		}
	}
	for _, u := range losers {
		units = append(units, u)
	}
	return units
}

// applyLocked puts units into the tables. Removals come first: a check that moves
// to another service starts afresh there.
func (l *Local) applyLocked(units []*unit) {
	touched := map[string]bool{}
	for _, u := range units {
		l.removeMissingLocked(l.units[u.key], u, touched)
		if u.empty() {
			delete(l.units, u.key)
		}
	}
	for _, u := range units {
		if u.empty() {
			continue
		}
		slices.SortFunc(u.checks, func(a, b checkDef) int { return strings.Compare(a.def.ID, b.def.ID) })
		old := l.units[u.key]
		l.units[u.key] = u
		for _, s := range u.services {
			if old == nil || !slices.ContainsFunc(old.services, func(o serviceDef) bool { return o.service == s.service }) {
				l.setServiceLocked(u.key, s)
				touched[s.service.ID] = true
			}
		}
		for _, c := range u.checks {
			if i := old.check(c.def.ID); i < 0 || old.checks[i].def != c.def {
				l.setCheckLocked(u.key, c)
				touched[c.def.ServiceID] = true
			}
		}
	}
	// Sorted, so that a service goes before its sidecar.
	for _, id := range sortedIDs(touched) {
		l.updateAliasesLocked(id)
		l.push.enqueueLocked(id)
	}
}

// removeMissingLocked takes out what the old unit has and the new one has not.
func (l *Local) removeMissingLocked(old, u *unit, touched map[string]bool) {
	if old == nil {
		return
	}
	for _, c := range old.checks {
		if i := u.check(c.def.ID); i < 0 || u.checks[i].def.ServiceID != c.def.ServiceID {
			l.removeCheckLocked(c.def.ID, u.key)
			touched[c.def.ServiceID] = true
		}
	}
	for _, s := range old.services {
		if u.service(s.service.ID) < 0 {
			l.removeServiceLocked(s.service.ID, u.key)
			touched[s.service.ID] = true
		}
	}
}

func (l *Local) setServiceLocked(key string, s serviceDef) {
	e, ok := l.services.Get(s.service.ID)
	if !ok {
		e = &serviceEntry{}
		l.services.Set(s.service.ID, e)
	} else {
		l.countPortLocked(e.service.Port, -1)
		if !sameService(e.service, s.service) {
			e.notify()
		}
	}
	if ok && s.service.EnableTagOverride && e.service.EnableTagOverride && e.synced != nil {
		// Whoever changed the tags in the catalog keeps the last word.
		svc := *s.service
		svc.Tags = e.service.Tags
		s.service = &svc
	}
	l.countPortLocked(s.service.Port, 1)
	e.service, e.token, e.unit = s.service, s.token, key
	// A registration always goes out, also one that repeats what was said: it may
	// be an attempt to repair the catalog.
	e.synced = nil
	l.push.keepLocked(s.service.ID)
}

func (l *Local) removeServiceLocked(id, key string) {
	e, ok := l.services.Get(id)
	if !ok || e.unit != key {
		return
	}
	e.notify()
	l.services.Delete(id)
	l.countPortLocked(e.service.Port, -1)
	l.push.removeServiceLocked(id, e.token)
}

func (e *serviceEntry) notify() {
	if e.changed != nil {
		close(e.changed)
		e.changed = nil
	}
}

// unknownService and unknownCheck are the answers that clients know.
func unknownService(id string) error {
	return model.Errorf(model.KindNotFound, "Unknown service ID %q. Ensure that the service ID is passed, not the service name.", id)
}

func unknownCheck(id string) error {
	return model.Errorf(model.KindNotFound, "Unknown check ID %q. Ensure that the check ID is passed, not the check name.", id)
}

// store writes a unit's record, or removes it if there is nothing to store.
func (l *Local) store(ctx context.Context, u *unit) error {
	if l.cfg.Journal == nil {
		return nil
	}
	value, err := encodeUnit(u, l.seq.Add(1))
	if err != nil {
		return fmt.Errorf("encode %q: %w", u.key, err)
	}
	if value == nil && !l.isStored(u.key) {
		return nil // a service from a file: nothing was stored, nothing is to be
	}
	if value == nil {
		err = l.cfg.Journal.Delete(ctx, u.key)
	} else {
		err = l.cfg.Journal.Put(ctx, u.key, value)
	}
	if err != nil {
		return fmt.Errorf("store %q: %w", u.key, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if value == nil {
		delete(l.stored, u.key)
	} else {
		l.stored[u.key] = true
	}
	return nil
}

func (l *Local) isStored(key string) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.stored[key]
}
