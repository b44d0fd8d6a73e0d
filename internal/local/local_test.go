package local

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/muster-discovery/muster/internal/model"
)

var ctx = context.Background()

func wantError(t *testing.T, err error, kind model.ErrorKind, text string) {
	t.Helper()
	if err == nil || model.KindOf(err) != kind || err.Error() != text {
		t.Errorf("error is %v (kind %d), want %q (kind %d)", err, model.KindOf(err), text, kind)
	}
}

func TestTextsThatClientsKnow(t *testing.T) {
	l := open(t, testConfig(newFakeCatalog(), nil))
	must(t, l.AddCheck(ctx, &model.CheckDefinition{Name: "tc", TCP: "127.0.0.1:1", Interval: time.Hour}))
	const noService = `Unknown service ID "none". Ensure that the service ID is passed, not the service name.`
	const noCheck = `Unknown check ID "none". Ensure that the check ID is passed, not the check name.`
	wantError(t, l.RemoveService(ctx, "none"), model.KindNotFound, noService)
	wantError(t, l.SetServiceMaintenance(ctx, "none", true, ""), model.KindNotFound, noService)
	wantError(t, l.RemoveCheck(ctx, "none"), model.KindNotFound, noCheck)
	wantError(t, l.UpdateTTL(ctx, "none", model.StatusPassing, ""), model.KindNotFound, noCheck)
	wantError(t, l.UpdateTTL(ctx, "tc", model.StatusPassing, ""), model.KindInternal, `CheckID "tc" does not have associated TTL`)
	wantError(t, l.AddCheck(ctx, &model.CheckDefinition{Name: "x", TTL: 1, ServiceID: "ghost"}), model.KindNotFound, `ServiceID "ghost" does not exist`)
	wantError(t, l.AddCheck(ctx, &model.CheckDefinition{TTL: 1}), model.KindInvalid, "Missing check name")
	wantError(t, l.AddService(ctx, &model.ServiceDefinition{}, false), model.KindInvalid, "Missing service name")
	wantError(t, l.AddCheck(ctx, &model.CheckDefinition{ID: "serfHealth", Name: "x", TTL: 1}), model.KindInvalid, `Check ID "serfHealth" is reserved`)
}

func TestDefaultsOfAService(t *testing.T) {
	l := open(t, testConfig(newFakeCatalog(), nil))
	d := service("web-1", "web", ttl("", time.Minute), ttl("own", time.Minute))
	d.Service.Address, d.Service.Port = "10.2.0.1", 8000
	d.Service.TaggedAddresses = map[string]model.ServiceAddress{"wan": {Address: "192.0.2.9", Port: 80}}
	d.Service.Tags = []string{"t"}
	add(t, l, d)
	s, _ := l.Service("web-1")
	want := map[string]model.ServiceAddress{"wan": {Address: "192.0.2.9", Port: 80}, "lan_ipv4": {Address: "10.2.0.1", Port: 8000}, "wan_ipv4": {Address: "10.2.0.1", Port: 8000}}
	if !sameAddresses(s.TaggedAddresses, want) || s.Weights != (model.Weights{Passing: 1, Warning: 1}) || s.Node != "n1" {
		t.Errorf("service is %+v", s)
	}
	add(t, l, service("", "six", ttl("", time.Minute)))
	_, checks := ids(l)
	if got := fmt.Sprint(checks); got != "[own service:six service:web-1:1]" {
		t.Errorf("checks are %s", got)
	}
	c, _ := l.Check("own")
	if c.Name != "Service 'web' check" || c.ServiceName != "web" || fmt.Sprint(c.ServiceTags) != "[t]" || c.Type != "ttl" || c.Interval != "" || c.Status != model.StatusCritical {
		t.Errorf("check is %+v", c)
	}
	must(t, l.AddCheck(ctx, &model.CheckDefinition{Name: "n", TTL: time.Minute, Timeout: 2 * time.Second}))
	if c, _ = l.Check("n"); c.Interval != "0s" || c.Timeout != "2s" {
		t.Errorf("check registered alone shows interval %q and timeout %q", c.Interval, c.Timeout)
	}
}

