package agent

import (
	"context"
	"fmt"
	"log/slog"
	"time"
)

// group runs parts and stops them in reverse order. A part that ends by itself
// ends the whole group.
type group struct {
	log     *slog.Logger
	running []*runner
	failed  chan error
}

type runner struct {
	name   string
	cancel context.CancelFunc
	done   chan struct{}
}

// stopTimeout bounds the stop of one part. A part that takes longer is left
// behind and named: hanging on at shutdown helps nobody.
const stopTimeout = 10 * time.Second

func newGroup(log *slog.Logger) *group {
	return &group{log: log, failed: make(chan error, 1)}
}

// start runs a part until stop, or until it ends by itself.
func (g *group) start(name string, run func(ctx context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	r := &runner{name: name, cancel: cancel, done: make(chan struct{})}
	g.running = append(g.running, r)
	go func() {
		defer close(r.done)
		err := run(ctx)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			err = fmt.Errorf("ended unexpectedly")
		}
		select {
		case g.failed <- fmt.Errorf("%s: %w", name, err):
		default:
		}
	}()
}

// onStop has close called when the parts started after it have ended.
func (g *group) onStop(name string, close func() error) {
	g.start(name, func(ctx context.Context) error {
		<-ctx.Done()
		if err := close(); err != nil {
			g.log.Warn("cannot close a part cleanly", "part", name, "err", err)
		}
		return nil
	})
}

// stop ends all parts, the last started first.
func (g *group) stop() {
	for len(g.running) > 0 {
		g.stopLast()
	}
}

// stopLast ends the part that was started last.
func (g *group) stopLast() {
	last := len(g.running) - 1
	r := g.running[last]
	g.running = g.running[:last]
	r.cancel()
	timer := time.NewTimer(stopTimeout)
	defer timer.Stop()
	select {
	case <-r.done:
	case <-timer.C:
		g.log.Error("a part does not end in time, leaving it behind", "part", r.name, "duration", stopTimeout)
	}
}
