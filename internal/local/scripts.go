package local

import (
	"github.com/muster-discovery/muster/internal/check"
	"github.com/muster-discovery/muster/internal/model"
)

// Scripts says whose script checks an agent runs.
type Scripts uint8

const (
	ScriptsOff          Scripts = iota // nobody's
	ScriptsFromFiles                   // those of configuration files: enable_local_script_checks
	ScriptsFromAnywhere                // also those registered over the API: enable_script_checks
)

// The texts that clients know.
const remoteScriptsOff = "Scripts are disabled on this agent from remote calls; to enable, configure 'enable_script_checks' to true"

// refuse returns an error for a definition that this agent doesn't take.
func (l *Local) refuse(def *model.CheckDefinition, fromFile bool) error {
	if def.OSService != "" && !fromFile && !check.OSServices() {
		// What clients know. From a file it is accepted, as files may be shared by
		// different machines; the check then says why it can't run.
		return model.Errorf(model.KindInternal, "not implemented")
	}
	return l.refuseScript(def, fromFile)
}

// refuseScript is asked at registration, and again before a check runs: what is
// on disk may have been registered when scripts were allowed.
func (l *Local) refuseScript(def *model.CheckDefinition, fromFile bool) error {
	switch {
	case def.Type() != "script", l.cfg.Scripts == ScriptsFromAnywhere, l.cfg.Scripts == ScriptsFromFiles && fromFile:
		return nil
	case fromFile:
		return model.Errorf(model.KindInternal, "%s", check.ErrScriptsDisabled.Error())
	}
	return model.Errorf(model.KindInternal, remoteScriptsOff)
}

// refuseAny is refuse for all checks of a service.
func (l *Local) refuseAny(def *model.ServiceDefinition, fromFile bool) error {
	for d := def; d != nil; d = d.Sidecar {
		for _, c := range d.Checks {
			if err := l.refuse(c, fromFile); err != nil {
				return err
			}
		}
	}
	return nil
}
