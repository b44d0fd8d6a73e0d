package local

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/muster-discovery/muster/internal/model"
)

// SetFileDefinitions makes the given definitions, from configuration files, the
// only ones from files: it adds and updates them and removes those that the files
// no longer name. Checks that stay keep their states, and what was added to such
// a service over the API (checks, maintenance) stays with it. A definition takes
// the place of one with the same id that came over the API.
//
// It carries out what it can and returns all errors together.
func (l *Local) SetFileDefinitions(ctx context.Context, services []*model.ServiceDefinition, checks []*model.CheckDefinition) error {
	var errs []error
	keepServices, keepChecks := map[string]bool{}, map[string]bool{}
	for _, d := range services {
		if err := l.addService(ctx, d, false, true); err != nil {
			errs = append(errs, fmt.Errorf("service %q: %w", d.Service.Name, err))
		}
		id := d.Service.ID
		if id == "" {
			id = d.Service.Name
		}
		keepServices[id] = true
	}
	for _, d := range checks {
		if err := l.addCheck(ctx, d, true); err != nil {
			errs = append(errs, fmt.Errorf("check %q: %w", d.Name, err))
		}
		if d.ID != "" {
			keepChecks[d.ID] = true
		} else {
			keepChecks[d.Name] = true
		}
	}
	gone, goneChecks := l.vanished(keepServices, keepChecks)
	for _, id := range gone {
		errs = append(errs, ignoreNotFound(l.RemoveService(ctx, id)))
	}
	for _, id := range goneChecks {
		errs = append(errs, ignoreNotFound(l.RemoveCheck(ctx, id)))
	}
	return errors.Join(errs...)
}

// vanished returns the ids of services and of single checks that came from files
// and are not to be kept.
func (l *Local) vanished(services, checks map[string]bool) (goneServices, goneChecks []string) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	for key, u := range l.units {
		id := strings.TrimPrefix(key, serviceUnit(""))
		if u.fromFile && !services[id] {
			goneServices = append(goneServices, id)
			continue
		}
		for _, c := range u.checks {
			if c.fromFile && !c.embedded && !checks[c.def.ID] {
				goneChecks = append(goneChecks, c.def.ID)
			}
		}
	}
	return goneServices, goneChecks
}

func ignoreNotFound(err error) error {
	if model.KindOf(err) == model.KindNotFound {
		return nil
	}
	return err
}
