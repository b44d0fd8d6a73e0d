package local

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-discovery/muster/internal/model"
)

// synced runs a test with a Local that has made its first comparison.
func synced(t *testing.T, cfg func(*Config), test func(t *testing.T, l *Local, f *fakeCatalog)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := newFakeCatalog()
		c := testConfig(f, nil)
		if cfg != nil {
			cfg(&c)
		}
		l := open(t, c)
		defer run(t, l)()
		synctest.Wait()
		f.writes()
		test(t, l, f)
	})
}

func expectWrites(t *testing.T, f *fakeCatalog, want ...string) {
	t.Helper()
	synctest.Wait()
	if got := f.writes(); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("writes are\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func TestWritesGoOutAtOnce(t *testing.T) {
	synced(t, nil, func(t *testing.T, l *Local, f *fakeCatalog) {
		began := time.Now()
		add(t, l, service("web", "web", ttl("c", time.Minute)))
		expectWrites(t, f, "register web c=critical")
		must(t, l.UpdateTTL(ctx, "c", model.StatusPassing, "up"))
		expectWrites(t, f, "register c=passing")
		must(t, l.UpdateTTL(ctx, "c", model.StatusPassing, "up"))
		expectWrites(t, f) // nothing new
		must(t, l.AddCheck(ctx, &model.CheckDefinition{Name: "node", TTL: time.Minute}))
		expectWrites(t, f, "register node=critical")
		must(t, l.RemoveCheck(ctx, "c"))
		expectWrites(t, f, "deregister c")
		must(t, l.SetServiceMaintenance(ctx, "web", true, ""))
		expectWrites(t, f, "register _service_maintenance:web=critical")
		must(t, l.RemoveService(ctx, "web"))
		expectWrites(t, f, "deregister web")
		if took := time.Since(began); took != 0 {
			t.Errorf("writes waited %v", took)
		}
	})
}

func TestServiceGoesBeforeItsSidecar(t *testing.T) {
	synced(t, nil, func(t *testing.T, l *Local, f *fakeCatalog) {
		f.edit(func(f *fakeCatalog) { f.delay = time.Second })
		d := service("web", "web")
		d.Sidecar = &model.ServiceDefinition{Service: model.Service{Port: 1}, Checks: []*model.CheckDefinition{ttl("c", time.Hour)}}
		add(t, l, d)
		time.Sleep(1500 * time.Millisecond)
		expectWrites(t, f, "register web")
		time.Sleep(time.Second)
		expectWrites(t, f, "register web-sidecar-proxy c=critical")
		// A service that is refused does not keep its sidecar back.
		f.edit(func(f *fakeCatalog) { f.delay = 0 })
		l.cfg.Catalog = &refusingCatalog{fakeCatalog: f, id: "web"}
		add(t, l, d)
		time.Sleep(time.Second)
		expectWrites(t, f, "register web-sidecar-proxy c=critical")
	})
}

func TestNodeIsRegisteredFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeCatalog()
		l := open(t, testConfig(f, nil))
		defer run(t, l)()
		expectWrites(t, f, "register node")
		l.SetNode(model.Node{Address: "10.0.0.2"})
		expectWrites(t, f, "register node")
		if f.node.Address != "10.0.0.2" || f.node.Name != "n1" {
			t.Errorf("node is %+v", f.node)
		}
		f.edit(func(f *fakeCatalog) { f.node = &model.Node{Name: "n1", Address: "bad"} })
		l.Sync()
		expectWrites(t, f, "register node")
	})
}

func TestChangesCoalesceWhileAWriteIsUnderWay(t *testing.T) {
	synced(t, nil, func(t *testing.T, l *Local, f *fakeCatalog) {
		f.edit(func(f *fakeCatalog) { f.delay = 5 * time.Second })
		add(t, l, service("web", "web", ttl("c", time.Minute)))
		synctest.Wait()
		for i := range 100 {
			d := service("web", "web", ttl("c", time.Minute))
			d.Service.Port = i
			add(t, l, d)
			must(t, l.UpdateTTL(ctx, "c", model.StatusPassing, fmt.Sprint(i)))
			synctest.Wait()
		}
		time.Sleep(20 * time.Second)
		expectWrites(t, f, "register web c=critical", "register web c=passing")
		if p := f.services["web"].Port; p != 99 {
			t.Errorf("catalog has port %d", p)
		}
		// A service that comes and goes meanwhile leaves nothing.
		add(t, l, service("web", "web"))
		synctest.Wait()
		must(t, l.RemoveService(ctx, "web"))
		add(t, l, service("web", "web"))
		must(t, l.RemoveService(ctx, "web"))
		time.Sleep(20 * time.Second)
		expectWrites(t, f, "register web", "deregister web")
	})
}

