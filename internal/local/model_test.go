package local

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-discovery/muster/internal/model"
	"pgregory.net/rapid"
)

// simple is an obvious version of what is registered: names and ports of
// services, and owner and state of checks.
type simple struct {
	services map[string]string
	checks   map[string]string
}

func (m *simple) addService(id, line string, checks []string, replace bool) {
	m.services[id] = line
	if replace {
		maps.DeleteFunc(m.checks, func(c, v string) bool {
			return strings.HasPrefix(v, id+" ") && !strings.HasPrefix(c, "_") && !slices.Contains(checks, c)
		})
	}
	for _, c := range checks {
		m.addCheck(c, id)
	}
}

func (m *simple) addCheck(id, service string) {
	if !strings.HasPrefix(m.checks[id], service+" ") {
		m.checks[id] = service + " critical"
	}
}

func (m *simple) removeService(id string) {
	delete(m.services, id)
	maps.DeleteFunc(m.checks, func(_, v string) bool { return strings.HasPrefix(v, id+" ") })
}

// shown is what a Local shows, in the model's words.
func shown(l *Local) *simple {
	m := &simple{services: map[string]string{}, checks: map[string]string{}}
	for _, s := range l.Services() {
		m.services[s.ID] = fmt.Sprint(s.Name, s.Port)
	}
	for _, c := range l.Checks() {
		m.checks[c.ID] = c.ServiceID + " " + c.Status
	}
	return m
}

// drain does all that can be written now, in one goroutine.
func drain(l *Local) {
	for {
		work := l.push.next(time.Now())
		if len(work) == 0 {
			return
		}
		for _, w := range work {
			w(ctx)
		}
	}
}

