package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/hashicorp/consul/api"

	"github.com/muster-discovery/muster/internal/telemetry"
)

// interruptible ends at the first SIGINT or SIGTERM.
func interruptible() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
}

var monitorCommand = &command{
	name:  "monitor",
	short: "Show the log of an agent as it is written",
	long: `
Shows the log of the agent from now on, at a level of your own, until it is
interrupted or the agent ends.`,
	setup: func(f *flags) func([]string) int {
		m := &monitor{until: interruptible}
		f.StringVar(&m.level, "log-level", "INFO", "`Level` from which lines are shown: trace, debug, info, warn, error.")
		f.BoolVar(&m.json, "log-json", false, "Show the lines as JSON.")
		m.conn = f.connect(false)
		return m.run
	},
}

type monitor struct {
	conn  *connection
	level string
	json  bool
	until func() (context.Context, context.CancelFunc)
}

func (m *monitor) run([]string) int {
	f := m.conn.f
	if _, err := telemetry.ParseLevel(m.level); err != nil {
		return f.fail("muster monitor: %v.", err)
	}
	client, err := m.conn.client()
	if err != nil {
		return f.fail("%v", err)
	}
	ctx, cancel := m.until()
	defer cancel()
	lines, err := logLines(ctx, client, m.level, m.json)
	if err != nil {
		return m.conn.fail("starting the monitor", err)
	}
	for {
		select {
		case <-ctx.Done():
			return 0
		case line := <-lines:
			if line == "" {
				if ctx.Err() == nil { // else it is we who ended it
					fmt.Fprintln(f.stderr, "Remote side ended the monitor! This usually means that the\nremote side has exited or crashed.")
				}
				return 0
			}
			fmt.Fprintln(f.stdout, line)
		}
	}
}

// logLines gives the agent's log from now on. An empty line, or a closed channel,
// is its end.
func logLines(ctx context.Context, client *api.Client, level string, json bool) (<-chan string, error) {
	q := (&api.QueryOptions{}).WithContext(ctx)
	if json {
		return client.Agent().MonitorJSON(level, ctx.Done(), q)
	}
	return client.Agent().Monitor(level, ctx.Done(), q)
}
