//go:build unix

package check

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-discovery/muster/internal/model"
)

func TestUnitState(t *testing.T) {
	for _, tt := range []struct{ output, status, text string }{
		{"LoadState=loaded\nActiveState=active\nSubState=running\n", model.StatusPassing, "active (running)"},
		{"SubState=exited\nActiveState=active\nLoadState=loaded\n", model.StatusPassing, "active (exited)"},
		{"LoadState=loaded\nActiveState=reloading\nSubState=reload\n", model.StatusPassing, "reloading (reload)"},
		{"LoadState=loaded\nActiveState=activating\nSubState=auto-restart\n", model.StatusWarning, "activating (auto-restart)"},
		{"LoadState=loaded\nActiveState=deactivating\nSubState=stop-sigterm\n", model.StatusWarning, "deactivating (stop-sigterm)"},
		{"LoadState=loaded\nActiveState=inactive\nSubState=dead\n", model.StatusCritical, "inactive (dead)"},
		{"LoadState=loaded\nActiveState=failed\nSubState=failed\n", model.StatusCritical, "failed (failed)"},
		{"LoadState=masked\nActiveState=inactive\n", model.StatusCritical, "inactive"},
		{"LoadState=not-found\nActiveState=inactive\nSubState=dead\n", model.StatusCritical, "not known to systemd"},
		{"", model.StatusCritical, "in a state that systemd doesn't tell"},
		{"Active=active\nActiveState\n", model.StatusCritical, "in a state that systemd doesn't tell"},
	} {
		if status, text := parseUnit(tt.output).state(); status != tt.status || text != tt.text {
			t.Errorf("%q is %s, %q; want %s, %q", tt.output, status, text, tt.status, tt.text)
		}
	}
}

// systemctl stands for the real one: it answers by its arguments.
const systemctl = `#!/bin/sh
[ "$1 $2 $3" = "show --property=LoadState,ActiveState,SubState --" ] || { echo "called with $*" >&2; exit 9; }
case $4 in
cron) echo LoadState=loaded; echo ActiveState=active; echo SubState=running ;;
*) echo "Failed to connect to bus" >&2; exit 1 ;;
esac
`

func TestOSService(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "systemctl")
	if err := os.WriteFile(path, []byte(systemctl), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ unit, dir, systemctl, status, output string }{
		{"cron", dir, path, model.StatusPassing, `Service "cron" is active (running).`},
		{"a@b.service", dir, path, model.StatusCritical, "Failed to connect to bus"},
		{"cron", dir, filepath.Join(dir, "gone"), model.StatusCritical, "no such file"},
		{"cron", filepath.Join(dir, "gone"), path, model.StatusCritical, "not run by systemd"},
	} {
		p, err := New(&model.CheckDefinition{OSService: tt.unit}, nil)
		if err != nil {
			t.Fatal(err)
		}
		o := p.(*osServiceProbe)
		o.dir, o.systemctl = tt.dir, tt.systemctl
		if got := o.Run(context.Background()); got.Status != tt.status || !strings.Contains(got.Output, tt.output) {
			t.Errorf("%+v gives %+v", tt, got)
		}
	}
}

func FuzzParseUnit(f *testing.F) {
	f.Add("LoadState=loaded\nActiveState=active\nSubState=running\n")
	f.Add("ActiveState=active\r\n\x00=")
	f.Fuzz(func(t *testing.T, output string) {
		status, text := parseUnit(output).state()
		if text == "" {
			t.Errorf("%q gives no text", output)
		}
		if status == model.StatusPassing && !strings.Contains(output, "ActiveState=") {
			t.Errorf("%q is passing", output)
		}
	})
}
