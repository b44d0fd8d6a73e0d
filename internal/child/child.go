package child

import (
	"errors"
	"os"
	"os/exec"
	"time"
)

const (
	// leftoverPause is how long pipes are kept open after the program's end, in case
	// that something it left behind still holds them.
	leftoverPause = time.Second
	// groupPoll is how often a group is looked at whose leader has ended. There is
	// nothing to wait on.
	groupPoll = 20 * time.Millisecond
)

// Options say how a program hangs together with this process.
type Options struct {
	// SameGroup leaves the program in the caller's process group, so that it may read
	// from the terminal. Signals then reach the program alone.
	SameGroup bool
	// DieWithParent sends SIGTERM to the program if this process dies. Linux only.
	DieWithParent bool
}

// Child is a running program. Its methods may be called from everywhere.
type Child struct {
	cmd   *exec.Cmd
	group bool
	done  chan struct{}
	err   error
}

// Start starts cmd, whose attributes of the system it sets.
func Start(cmd *exec.Cmd, o Options) (*Child, error) {
	attributes(cmd, o)
	cmd.WaitDelay = leftoverPause
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &Child{cmd: cmd, group: !o.SameGroup, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		c.err = cmd.Wait()
		// It ended well; something else had its output for longer.
		if errors.Is(c.err, exec.ErrWaitDelay) {
			c.err = nil
		}
	}()
	return c, nil
}

// Done is closed when the program has ended.
func (c *Child) Done() <-chan struct{} { return c.done }

// Err is how the program ended. Call it after Done.
func (c *Child) Err() error { return c.err }

// Signal sends a signal to the program and, if it has a group of its own, to all
// that it started there. A program that has ended is no error.
func (c *Child) Signal(sig os.Signal) error {
	err := c.signal(sig)
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// Stop ends the program and its group: SIGTERM, and SIGKILL for what is left after
// the grace. It returns when the program has ended.
func (c *Child) Stop(grace time.Duration) {
	timer := time.NewTimer(grace)
	defer timer.Stop()
	_ = c.Signal(terminate) // if it can't be asked, the kill below is left
	select {
	case <-c.done:
		c.awaitGroup(timer.C)
	case <-timer.C:
	}
	_ = c.Signal(os.Kill)
	<-c.done
}

// awaitGroup waits for what the program started, since a shell ends at once and
// what it ran may have something to put in order.
func (c *Child) awaitGroup(over <-chan time.Time) {
	tick := time.NewTicker(groupPoll)
	defer tick.Stop()
	for c.group && c.lives() {
		select {
		case <-tick.C:
		case <-over:
			return
		}
	}
}

// Shell is a command line as a program: run by the shell that SHELL names, or by
// /bin/sh.
func Shell(line string) *exec.Cmd {
	shell := os.Getenv("SHELL")
	if shell == "" {
		shell = "/bin/sh"
	}
	return exec.Command(shell, "-c", line)
}