func TestWritesAreBounded(t *testing.T) {
	synced(t, func(c *Config) { c.MaxWrites = 4 }, func(t *testing.T, l *Local, f *fakeCatalog) {
		f.edit(func(f *fakeCatalog) { f.delay, f.most = 100*time.Millisecond, 0 })
		for i := range 40 {
			add(t, l, service(fmt.Sprint("s", i), "s"))
		}
		time.Sleep(1100 * time.Millisecond)
		f.edit(func(f *fakeCatalog) {
			if f.most != 4 || len(f.services) != 40 {
				t.Errorf("%d writes at once, %d of 40 services after 11 rounds", f.most, len(f.services))
			}
		})
	})
}

func TestChecksOfManyServicesShareAWrite(t *testing.T) {
	synced(t, func(c *Config) { c.MaxWrites = 1 }, func(t *testing.T, l *Local, f *fakeCatalog) {
		const n = 200
		for i := range n {
			add(t, l, service(fmt.Sprint("s", i), "s", ttl(fmt.Sprint("c", i), time.Minute)))
		}
		synctest.Wait()
		f.writes()
		f.edit(func(f *fakeCatalog) { f.delay = 10 * time.Millisecond })
		for i := range n {
			must(t, l.UpdateTTL(ctx, fmt.Sprint("c", i), model.StatusPassing, ""))
		}
		time.Sleep(time.Second)
		if got := len(f.writes()); got > n/maxChecksOnly+2 {
			t.Errorf("%d changes of checks took %d writes", n, got)
		}
		f.edit(func(f *fakeCatalog) {
			for id, c := range f.checks {
				if c.Status != model.StatusPassing {
					t.Errorf("catalog has %s for %s", c.Status, id)
				}
			}
		})
	})
}

func TestOutputAloneGoesOutLate(t *testing.T) {
	synced(t, nil, func(t *testing.T, l *Local, f *fakeCatalog) {
		add(t, l, service("web", "web", ttl("c", time.Hour)))
		must(t, l.UpdateTTL(ctx, "c", model.StatusPassing, "one"))
		synctest.Wait()
		f.writes()
		began := time.Now()
		for i := range 600 { // an output that never stands still
			must(t, l.UpdateTTL(ctx, "c", model.StatusPassing, fmt.Sprint("n", i)))
			time.Sleep(time.Second)
		}
		if n := len(f.writes()); n < 1 || n > 2 {
			t.Errorf("outputs changing for %v took %d writes, want one each 5 to 6 minutes", time.Since(began), n)
		}
		// With a new state the newest output goes too, at once.
		must(t, l.UpdateTTL(ctx, "c", model.StatusWarning, "hm"))
		expectWrites(t, f, "register c=warning")
		f.edit(func(f *fakeCatalog) {
			if f.checks["c"].Output != "hm" {
				t.Errorf("catalog has output %q", f.checks["c"].Output)
			}
		})
		must(t, l.UpdateTTL(ctx, "c", model.StatusWarning, "last"))
		time.Sleep(7 * time.Minute)
		f.edit(func(f *fakeCatalog) {
			if got := f.checks["c"].Output; got != "last" {
				t.Errorf("catalog has output %q after the interval", got)
			}
		})
	})
	synced(t, func(c *Config) { c.CheckUpdateInterval = 0 }, func(t *testing.T, l *Local, f *fakeCatalog) {
		add(t, l, service("web", "web", ttl("c", time.Hour)))
		must(t, l.UpdateTTL(ctx, "c", model.StatusPassing, "one"))
		synctest.Wait()
		f.writes()
		must(t, l.UpdateTTL(ctx, "c", model.StatusPassing, "two"))
		expectWrites(t, f, "register c=passing")
	})
}