func TestRegisteringAgain(t *testing.T) {
	for _, replace := range []bool{false, true} {
		l := open(t, testConfig(newFakeCatalog(), nil))
		first := service("x", "web", ttl("old", time.Minute), ttl("same", time.Minute))
		first.Service.Tags = []string{"a"}
		add(t, l, first)
		must(t, l.UpdateTTL(ctx, "same", model.StatusPassing, "fine"))
		must(t, l.SetServiceMaintenance(ctx, "x", true, "why"))
		before, _ := l.Service("x")
		second := service("x", "web", ttl("new", time.Minute), ttl("same", time.Minute))
		second.Service.Port = 2
		must(t, l.AddService(ctx, second, replace))
		_, checks := ids(l)
		want := "[_service_maintenance:x new old same]"
		if replace {
			want = "[_service_maintenance:x new same]"
		}
		if got := fmt.Sprint(checks); got != want {
			t.Errorf("replace=%v: checks are %s, want %s", replace, got, want)
		}
		if got := checkLine(t, l, "same"); got != "passing: fine" {
			t.Errorf("replace=%v: state of the check that stayed is %q", replace, got)
		}
		after, _ := l.Service("x")
		if after.Port != 2 || !after.RegisteredAt.Equal(before.RegisteredAt) || len(after.Tags) != 0 {
			t.Errorf("service is %+v", after)
		}
	}
}

func TestCheckMovesToAnotherService(t *testing.T) {
	j := newFakeJournal()
	l := open(t, testConfig(newFakeCatalog(), j))
	add(t, l, service("s1", "one", ttl("c", time.Minute)))
	add(t, l, service("s2", "two"))
	must(t, l.UpdateTTL(ctx, "c", model.StatusPassing, "of one"))
	must(t, l.AddCheck(ctx, &model.CheckDefinition{ID: "c", Name: "again", ServiceID: "s2", TTL: time.Minute}))
	for range 2 {
		c, _ := l.Check("c")
		if c.ServiceID != "s2" || c.ServiceName != "two" || c.Status != model.StatusCritical || c.Output != "" {
			t.Errorf("check is %+v", c)
		}
		if len(l.ServiceChecks("s1")) != 0 || len(l.ServiceChecks("s2")) != 1 {
			t.Error("the check is not where it should be")
		}
		l = open(t, testConfig(newFakeCatalog(), j)) // and it stays there
	}
	// Removing its new owner must not bring it back at the old one.
	must(t, l.RemoveService(ctx, "s2"))
	l = open(t, testConfig(newFakeCatalog(), j))
	if services, checks := ids(l); fmt.Sprint(services, checks) != "[s1] []" {
		t.Errorf("left are %v %v", services, checks)
	}
}

func TestMaintenance(t *testing.T) {
	j := newFakeJournal()
	l := open(t, testConfig(newFakeCatalog(), j))
	add(t, l, service("w1", "web"))
	must(t, l.SetServiceMaintenance(ctx, "w1", true, ""))
	must(t, l.SetNodeMaintenance(ctx, true, "Rack move", ""))
	must(t, l.SetNodeMaintenance(ctx, true, "again", ""))
	l = open(t, testConfig(newFakeCatalog(), j))
	s, _ := l.Check("_service_maintenance:w1")
	n, _ := l.Check("_node_maintenance")
	if s == nil || s.Status != model.StatusCritical || s.Name != "Service Maintenance Mode" || s.Notes != defaultServiceReason || s.Type != "maintenance" || s.ServiceName != "web" || s.Interval != "" {
		t.Errorf("service maintenance is %+v", s)
	}
	if n == nil || n.Status != model.StatusCritical || n.Name != "Node Maintenance Mode" || n.Notes != "Rack move" || n.Type != "maintenance" {
		t.Errorf("node maintenance is %+v", n)
	}
	must(t, l.SetServiceMaintenance(ctx, "w1", false, ""))
	must(t, l.SetNodeMaintenance(ctx, false, "", ""))
	must(t, l.SetNodeMaintenance(ctx, false, "", ""))
	l = open(t, testConfig(newFakeCatalog(), j))
	if _, checks := ids(l); len(checks) != 0 {
		t.Errorf("checks are %v after maintenance", checks)
	}
	if _, ok := j.values["check/_node_maintenance"]; ok {
		t.Error("a record of the node's maintenance is left on disk")
	}
}

