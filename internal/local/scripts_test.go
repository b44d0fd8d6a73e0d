package local

import (
	"testing"
	"time"

	"github.com/muster-discovery/muster/internal/check"
	"github.com/muster-discovery/muster/internal/model"
)

const localScriptsOff = "Scripts are disabled on this agent; to enable, configure 'enable_script_checks' or 'enable_local_script_checks' to true"

func script(id string) *model.CheckDefinition {
	return &model.CheckDefinition{ID: id, Name: id, ScriptArgs: []string{"/bin/true"}, Interval: time.Hour}
}

func TestWhoseScriptsRun(t *testing.T) {
	withSidecar := service("s", "s")
	withSidecar.Sidecar = service("", "side", script("c"))
	withSidecar.Sidecar.Service.Port = 1
	for _, tt := range []struct {
		scripts   Scripts
		api, file string // the errors; empty: accepted
	}{
		{ScriptsOff, remoteScriptsOff, localScriptsOff},
		{ScriptsFromFiles, remoteScriptsOff, ""},
		{ScriptsFromAnywhere, "", ""},
	} {
		cfg := testConfig(newFakeCatalog(), nil)
		cfg.Scripts = tt.scripts
		l := open(t, cfg)
		expect := func(what string, err error, want string) {
			t.Helper()
			switch {
			case want == "" && err != nil:
				t.Errorf("scripts %d, %s: %v", tt.scripts, what, err)
			case want != "":
				wantError(t, err, model.KindInternal, want)
			}
		}
		expect("check", l.AddCheck(ctx, script("a")), tt.api)
		expect("service", l.AddService(ctx, service("s", "s", script("b")), false), tt.api)
		expect("sidecar", l.AddService(ctx, withSidecar, false), tt.api)
		if services, checks := ids(l); tt.api != "" && len(services)+len(checks) > 0 {
			t.Errorf("scripts %d: refused registrations left %v %v", tt.scripts, services, checks)
		}
		expect("check of a file", l.addCheck(ctx, script("d"), true), tt.file)
		expect("service of a file", l.addService(ctx, service("s", "s", script("e")), false, true), tt.file)
	}
}

// A script that was registered when scripts were allowed doesn't run any more
// after a restart without them.
func TestStoredScriptsAreCheckedAgain(t *testing.T) {
	j := newFakeJournal()
	cfg := testConfig(newFakeCatalog(), j)
	cfg.Scripts = ScriptsFromAnywhere
	must(t, open(t, cfg).AddCheck(ctx, script("a")))
	for scripts, want := range map[Scripts]string{
		ScriptsOff:          "critical: " + remoteScriptsOff,
		ScriptsFromFiles:    "critical: " + remoteScriptsOff,
		ScriptsFromAnywhere: "critical: ", // has not run yet
	} {
		cfg.Scripts = scripts
		if got := checkLine(t, open(t, cfg), "a"); got != want {
			t.Errorf("scripts %d: stored script check is %q, want %q", scripts, got, want)
		}
	}
}

func TestScriptsOfTheEnvironmentAreOff(t *testing.T) {
	cfg := testConfig(newFakeCatalog(), nil)
	cfg.Transport = &check.Env{Scripts: true, MaxOutput: 7}
	l := open(t, cfg)
	if e := l.cfg.Transport; e.Scripts || e.MaxOutput != 7 {
		t.Errorf("probes get %+v although scripts are off", e)
	}
	if !cfg.Transport.Scripts {
		t.Error("the caller's value was changed")
	}
}

func TestOSServices(t *testing.T) {
	l := open(t, testConfig(newFakeCatalog(), nil))
	def := &model.CheckDefinition{Name: "o", OSService: "cron", Interval: time.Hour}
	must(t, l.addCheck(ctx, def, true))
	if check.OSServices() {
		must(t, l.AddCheck(ctx, def))
		return
	}
	wantError(t, l.AddCheck(ctx, def), model.KindInternal, "not implemented")
}