func TestComparisonRepairsTheCatalog(t *testing.T) {
	for _, how := range []string{"periodic", "asked for"} {
		synced(t, nil, func(t *testing.T, l *Local, f *fakeCatalog) {
			add(t, l, service("lost", "lost", ttl("lost-c", time.Hour)))
			add(t, l, service("changed", "changed", ttl("changed-c", time.Hour), ttl("gone-c", time.Hour)))
			add(t, l, service("fine", "fine", ttl("fine-c", time.Hour)))
			synctest.Wait()
			f.writes()
			f.edit(func(f *fakeCatalog) {
				delete(f.services, "lost")
				delete(f.checks, "lost-c")
				s := *f.services["changed"]
				s.Port = 99
				f.services["changed"] = &s
				c := *f.checks["changed-c"]
				c.Status = model.StatusPassing
				f.checks["changed-c"] = &c
				delete(f.checks, "gone-c")
				f.services["alien"] = &model.Service{ID: "alien", Name: "alien"}
				f.checks["alien-c"] = &model.Check{ID: "alien-c", ServiceID: "alien"}
				f.checks["alien-node"] = &model.Check{ID: "alien-node"}
				f.checks["alien-on-fine"] = &model.Check{ID: "alien-on-fine", ServiceID: "fine"}
				// The leader's, not ours.
				f.services["consul"] = &model.Service{ID: "consul", Name: "consul"}
				f.checks["consul-c"] = &model.Check{ID: "consul-c", ServiceID: "consul"}
				f.checks["serfHealth"] = &model.Check{ID: "serfHealth"}
			})
			if how == "asked for" {
				l.Sync()
			} else {
				time.Sleep(61 * time.Second)
			}
			synctest.Wait()
			f.edit(func(f *fakeCatalog) {
				if got := fmt.Sprint(sortedIDs(f.services)); got != "[changed consul fine lost]" {
					t.Errorf("%s: services in the catalog are %s", how, got)
				}
				if got := fmt.Sprint(sortedIDs(f.checks)); got != "[changed-c consul-c fine-c gone-c lost-c serfHealth]" {
					t.Errorf("%s: checks in the catalog are %s", how, got)
				}
				if f.services["changed"].Port != 0 || f.checks["changed-c"].Status != model.StatusCritical {
					t.Errorf("%s: what was changed is not set right", how)
				}
			})
			if n := len(f.writes()); n > 6 {
				t.Errorf("%s: repair took %d writes", how, n)
			}
			l.Sync()
			expectWrites(t, f) // nothing left to do
		})
	}
}

func TestTagsThatOthersMayChange(t *testing.T) {
	synced(t, nil, func(t *testing.T, l *Local, f *fakeCatalog) {
		d := func() *model.ServiceDefinition {
			d := service("x", "x")
			d.Service.Tags, d.Service.EnableTagOverride = []string{"own"}, true
			return d
		}
		add(t, l, d())
		synctest.Wait()
		f.edit(func(f *fakeCatalog) {
			s := *f.services["x"]
			s.Tags = []string{"theirs"}
			f.services["x"] = &s
		})
		add(t, l, d()) // before any comparison
		synctest.Wait()
		for _, when := range []string{"registered again", "compared"} {
			s, _ := l.Service("x")
			var remote []string
			f.edit(func(f *fakeCatalog) { remote = f.services["x"].Tags })
			if got := fmt.Sprint(remote, s.Tags); got != "[theirs] [theirs]" {
				t.Errorf("%s: tags in the catalog and here are %s", when, got)
			}
			l.Sync()
			synctest.Wait()
		}
	})
}

func TestOutage(t *testing.T) {
	synced(t, nil, func(t *testing.T, l *Local, f *fakeCatalog) {
		var tries atomic.Int32
		f.setFail(func() error { tries.Add(1); return model.Errorf(model.KindNoLeader, "No cluster leader") })
		for i := range 100 {
			add(t, l, service(fmt.Sprint("s", i), "s"))
		}
		must(t, l.RemoveService(ctx, "s99"))
		time.Sleep(5 * time.Minute)
		if n := tries.Load(); n < 20 || n > 100 {
			t.Errorf("100 services made %d tries in 5 minutes without a leader", n)
		}
		f.setFail(nil)
		l.Sync() // the agent sees a leader
		time.Sleep(10 * time.Millisecond)
		f.edit(func(f *fakeCatalog) {
			if len(f.services) != 99 {
				t.Errorf("catalog has %d of 99 services right after the leader is back", len(f.services))
			}
		})

		// Also without being told.
		f.setFail(func() error { return model.Errorf(model.KindUnavailable, "away") })
		add(t, l, service("late", "late"))
		time.Sleep(time.Hour)
		f.setFail(nil)
		time.Sleep(retryMax)
		f.edit(func(f *fakeCatalog) {
			if f.services["late"] == nil {
				t.Errorf("catalog misses a service %v after the servers are back", retryMax)
			}
		})
	})
}

