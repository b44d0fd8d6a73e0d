package check

import (
	"context"
	"fmt"

	"github.com/muster-discovery/muster/internal/model"
)

// Result is what one run of a probe found.
type Result struct {
	Status string // one of the model's states
	Output string // for humans; already cut to the check's limit
}

// Probe asks once whether its target is well. Run returns soon after ctx is
// done, and calls of one probe don't overlap.
type Probe interface {
	Run(ctx context.Context) Result
}

// Env is what probes of all kinds share.
type Env struct {
	// Dial replaces the network, for tests. Nil dials for real.
	Dial DialFunc
	// Scripts allows checks that run a program. Whoever may register one can run
	// whatever the agent's user can, so it is off unless somebody turns it on.
	Scripts bool
	// MaxOutput bounds the output of all checks; a check can only lower it.
	// 0: DefaultMaxOutput.
	MaxOutput int
}

// kinds has a constructor for each kind of check that this version can run. A
// new kind is a new file and a line here.
var kinds = map[string]func(*model.CheckDefinition, *Env) (Probe, error){
	"http":       newHTTPProbe,
	"tcp":        newTCPProbe,
	"udp":        newUDPProbe,
	"grpc":       newGRPCProbe,
	"h2ping":     newH2PingProbe,
	"script":     newScriptProbe,
	"os_service": newOSServiceProbe,
}

// UnsupportedError says that a check's kind can't run in this version.
type UnsupportedError struct{ Kind string }

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("checks of kind %q can't run in this version of Muster, so this check stays critical", e.Kind)
}

// New makes the probe of a definition. TTL and alias checks have none: asking
// for one is an UnsupportedError, as for Docker, which this version doesn't run.
func New(def *model.CheckDefinition, env *Env) (Probe, error) {
	kind := def.Type()
	build, ok := kinds[kind]
	if !ok {
		return nil, &UnsupportedError{Kind: kind}
	}
	return build(def, env)
}

// DefaultMaxOutput is what agents keep of an output unless they are told otherwise.
const DefaultMaxOutput = 4096

// OutputSize is the bound of a definition's output. e may be nil.
func (e *Env) OutputSize(def *model.CheckDefinition) int {
	most := DefaultMaxOutput
	if e != nil && e.MaxOutput > 0 {
		most = e.MaxOutput
	}
	if def.OutputMaxSize > 0 {
		return min(def.OutputMaxSize, most)
	}
	return most
}

// Tail cuts s to its last n bytes: the end of an output is where the error
// usually is.
func Tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[len(s)-n:]
}