// TestAgainstAModel runs random operations, crashes and failing servers among
// them, and compares what is registered with an obvious version of it, and the
// catalog with what is registered.
func TestAgainstAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, j := newFakeCatalog(), newFakeJournal()
		reopen := func() *Local {
			l, err := Open(testConfig(f, j))
			if err != nil {
				t.Fatal(err)
			}
			return l
		}
		l := reopen()
		m := &simple{services: map[string]string{}, checks: map[string]string{}}
		serviceID := rapid.SampledFrom([]string{"a", "b", "c"})
		checkID := rapid.SampledFrom([]string{"1", "2", "3", "4", "side-a"})
		ok := func(err error) {
			if err != nil {
				t.Fatal(err)
			}
		}
		// known reports whether an error says just what the model expects.
		known := func(err error, there bool) bool {
			if there != (err == nil) || (err != nil && model.KindOf(err) != model.KindNotFound) {
				t.Fatalf("error is %v, in the model it is there: %v", err, there)
			}
			return there
		}
		t.Repeat(map[string]func(*rapid.T){
			"add service": func(t *rapid.T) {
				d := service(serviceID.Draw(t, "service"), rapid.SampledFrom([]string{"x", "y"}).Draw(t, "name"))
				d.Service.Port = rapid.IntRange(1, 3).Draw(t, "port")
				checks := rapid.SliceOfNDistinct(checkID, 0, 3, rapid.ID[string]).Draw(t, "checks")
				sidecar := rapid.Bool().Draw(t, "sidecar")
				if sidecar { // the last of two checks with one id counts
					checks = slices.DeleteFunc(checks, func(c string) bool { return c == "side-"+d.Service.ID })
				}
				for _, c := range checks {
					d.Checks = append(d.Checks, ttl(c, time.Hour))
				}
				replace := rapid.Bool().Draw(t, "replace")
				if sidecar {
					d.Sidecar = &model.ServiceDefinition{Service: model.Service{Name: "side", Port: 9}, Checks: []*model.CheckDefinition{ttl("side-"+d.Service.ID, time.Hour)}}
				}
				ok(l.AddService(ctx, d, replace))
				m.addService(d.Service.ID, fmt.Sprint(d.Service.Name, d.Service.Port), checks, replace)
				if side := sidecarID(d.Service.ID); sidecar {
					m.addService(side, "side9", []string{"side-" + d.Service.ID}, replace)
				} else {
					m.removeService(side)
				}
			},
			"remove service": func(t *rapid.T) {
				id := serviceID.Draw(t, "service")
				_, there := m.services[id]
				if known(l.RemoveService(ctx, id), there) {
					m.removeService(id)
					m.removeService(sidecarID(id))
				}
			},
			"add check": func(t *rapid.T) {
				id, svc := checkID.Draw(t, "check"), rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "service")
				_, there := m.services[svc]
				if known(l.AddCheck(ctx, &model.CheckDefinition{ID: id, Name: id, ServiceID: svc, TTL: time.Hour}), svc == "" || there) {
					m.addCheck(id, svc)
				}
			},
			"remove check": func(t *rapid.T) {
				id := checkID.Draw(t, "check")
				_, there := m.checks[id]
				if known(l.RemoveCheck(ctx, id), there) {
					delete(m.checks, id)
				}
			},
			"report": func(t *rapid.T) {
				id := checkID.Draw(t, "check")
				status := rapid.SampledFrom([]string{"passing", "warning", "critical"}).Draw(t, "status")
				v, there := m.checks[id]
				if known(l.UpdateTTL(ctx, id, status, status), there) {
					m.checks[id] = strings.Fields(" " + v)[0] + " " + status
					if strings.HasPrefix(v, " ") {
						m.checks[id] = " " + status
					}
				}
			},
			"maintenance": func(t *rapid.T) {
				id, on := serviceID.Draw(t, "service"), rapid.Bool().Draw(t, "on")
				_, there := m.services[id]
				if known(l.SetServiceMaintenance(ctx, id, on, ""), there) {
					delete(m.checks, "_service_maintenance:"+id)
					if on {
						m.checks["_service_maintenance:"+id] = id + " critical"
					}
				}
			},
			"restart": func(t *rapid.T) {
				l.states.flush(true)
				j = j.crash()
				l = reopen()
			},
			"servers fail": func(t *rapid.T) {
				kind := rapid.SampledFrom([]model.ErrorKind{model.KindNoLeader, model.KindDenied, model.KindUncertain}).Draw(t, "kind")
				f.setFail(func() error { return model.Errorf(kind, "no") })
				drain(l)
				f.setFail(nil)
			},
			"somebody edits the catalog": func(t *rapid.T) {
				delete(f.services, serviceID.Draw(t, "service"))
				f.services["alien"] = &model.Service{ID: "alien", Name: "alien"}
				f.checks["alien"] = &model.Check{ID: "alien", ServiceID: "alien"}
			},
			"write": func(*rapid.T) { drain(l) },
			"": func(t *rapid.T) {
				if got := shown(l); !maps.Equal(got.services, m.services) || !maps.Equal(got.checks, m.checks) {
					t.Fatalf("registered are\n%v\nthe model says\n%v", got, m)
				}
			},
		})
		// Whatever happened: when the servers are back and the refused have waited,
		// the catalog is what is registered here.
		l.push.syncNow()
		l.mu.Lock()
		for _, s := range l.push.delayed {
			s.notBefore, l.push.nextCheck = time.Time{}, time.Unix(1, 0)
		}
		l.mu.Unlock()
		drain(l)
		l.push.syncNow()
		drain(l)
		got := &simple{services: map[string]string{}, checks: map[string]string{}}
		for _, s := range f.services {
			got.services[s.ID] = fmt.Sprint(s.Name, s.Port)
		}
		for _, c := range f.checks {
			got.checks[c.ID] = c.ServiceID + " " + c.Status
		}
		if !maps.Equal(got.services, m.services) || !maps.Equal(got.checks, m.checks) {
			t.Fatalf("catalog is\n%v\nregistered are\n%v", got, m)
		}
		if len(l.push.slots) != 0 || len(l.push.queue) != 0 {
			t.Fatalf("pending at rest: %v", l.push.slots)
		}
	})
}
