package local

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-discovery/muster/internal/check"
	"github.com/muster-discovery/muster/internal/model"
)

func TestTTLRunsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := open(t, testConfig(newFakeCatalog(), nil))
		defer run(t, l)()
		add(t, l, service("x", "x", ttl("c", 10*time.Second)))
		for range 5 { // reports in time keep it well
			must(t, l.UpdateTTL(ctx, "c", model.StatusPassing, "k"))
			time.Sleep(9 * time.Second)
			if got := checkLine(t, l, "c"); got != "passing: k" {
				t.Fatalf("check is %q although it reported in time", got)
			}
		}
		time.Sleep(time.Second + time.Millisecond)
		if got := checkLine(t, l, "c"); got != "critical: TTL expired (last output before timeout follows): k" {
			t.Errorf("check is %q after its TTL", got)
		}
		must(t, l.UpdateTTL(ctx, "c", model.StatusPassing, ""))
		time.Sleep(9 * time.Second)
		if got := checkLine(t, l, "c"); got != "passing: " {
			t.Errorf("check is %q after it reported again", got)
		}
		time.Sleep(2 * time.Second)
		if got := checkLine(t, l, "c"); got != "critical: TTL expired" {
			t.Errorf("check is %q after its TTL", got)
		}
		// A shorter TTL counts from its registration.
		must(t, l.UpdateTTL(ctx, "c", model.StatusPassing, ""))
		add(t, l, service("x", "x", ttl("c", 2*time.Second)))
		time.Sleep(2*time.Second + time.Millisecond)
		if got := checkLine(t, l, "c"); got != "critical: TTL expired" {
			t.Errorf("check is %q after its new TTL", got)
		}
	})
}

// network is what TCP checks find in a bubble.
type network struct{ up map[string]bool }

func (n *network) env() *check.Env {
	return &check.Env{Dial: func(ctx context.Context, _, addr string) (net.Conn, error) {
		if !n.up[addr] {
			return nil, errors.New("connection refused")
		}
		a, b := net.Pipe()
		b.Close()
		return a, nil
	}}
}

func tcp(id, addr string, interval time.Duration) *model.CheckDefinition {
	return &model.CheckDefinition{ID: id, Name: id, TCP: addr, Interval: interval}
}

func TestProbesAndTheirRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &network{up: map[string]bool{"up:1": true}}
		j := newFakeJournal()
		cfg := testConfig(newFakeCatalog(), j)
		cfg.Transport = n.env()
		l := open(t, cfg)
		stop := run(t, l)
		add(t, l, service("x", "x", tcp("up", "up:1", 10*time.Second), tcp("down", "down:1", 10*time.Second)))
		if got := checkLine(t, l, "up"); got != "critical: " {
			t.Errorf("check before its first run is %q", got)
		}
		time.Sleep(2 * time.Second)
		if up, down := checkLine(t, l, "up"), checkLine(t, l, "down"); up != "passing: TCP connect up:1: Success" || down != "critical: connection refused" {
			t.Errorf("checks are %q and %q after the first run", up, down)
		}
		// The same definition again doesn't disturb; another target is looked at soon.
		add(t, l, service("x", "x", tcp("up", "up:1", 10*time.Second), tcp("down", "down:1", 10*time.Second)))
		add(t, l, service("x", "x", tcp("up", "down:1", 10*time.Second)))
		if got := checkLine(t, l, "up"); !strings.HasPrefix(got, "passing") {
			t.Errorf("check is %q right after it moved", got)
		}
		time.Sleep(2 * time.Second)
		if got := checkLine(t, l, "up"); got != "critical: connection refused" {
			t.Errorf("check is %q at its new target", got)
		}
		add(t, l, service("x", "x", tcp("up", "up:1", 10*time.Second)))
		time.Sleep(2 * time.Second)

		stop()
		for _, away := range []time.Duration{time.Minute, time.Hour} {
			time.Sleep(away)
			l = open(t, cfg)
			want := "passing: TCP connect up:1: Success"
			if away > aliveFor {
				want = "critical: " // too long ago to rely on
			}
			if got := checkLine(t, l, "up"); got != want {
				t.Errorf("check is %q when the agent returns after %v, want %q", got, away, want)
			}
			stop := run(t, l)
			time.Sleep(11 * time.Second)
			if got := checkLine(t, l, "up"); got != "passing: TCP connect up:1: Success" {
				t.Errorf("check is %q after a restart and an interval", got)
			}
			stop()
		}
	})
}

func TestRemoteAlias(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeCatalog()
		l := open(t, testConfig(f, nil))
		must(t, l.AddCheck(ctx, &model.CheckDefinition{ID: "al", Name: "al", AliasNode: "rem", AliasService: "r"}))
		f.services["r"] = &model.Service{ID: "r", Name: "r"}
		f.checks["rc"] = &model.Check{ID: "rc", Name: "rc", ServiceID: "r", Status: model.StatusPassing}
		f.checks["other"] = &model.Check{ID: "other", Name: "other", ServiceID: "o", Status: model.StatusCritical}
		probe := &remoteAlias{catalog: f, def: &model.CheckDefinition{AliasNode: "rem", AliasService: "r"}}
		for _, step := range []struct {
			change func()
			want   string
		}{
			{func() {}, "passing: All checks passing."},
			{func() {
				f.checks["rc"] = &model.Check{Name: "rc", ServiceID: "r", Status: model.StatusWarning, Output: "hm"}
			}, `warning: Aliased check "rc" failing: hm`},
			{func() { f.checks["n"] = &model.Check{Name: "n", Status: model.StatusCritical, Output: "dead"} }, `critical: Aliased check "n" failing: dead`},
			{func() { delete(f.services, "r") }, `critical: Service "r" is not registered on node "rem".`},
		} {
			step.change()
			if r := probe.Run(ctx); r.Status+": "+r.Output != step.want {
				t.Errorf("alias is %+v, want %q", r, step.want)
			}
		}
		_ = l
	})
}