func TestRefusedWritesHoldUpNobody(t *testing.T) {
	synced(t, nil, func(t *testing.T, l *Local, f *fakeCatalog) {
		refused := &refusingCatalog{fakeCatalog: f, id: "bad"}
		l.cfg.Catalog = refused
		bad := service("bad", "bad", ttl("bad-c", time.Hour))
		bad.Token = "wrong"
		add(t, l, bad)
		add(t, l, service("good", "good"))
		expectWrites(t, f, "register good")
		time.Sleep(10 * time.Minute)
		if n := refused.tries.Load(); n < 3 || n > 10 {
			t.Errorf("a refused write was tried %d times in 10 minutes", n)
		}
		add(t, l, service("good2", "good2"))
		expectWrites(t, f, "register good2")
		bad2 := service("bad", "bad", ttl("bad-c", time.Hour))
		bad2.Token = "right"
		add(t, l, bad2) // a new definition is tried at once
		expectWrites(t, f, "register bad bad-c=critical token=right")
	})
}

// A service that somebody removed from the catalog comes back with the next
// change of its checks, not only with the next comparison.
func TestCheckOfALostService(t *testing.T) {
	synced(t, nil, func(t *testing.T, l *Local, f *fakeCatalog) {
		add(t, l, service("web", "web", ttl("c", time.Hour)))
		synctest.Wait()
		f.writes()
		f.edit(func(f *fakeCatalog) { clear(f.services); clear(f.checks) })
		must(t, l.UpdateTTL(ctx, "c", model.StatusPassing, ""))
		expectWrites(t, f, "register web c=passing")
	})
}

func TestTokens(t *testing.T) {
	synced(t, func(c *Config) { c.Token = func() string { return "agent" } }, func(t *testing.T, l *Local, f *fakeCatalog) {
		own := service("own", "own")
		own.Token = "secret"
		add(t, l, own)
		expectWrites(t, f, "register own token=secret")
		add(t, l, service("none", "none"))
		expectWrites(t, f, "register none token=agent")
		must(t, l.AddCheck(ctx, &model.CheckDefinition{Name: "c", TTL: 1e9, ServiceID: "own"}))
		expectWrites(t, f, "register c=critical token=secret")
		must(t, l.AddCheck(ctx, &model.CheckDefinition{Name: "d", TTL: 1e9, Token: "third"}))
		expectWrites(t, f, "register d=critical token=third")
		must(t, l.RemoveCheck(ctx, "d"))
		expectWrites(t, f, "deregister d token=third")
		must(t, l.RemoveService(ctx, "own"))
		expectWrites(t, f, "deregister own token=secret")
	})
}

// TestChangeWaitsForTheCatalog: a caller reads its own write, and is not held up
// when the catalog can't be reached.
func TestChangeWaitsForTheCatalog(t *testing.T) {
	synced(t, nil, func(t *testing.T, l *Local, f *fakeCatalog) {
		f.edit(func(f *fakeCatalog) { f.delay = followTime / 2 })
		start := time.Now()
		must(t, l.AddService(ctx, service("web", "web"), false))
		if _, ok := f.services["web"]; !ok || time.Since(start) != followTime/2 {
			t.Errorf("after %v the catalog has the service: %t; want it after %v", time.Since(start), ok, followTime/2)
		}
		must(t, l.AddCheck(ctx, &model.CheckDefinition{Name: "disk", TTL: time.Hour}))
		if _, ok := f.checks["disk"]; !ok {
			t.Error("the catalog lacks a check of the node after its registration")
		}
		f.edit(func(f *fakeCatalog) { f.delay = time.Second })
		start = time.Now()
		must(t, l.RemoveService(ctx, "web"))
		if took := time.Since(start); took != followTime {
			t.Errorf("a slow catalog held the caller up for %v, the bound is %v", took, followTime)
		}
		time.Sleep(2 * time.Minute)
		expectWrites(t, f, "register web", "register disk=critical", "deregister web")
	})
}

// TestNothingNewNoWrite: reading the same files again, and coming back to a
// catalog that has everything, cost no write.
func TestNothingNewNoWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeCatalog()
		files := func() []*model.ServiceDefinition {
			d := service("web", "web", ttl("c", time.Hour))
			d.Checks[0].Status = model.StatusPassing
			return []*model.ServiceDefinition{d}
		}
		first := open(t, testConfig(f, nil))
		must(t, first.SetFileDefinitions(ctx, files(), nil))
		stop := run(t, first)
		synctest.Wait()
		f.writes()
		must(t, first.SetFileDefinitions(ctx, files(), nil))
		first.SetNode(first.node)
		expectWrites(t, f)
		changed := files()
		changed[0].Service.Port = 99
		must(t, first.SetFileDefinitions(ctx, changed, nil))
		expectWrites(t, f, "register web")
		stop()

		second := open(t, testConfig(f, nil))
		must(t, second.SetFileDefinitions(ctx, changed, nil))
		defer run(t, second)()
		expectWrites(t, f)
	})
}