func TestSidecar(t *testing.T) {
	cfg := testConfig(newFakeCatalog(), nil)
	cfg.SidecarMinPort, cfg.SidecarMaxPort = 8990, 8990
	l := open(t, cfg)
	web := func(name string) *model.ServiceDefinition {
		d := service("", name, ttl("c-"+name, time.Minute))
		d.Service.Port, d.Service.Tags, d.Service.Meta = 80, []string{"t"}, map[string]string{"m": "1"}
		d.Sidecar = &model.ServiceDefinition{}
		return d
	}
	add(t, l, web("a"))
	s, _ := l.Service("a-sidecar-proxy")
	if s.Port != 8990 || s.Name != "a-sidecar-proxy" || s.Kind != model.KindConnectProxy || fmt.Sprint(s.Tags, s.Meta) != "[t] map[m:1]" {
		t.Errorf("sidecar is %+v", s)
	}
	if p := s.Proxy; p.DestinationServiceID != "a" || p.DestinationServiceName != "a" || p.LocalServicePort != 80 || p.LocalServiceAddress != "127.0.0.1" {
		t.Errorf("proxy is %+v", p)
	}
	listening, _ := l.CheckDefinition("service:a-sidecar-proxy:1")
	if listening == nil || listening.TCP != "127.0.0.1:8990" || listening.Name != "Connect Sidecar Listening" {
		t.Errorf("listening check is %+v", listening)
	}
	if got := checkLine(t, l, "service:a-sidecar-proxy:2"); got != `critical: Aliased check "Service 'a' check" failing: ` {
		t.Errorf("alias is %q", got)
	}
	must(t, l.UpdateTTL(ctx, "c-a", model.StatusPassing, ""))
	if got := checkLine(t, l, "service:a-sidecar-proxy:2"); got != "passing: All checks passing." {
		t.Errorf("alias is %q", got)
	}

	add(t, l, web("a")) // keeps its port
	err := l.AddService(ctx, web("b"), false)
	wantError(t, err, model.KindInternal, "no port provided for sidecar_service and none left in the configured range [8990, 8990]")
	if _, ok := l.Service("b"); !ok {
		t.Error("the service whose sidecar found no port is not registered")
	}
	must(t, l.RemoveService(ctx, "a"))
	if services, checks := ids(l); fmt.Sprint(services, checks) != "[b] [c-b]" {
		t.Errorf("left are %v %v", services, checks)
	}
	add(t, l, web("b")) // the port is free again
	plain := web("b")
	plain.Sidecar = nil
	add(t, l, plain) // and a registration without the sidecar removes it
	if services, checks := ids(l); fmt.Sprint(services, checks) != "[b] [c-b]" {
		t.Errorf("left are %v %v", services, checks)
	}
	if len(l.ports) != 0 {
		t.Errorf("ports are still taken: %v", l.ports)
	}
}

func TestAlias(t *testing.T) {
	l := open(t, testConfig(newFakeCatalog(), nil))
	add(t, l, service("w1", "web"))
	add(t, l, service("s1", "side"))
	must(t, l.AddCheck(ctx, &model.CheckDefinition{ID: "al", Name: "al", ServiceID: "s1", AliasService: "w1"}))
	must(t, l.AddCheck(ctx, &model.CheckDefinition{ID: "node", Name: "node", ServiceID: "s1", AliasNode: "n1"}))
	must(t, l.AddCheck(ctx, &model.CheckDefinition{ID: "ghost", Name: "ghost", AliasService: "ghost", ServiceID: "s1"}))
	// An alias that leads back must not keep both ill for ever.
	must(t, l.AddCheck(ctx, &model.CheckDefinition{ID: "back", Name: "back", ServiceID: "w1", AliasService: "s1"}))
	must(t, l.RemoveCheck(ctx, "back"))
	for _, step := range []struct {
		do       func() error
		al, node string
	}{
		{func() error { return nil }, "passing: No checks found.", "passing: No checks found."},
		{func() error {
			return l.AddCheck(ctx, &model.CheckDefinition{ID: "c", Name: "c", ServiceID: "w1", TTL: time.Minute})
		}, `critical: Aliased check "c" failing: `, "passing: No checks found."},
		{func() error { return l.UpdateTTL(ctx, "c", model.StatusWarning, "hm") }, `warning: Aliased check "c" failing: hm`, "passing: No checks found."},
		{func() error { return l.UpdateTTL(ctx, "c", model.StatusPassing, "") }, "passing: All checks passing.", "passing: No checks found."},
		{func() error {
			return l.AddCheck(ctx, &model.CheckDefinition{ID: "disk", Name: "disk", TTL: time.Minute})
		}, "passing: All checks passing.", `critical: Aliased check "disk" failing: `},
		{func() error { return l.RemoveService(ctx, "w1") }, `critical: Service "w1" is not registered with this agent.`, `critical: Aliased check "disk" failing: `},
	} {
		must(t, step.do())
		if al, node := checkLine(t, l, "al"), checkLine(t, l, "node"); al != step.al || node != step.node {
			t.Errorf("aliases are %q and %q, want %q and %q", al, node, step.al, step.node)
		}
	}
	if got := checkLine(t, l, "ghost"); !strings.HasPrefix(got, "critical: ") {
		t.Errorf("alias of nothing is %q", got)
	}
}

