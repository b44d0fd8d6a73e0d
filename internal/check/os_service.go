package check

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/muster-discovery/muster/internal/model"
)

// systemdDir exists where systemd is the system's init; see sd_booted(3).
const systemdDir = "/run/systemd/system"

// systemctlOutput bounds what is kept of an answer, which has three short lines.
const systemctlOutput = 4096

// OSServices reports whether checks of services of the operating system can run
// on this machine: it needs systemd.
func OSServices() bool { return systemdRuns(systemdDir) }

func systemdRuns(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.IsDir()
}

// osServiceProbe asks systemd for the state of a unit. Active is passing, on the
// way to it or from it warning, all else critical. systemctl is given a name that
// was checked, so it needs no permission to run scripts.
type osServiceProbe struct {
	unit      string
	systemctl string
	dir       string
	max       int
}

func newOSServiceProbe(def *model.CheckDefinition, env *Env) (Probe, error) {
	if i := strings.IndexFunc(def.OSService, notInUnitName); i >= 0 || strings.HasPrefix(def.OSService, "-") || len(def.OSService) > 255 {
		return nil, fmt.Errorf("%q of check %q is no name of a systemd unit", def.OSService, def.ID)
	}
	return &osServiceProbe{unit: def.OSService, systemctl: "systemctl", dir: systemdDir, max: env.OutputSize(def)}, nil
}

// notInUnitName tells what systemd.unit(5) doesn't allow in a unit's name, among
// it the characters of patterns, which would match other units.
func notInUnitName(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', strings.ContainsRune(`:-_.\@`, r):
		return false
	}
	return true
}

func (p *osServiceProbe) Run(ctx context.Context) Result {
	if !systemdRuns(p.dir) {
		return critical(p.max, "Service %q can't be checked: this system is not run by systemd (there is no %s).", p.unit, p.dir)
	}
	out, complaint := newTailBuffer(systemctlOutput), newTailBuffer(p.max)
	cmd := exec.CommandContext(ctx, p.systemctl, "show", "--property=LoadState,ActiveState,SubState", "--", p.unit)
	cmd.Stdout, cmd.Stderr = out, complaint
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		return critical(p.max, "Ask systemd for %q: %v %s", p.unit, err, complaint)
	}
	status, text := parseUnit(out.String()).state()
	return Result{Status: status, Output: Tail(fmt.Sprintf("Service %q is %s.", p.unit, text), p.max)}
}

// unit is what systemctl show says of one.
type unit struct{ load, active, sub string }

func parseUnit(output string) unit {
	var u unit
	for line := range strings.Lines(output) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch key {
		case "LoadState":
			u.load = value
		case "ActiveState":
			u.active = value
		case "SubState":
			u.sub = value
		}
	}
	return u
}

func (u unit) state() (status, text string) {
	text = u.active
	if u.sub != "" {
		text += " (" + u.sub + ")"
	}
	switch {
	case u.load == "not-found":
		return model.StatusCritical, "not known to systemd"
	case u.active == "":
		return model.StatusCritical, "in a state that systemd doesn't tell"
	case u.active == "active", u.active == "reloading", u.active == "refreshing":
		return model.StatusPassing, text
	case u.active == "activating", u.active == "deactivating":
		return model.StatusWarning, text
	}
	return model.StatusCritical, text
}
