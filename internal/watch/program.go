package watch

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/muster-discovery/muster/internal/child"
)

const (
	// grace is what a program gets to put things in order when its time is over.
	grace = 5 * time.Second
	// maxOutput is how much of a program's output the log takes.
	maxOutput = 4 << 10
)

// Program is a handler that runs a program: JSON on its standard input, the index in
// CONSUL_INDEX.
type Program struct {
	Args  []string // or
	Shell string   // a command line
	// Timeout bounds a run; 0: nothing does.
	Timeout        time.Duration
	Stdout, Stderr io.Writer
}

// Handle implements Handler.
func (p *Program) Handle(ctx context.Context, index uint64, data []byte) error {
	var cmd *exec.Cmd
	if p.Shell != "" {
		cmd = child.Shell(p.Shell)
	} else {
		cmd = exec.Command(p.Args[0], p.Args[1:]...)
	}
	cmd.Env = append(os.Environ(), "CONSUL_INDEX="+strconv.FormatUint(index, 10))
	cmd.Stdin = bytes.NewReader(data)
	cmd.Stdout, cmd.Stderr = p.Stdout, p.Stderr
	c, err := child.Start(cmd, child.Options{})
	if err != nil {
		return err
	}
	var over <-chan time.Time
	if p.Timeout > 0 {
		timer := time.NewTimer(p.Timeout)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-c.Done():
		return c.Err()
	case <-over:
		c.Stop(grace)
		return fmt.Errorf("stopped: it ran for longer than %v", p.Timeout)
	case <-ctx.Done():
		c.Stop(grace)
		return ctx.Err()
	}
}

// logged is a program whose output goes to the log.
type logged struct {
	Program
	log *slog.Logger
}

// Handle implements Handler.
func (l *logged) Handle(ctx context.Context, index uint64, data []byte) error {
	out := &tail{}
	p := l.Program
	p.Stdout, p.Stderr = out, out // one writer: exec copies both in one goroutine
	began := time.Now()
	if err := p.Handle(ctx, index, data); err != nil {
		return fmt.Errorf("%w; output: %s", err, out)
	}
	l.log.Debug("watch handler ran", "index", index, "duration", time.Since(began), "output", out)
	return nil
}

// tail keeps the end of what is written: that is where a program says why it failed.
type tail struct {
	kept    []byte
	dropped int
}

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	if n := len(t.kept) - maxOutput; n > 0 {
		t.dropped += n
		t.kept = append(t.kept[:0], t.kept[n:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	if t.dropped > 0 {
		return fmt.Sprintf("(%d bytes left out) %s", t.dropped, t.kept)
	}
	return string(t.kept)
}