func TestAliasesInACircleRecover(t *testing.T) {
	l := open(t, testConfig(newFakeCatalog(), nil))
	for _, id := range []string{"a", "b", "c"} {
		add(t, l, service(id, id))
	}
	for _, p := range [][2]string{{"a", "b"}, {"b", "c"}, {"c", "a"}} {
		must(t, l.AddCheck(ctx, &model.CheckDefinition{ID: p[0] + p[1], Name: "x", ServiceID: p[0], AliasService: p[1]}))
	}
	must(t, l.AddCheck(ctx, &model.CheckDefinition{ID: "t", Name: "t", ServiceID: "c", TTL: time.Minute}))
	if got := checkLine(t, l, "ab"); !strings.HasPrefix(got, "critical") {
		t.Errorf("alias through another is %q, want critical", got)
	}
	must(t, l.UpdateTTL(ctx, "t", model.StatusPassing, ""))
	for _, id := range []string{"ab", "bc", "ca"} {
		if got := checkLine(t, l, id); !strings.HasPrefix(got, "passing") {
			t.Errorf("alias %s is %q after the only real check recovered", id, got)
		}
	}
}

func TestKindsThatCannotRunStayCritical(t *testing.T) {
	l := open(t, testConfig(newFakeCatalog(), nil))
	must(t, l.AddCheck(ctx, &model.CheckDefinition{Name: "d", DockerContainerID: "c", ScriptArgs: []string{"true"}, Interval: time.Second, Status: model.StatusPassing}))
	if got := checkLine(t, l, "d"); !strings.HasPrefix(got, "critical: ") || !strings.Contains(got, `"docker"`) {
		t.Errorf("Docker check is %q", got)
	}
}

func TestWatch(t *testing.T) {
	l := open(t, testConfig(newFakeCatalog(), nil))
	isClosed := func(c <-chan struct{}) bool {
		select {
		case <-c:
			return true
		default:
			return false
		}
	}
	if !isClosed(l.Watch("web")) {
		t.Error("watching a service that is not there blocks")
	}
	add(t, l, service("web", "web"))
	ch := l.Watch("web")
	add(t, l, service("web", "web"))
	add(t, l, service("other", "other"))
	if isClosed(ch) {
		t.Error("woken although nothing changed")
	}
	changed := service("web", "web")
	changed.Service.Port = 1
	add(t, l, changed)
	if !isClosed(ch) {
		t.Error("a change does not wake")
	}
	ch = l.Watch("web")
	must(t, l.RemoveService(ctx, "web"))
	if !isClosed(ch) {
		t.Error("removal does not wake")
	}
}

func TestDiskErrorChangesNothing(t *testing.T) {
	j := newFakeJournal()
	l := open(t, testConfig(newFakeCatalog(), j))
	add(t, l, service("a", "a", ttl("c", time.Minute)))
	j.fail = errors.New("disk full")
	for what, err := range map[string]error{
		"add":         l.AddService(ctx, service("b", "b"), false),
		"replace":     l.AddService(ctx, service("a", "other"), false),
		"remove":      l.RemoveService(ctx, "a"),
		"check":       l.AddCheck(ctx, &model.CheckDefinition{Name: "n", TTL: time.Minute}),
		"maintenance": l.SetNodeMaintenance(ctx, true, "", ""),
	} {
		if !errors.Is(err, j.fail) {
			t.Errorf("%s: error is %v", what, err)
		}
	}
	if services, checks := ids(l); fmt.Sprint(services, checks) != "[a] [c]" {
		t.Errorf("registered are %v %v", services, checks)
	}
	if s, _ := l.Service("a"); s.Name != "a" {
		t.Error("a replacement that is not on disk shows")
	}
}
