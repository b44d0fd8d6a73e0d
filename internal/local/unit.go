package local

import (
	"reflect"
	"slices"

	"github.com/muster-discovery/muster/internal/model"
)

// unit is what changes, and is stored, as a whole. Units are immutable.
type unit struct {
	key      string
	fromFile bool         // the service comes from the configuration and is not stored
	services []serviceDef // none, the service, or the service and its sidecar
	checks   []checkDef
}

// serviceDef is a registered service.
type serviceDef struct {
	service *model.Service
	token   string
}

// checkDef is a registered check.
type checkDef struct {
	def *model.CheckDefinition
	// embedded checks came inside a service's definition. They show unset
	// durations as empty strings, others as "0s".
	embedded    bool
	maintenance bool // not a check that runs, but the mark of maintenance mode
	fromFile    bool
	// The service's name and tags when the check was registered, as agents show
	// them; the catalog fills in current ones.
	serviceName string
	serviceTags []string
}

// Keys of units. Also the keys of their records on disk.
func serviceUnit(id string) string { return "service/" + id }
func checkUnit(id string) string   { return "check/" + id }

func (u *unit) empty() bool { return len(u.services) == 0 && len(u.checks) == 0 }

// check is the place of a check in the unit, which may be nil; -1 if it has none.
func (u *unit) check(id string) int {
	if u == nil {
		return -1
	}
	return slices.IndexFunc(u.checks, func(c checkDef) bool { return c.def.ID == id })
}

func (u *unit) service(id string) int {
	return slices.IndexFunc(u.services, func(s serviceDef) bool { return s.service.ID == id })
}

// withCheck is u with a check added or replaced.
func (u *unit) withCheck(c checkDef) *unit {
	out := *u
	out.checks = slices.Clone(u.checks)
	if i := out.check(c.def.ID); i >= 0 {
		out.checks[i] = c
	} else {
		out.checks = append(out.checks, c)
	}
	return &out
}

// withoutCheck is u without a check.
func (u *unit) withoutCheck(id string) *unit {
	out := *u
	out.checks = slices.DeleteFunc(slices.Clone(u.checks), func(c checkDef) bool { return c.def.ID == id })
	return &out
}

// withoutService is u without a service and its checks. Without its first
// service nothing of a unit is left.
func (u *unit) withoutService(id string) *unit {
	if len(u.services) == 0 || u.services[0].service.ID == id {
		return &unit{key: u.key}
	}
	out := *u
	out.services = slices.DeleteFunc(slices.Clone(u.services), func(s serviceDef) bool { return s.service.ID == id })
	out.checks = slices.DeleteFunc(slices.Clone(u.checks), func(c checkDef) bool { return c.def.ServiceID == id })
	return &out
}

// keepSame takes over from old what has not changed, so that reading the same
// files again writes nothing. A registration through the API is another matter:
// it may be meant as a repair and is always passed on.
func (u *unit) keepSame(old *unit) {
	if old == nil {
		return
	}
	for i, s := range u.services {
		if j := old.service(s.service.ID); j >= 0 && reflect.DeepEqual(old.services[j], s) {
			u.services[i] = old.services[j]
		}
	}
	for i, c := range u.checks {
		if j := old.check(c.def.ID); j >= 0 && reflect.DeepEqual(old.checks[j], c) {
			u.checks[i] = old.checks[j]
		}
	}
}