func TestRestartKeepsTTLStates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newFakeJournal()
		cfg := testConfig(newFakeCatalog(), j)
		l := open(t, cfg)
		stop := run(t, l)
		long := ttl("long", 30*time.Minute)
		long.Notes = "note"
		add(t, l, service("long", "long", long))
		add(t, l, service("short", "short", ttl("short", 4*time.Second)))
		add(t, l, service("bye", "bye", ttl("bye", time.Minute)))
		must(t, l.UpdateTTL(ctx, "long", model.StatusWarning, "half full"))
		must(t, l.UpdateTTL(ctx, "short", model.StatusPassing, ""))
		must(t, l.UpdateTTL(ctx, "bye", model.StatusPassing, ""))
		must(t, l.RemoveService(ctx, "bye"))
		time.Sleep(500 * time.Millisecond)
		expect := func(l *Local, what, short string) {
			t.Helper()
			if got := checkLine(t, l, "long"); got != "warning: half full" {
				t.Errorf("%s: long is %q", what, got)
			}
			if got := checkLine(t, l, "short"); got != short {
				t.Errorf("%s: short is %q, want %q", what, got, short)
			}
			if services, checks := ids(l); fmt.Sprint(services, checks) != "[long short] [long short]" {
				t.Errorf("%s: registered are %v %v", what, services, checks)
			}
			if c, _ := l.Check("long"); c.Notes != "note" {
				t.Errorf("%s: notes are %q", what, c.Notes)
			}
		}
		killed := j.crash()
		for id := range map[string]bool{"bye": true} {
			if _, ok := killed.values[stateKey(id)]; ok {
				t.Errorf("state of removed check %q is still on disk", id)
			}
		}
		expect(open(t, testConfig(newFakeCatalog(), killed)), "kill -9", "passing: ")
		stop()
		expect(open(t, cfg), "clean stop", "passing: ")
		time.Sleep(4 * time.Second)
		again := open(t, cfg)
		expect(again, "TTL ran out while away", "critical: TTL expired")

		// The rest of the TTL counts, not all of it again.
		stop = run(t, again)
		time.Sleep(29 * time.Minute)
		if got := checkLine(t, again, "long"); !strings.HasPrefix(got, "warning") {
			t.Errorf("long is %q within its TTL", got)
		}
		time.Sleep(time.Minute)
		if got := checkLine(t, again, "long"); !strings.HasPrefix(got, "critical: TTL expired") {
			t.Errorf("long is %q 30 minutes after its last report", got)
		}
		stop()
	})
}

// The states of checks that report all the time are not written each time, and a
// kill loses no more than a quarter of a TTL.
func TestRefreshesAreWrittenNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newFakeJournal()
		l := open(t, testConfig(newFakeCatalog(), j))
		stop := run(t, l)
		add(t, l, service("x", "x", ttl("c", 40*time.Second)))
		must(t, l.UpdateTTL(ctx, "c", model.StatusPassing, ""))
		time.Sleep(time.Second)
		before := j.written()
		for i := range 100 {
			must(t, l.UpdateTTL(ctx, "c", model.StatusPassing, fmt.Sprint(i)))
			time.Sleep(time.Second)
		}
		if n := j.written() - before; n < 9 || n > 20 {
			t.Errorf("100 reports in 100 s made %d writes, want one each 10 s and a sign of life each 15 s", n)
		}
		r, err := decodeState(j.crash().values[stateKey("c")])
		must(t, err)
		if left := time.Until(r.Deadline); left < 28*time.Second {
			t.Errorf("a kill now leaves %v of a TTL of 40 s", left)
		}
		stop()
		if r, _ = decodeState(j.crash().values[stateKey("c")]); r.Output != "99" || time.Until(r.Deadline) < 38*time.Second {
			t.Errorf("a clean stop leaves %+v", r)
		}
	})
}

func TestReaping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := open(t, testConfig(newFakeCatalog(), nil))
		defer run(t, l)()
		reaped := func(id string, after time.Duration) *model.ServiceDefinition {
			c := ttl(id+"-c", time.Hour)
			c.DeregisterCriticalServiceAfter = after
			return service(id, id, c)
		}
		add(t, l, reaped("soon", time.Second)) // raised to the documented minute
		add(t, l, reaped("late", 5*time.Minute))
		add(t, l, reaped("well", time.Minute))
		add(t, l, service("never", "never", ttl("never-c", time.Hour)))
		must(t, l.UpdateTTL(ctx, "well-c", model.StatusPassing, ""))
		left := func() string { services, _ := ids(l); return fmt.Sprint(services) }
		time.Sleep(59 * time.Second)
		if got := left(); got != "[late never soon well]" {
			t.Errorf("after 59 s left are %s", got)
		}
		time.Sleep(11 * time.Second)
		if got := left(); got != "[late never well]" {
			t.Errorf("after 70 s left are %s", got)
		}
		// Recovering starts the count anew.
		must(t, l.UpdateTTL(ctx, "late-c", model.StatusPassing, ""))
		must(t, l.UpdateTTL(ctx, "late-c", model.StatusCritical, ""))
		time.Sleep(4*time.Minute + 50*time.Second)
		if got := left(); got != "[late never well]" {
			t.Errorf("after 5 minutes left are %s", got)
		}
		time.Sleep(20 * time.Second)
		if got := left(); got != "[never well]" {
			t.Errorf("at the end left are %s", got)
		}
	})
}
