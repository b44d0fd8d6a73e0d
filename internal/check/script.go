package check

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"time"

	"github.com/muster-discovery/muster/internal/model"
)

const (
	// DefaultScriptTimeout bounds a script whose definition sets no timeout.
	DefaultScriptTimeout = 30 * time.Second
	// leftoverPause is how long output is awaited after the program's end, in case
	// that something it left behind still holds its output.
	leftoverPause = time.Second
)

// scriptProbe runs a program. Exit code 0 is passing, 1 warning, all else
// critical; what it prints is the output. There is no shell in between: who wants
// one names it in the arguments.
//
// The program gets a process group of its own, which is killed as a whole when
// the time is over or the check goes away.
type scriptProbe struct {
	args    []string
	timeout time.Duration
	max     int
}

func newScriptProbe(def *model.CheckDefinition, env *Env) (Probe, error) {
	if env == nil || !env.Scripts {
		return nil, ErrScriptsDisabled
	}
	if def.ScriptArgs[0] == "" {
		return nil, fmt.Errorf("check %q names no program in its arguments", def.ID)
	}
	p := &scriptProbe{args: slices.Clone(def.ScriptArgs), timeout: def.Timeout, max: env.OutputSize(def)}
	if p.timeout <= 0 {
		p.timeout = DefaultScriptTimeout
	}
	return p, nil
}

// ErrScriptsDisabled is the answer for script checks where Env.Scripts is not set.
//
//lint:ignore ST1005 clients know the text
var ErrScriptsDisabled = errors.New("Scripts are disabled on this agent; to enable, configure 'enable_script_checks' or 'enable_local_script_checks' to true")

func (p *scriptProbe) Run(ctx context.Context) Result {
	out := &countingTail{tail: newTailBuffer(p.max)}
	cmd := exec.CommandContext(ctx, p.args[0], p.args[1:]...)
	cmd.Stdout, cmd.Stderr = out, out // one writer: exec copies both in one goroutine
	cmd.WaitDelay = leftoverPause
	ownGroup(cmd)
	cmd.Cancel = func() error { return killGroup(cmd) }
	if err := cmd.Start(); err != nil {
		return critical(p.max, "%v", err)
	}
	err := cmd.Wait()
	// A program that ended by itself counts, whatever became of what it left
	// behind, and also if its time ended before its end was noticed.
	ended := cmd.ProcessState.Exited()
	if errors.Is(ctx.Err(), context.DeadlineExceeded) && !ended {
		return p.timedOut(out)
	}
	if ended && cmd.ProcessState.Success() {
		err = nil
	}
	return Result{Status: exitStatus(cmd.ProcessState.ExitCode()), Output: out.describe(err)}
}

func (p *scriptProbe) timedOut(out *countingTail) Result {
	text := fmt.Sprintf("Timed out (%s) running check", p.timeout)
	if out.total > 0 {
		text += "\n\n" + out.describe(nil)
	}
	return Result{Status: model.StatusCritical, Output: text}
}

// exitStatus is the state that an exit code stands for; -1 is a signal.
func exitStatus(code int) string {
	switch code {
	case 0:
		return model.StatusPassing
	case 1:
		return model.StatusWarning
	}
	return model.StatusCritical
}

// countingTail keeps the tail of an output and knows how long all of it was.
type countingTail struct {
	tail  *tailBuffer
	total int
}

func (c *countingTail) Write(p []byte) (int, error) {
	c.total += len(p)
	return c.tail.Write(p)
}

// describe is the output, with a first line if it is not all, or how the program
// ended if it said nothing.
func (c *countingTail) describe(err error) string {
	switch {
	case c.total > c.tail.size:
		return fmt.Sprintf("Captured %d of %d bytes\n...\n%s", c.tail.size, c.total, c.tail)
	case c.total == 0 && err != nil:
		return err.Error()
	}
	return c.tail.String()
}
