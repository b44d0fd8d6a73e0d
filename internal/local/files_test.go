package local

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-discovery/muster/internal/model"
)

func TestFileDefinitions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newFakeJournal()
		cfg := testConfig(newFakeCatalog(), j)
		l := open(t, cfg)
		stop := run(t, l)
		withStatus := ttl("web-ttl", 10*time.Minute)
		withStatus.Status = model.StatusPassing
		web := service("web", "web", withStatus)
		nodeCheck := &model.CheckDefinition{ID: "nodecheck", Name: "node check", TTL: time.Hour, Status: model.StatusWarning}
		onWeb := &model.CheckDefinition{ID: "on-web", Name: "on web", ServiceID: "web", TTL: time.Hour}
		load := func(l *Local, services []*model.ServiceDefinition, checks ...*model.CheckDefinition) {
			t.Helper()
			must(t, l.SetFileDefinitions(ctx, services, checks))
		}
		expect := func(l *Local, want string) {
			t.Helper()
			services, checks := ids(l)
			if got := fmt.Sprint(services, checks); got != want {
				t.Errorf("registered are %s, want %s", got, want)
			}
		}
		load(l, []*model.ServiceDefinition{web, service("one", "one")}, nodeCheck, onWeb)
		expect(l, "[one web] [nodecheck on-web web-ttl]")
		c, _ := l.Check("nodecheck")
		if c.Type != "" || c.Interval != "0s" || c.Status != model.StatusWarning {
			t.Errorf("check from a file is %+v", c)
		}

		must(t, l.UpdateTTL(ctx, "web-ttl", model.StatusPassing, "up"))
		must(t, l.UpdateTTL(ctx, "on-web", model.StatusPassing, "up too"))
		must(t, l.SetServiceMaintenance(ctx, "web", true, "why"))
		must(t, l.AddCheck(ctx, &model.CheckDefinition{ID: "api", Name: "api", ServiceID: "web", TTL: time.Hour}))
		add(t, l, service("by-api", "by-api"))

		// A reload keeps states and what came over the API, removes what is gone from
		// the files, adds what is new.
		load(l, []*model.ServiceDefinition{web, service("two", "two")}, onWeb)
		expect(l, "[by-api two web] [_service_maintenance:web api on-web web-ttl]")
		for id, want := range map[string]string{"web-ttl": "passing: up", "on-web": "passing: up too"} {
			if got := checkLine(t, l, id); got != want {
				t.Errorf("after a reload %s is %q, want %q", id, got, want)
			}
		}
		if v, ok := j.crash().values["service/two"]; ok {
			t.Errorf("a service from a file is on disk: %s", v)
		}

		time.Sleep(2 * time.Second) // an output alone is not written at once

		// So does a restart, where the files are read after the journal.
		for _, kill := range []bool{true, false} {
			restarted := open(t, testConfig(newFakeCatalog(), j.crash()))
			if !kill {
				stop()
				restarted = open(t, cfg)
			}
			load(restarted, []*model.ServiceDefinition{web, service("two", "two")}, onWeb)
			expect(restarted, "[by-api two web] [_service_maintenance:web api on-web web-ttl]")
			if got := checkLine(t, restarted, "web-ttl"); got != "passing: up" {
				t.Errorf("after a restart web-ttl is %q", got)
			}
			load(restarted, nil)
			expect(restarted, "[by-api] []")
		}

		// Without the service in the files, what was stored for it goes.
		again := open(t, cfg)
		expect(again, "[by-api] []")
		load(again, nil)
		run(t, again)()
		if _, ok := j.crash().values["service/web"]; ok {
			t.Error("stored checks of a service that no file names any more are left on disk")
		}
	})
}

func TestFileTakesOverAnAPIService(t *testing.T) {
	j := newFakeJournal()
	l := open(t, testConfig(newFakeCatalog(), j))
	add(t, l, service("x", "api"))
	must(t, l.SetFileDefinitions(ctx, []*model.ServiceDefinition{service("x", "file")}, nil))
	if s, _ := l.Service("x"); s.Name != "file" {
		t.Errorf("service is %q", s.Name)
	}
	if len(j.values) != 0 {
		t.Errorf("the API's registration is still on disk: %v", j.values)
	}
	add(t, l, service("x", "api"))
	must(t, l.SetFileDefinitions(ctx, nil, nil))
	if _, ok := l.Service("x"); !ok {
		t.Error("a service registered over the API went with the files")
	}
	err := l.SetFileDefinitions(ctx, []*model.ServiceDefinition{service("a", ""), service("b", "b")}, []*model.CheckDefinition{{Name: "c", ServiceID: "ghost", TTL: 1}})
	if err == nil {
		t.Error("mistakes in files are not reported")
	}
	if _, ok := l.Service("b"); !ok {
		t.Error("one mistake kept the rest out")
	}
}
