package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"time"

	"github.com/muster-discovery/muster/internal/child"
)

// lockGrace is what a child gets to put things in order.
const lockGrace = 5 * time.Second

// furnish gives the child its surroundings.
func (l *lock) furnish(cmd *exec.Cmd, key, token string) *exec.Cmd {
	cmd.Env = append(os.Environ(), "CONSUL_LOCK_HELD=true")
	if token != "" {
		cmd.Env = append(cmd.Env, "MUSTER_FENCING_TOKEN="+token, "MUSTER_FENCING_KEY="+key)
	}
	cmd.Stdout, cmd.Stderr = l.f.stdout, l.f.stderr
	if l.stdin {
		cmd.Stdin = os.Stdin
	}
	return cmd
}

// guard runs the child until it ends or must end, and returns the exit code.
func (l *lock) guard(interrupted context.Context, key, token string) int {
	// A lock that is lost by now must not see a child at all.
	if l.session.ctx.Err() != nil {
		return l.f.fail("Lock lost before the child was started")
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, handedOn...)
	defer signal.Stop(signals)
	l.say("Starting handler '%s'", l.args[0])
	c, err := child.Start(l.command(key, token), child.Options{
		// A program in a group of its own can't read from the terminal.
		SameGroup: l.stdin, DieWithParent: true,
	})
	if err != nil {
		return l.f.fail("Error starting the child: %v", err)
	}
	for {
		select {
		case <-c.Done():
			return l.outcome(c)
		case s := <-signals:
			if err := c.Signal(s); err != nil {
				fmt.Fprintf(l.f.stderr, "The signal %v was not handed on: %v\n", s, err)
			}
		case <-interrupted.Done():
			l.say("Shutdown triggered, killing child")
			c.Stop(lockGrace)
			return l.outcome(c)
		case <-l.lost:
			return l.end(c)
		case <-l.session.ctx.Done():
			return l.end(c)
		}
	}
}

// end is for a lock that is lost.
func (l *lock) end(c *child.Child) int {
	fmt.Fprintln(l.f.stderr, "Lock lost, killing child")
	c.Stop(lockGrace)
	return exitFailed
}

// outcome is the exit code after a child that ended with the lock held.
func (l *lock) outcome(c *child.Child) int {
	if err := c.Err(); err != nil {
		fmt.Fprintf(l.f.stderr, "Error running the child: %v\n", err)
		if l.childCode {
			return exitChildFailed
		}
	}
	return 0
}
