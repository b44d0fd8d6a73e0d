package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"

	"github.com/muster-discovery/muster/internal/watch"
)

var watchCommand = &command{
	name:  "watch",
	args:  "[HANDLER...]",
	short: "Wait for changes and run a program",
	leads: true,
	long: `
Watches a key, a prefix, the services, the nodes, one service, checks or
events. Without a handler it prints what is there now and ends. With one it
runs the handler whenever the result differs from the one it last ran for,
with the result as JSON on standard input and its index in CONSUL_INDEX,
until it is interrupted. The handler runs in a shell unless -shell=false.

    muster watch -type=key -key=app/limit
    muster watch -type=service -service=web -passingonly=true ./render.sh`,
	setup: func(f *flags) func([]string) int {
		w := &watcher{params: map[string]any{}, until: interruptible}
		for _, o := range []struct{ flag, usage string }{
			{"type", "What to watch: key, keyprefix, services, nodes, service, checks, event, connect_roots, connect_leaf or agent_service."},
			{"key", "`Key` for type key."},
			{"prefix", "`Prefix` for type keyprefix."},
			{"service", "`Name` for types service and connect_leaf, optional for checks."},
			{"service-id", "`Id` for type agent_service."},
			{"tag", "`Tag` for type service."},
			{"passingonly", "`Bool` for type service: only passing instances."},
			{"state", "`State` for type checks."},
			{"name", "`Name` for type event, optional."},
			{"filter", "`Expression` that results must meet."},
		} {
			name := strings.ReplaceAll(o.flag, "-", "_")
			f.Func(o.flag, o.usage, func(v string) error { w.set(name, v); return nil })
		}
		f.BoolVar(&w.shell, "shell", true, "Run the handler in the shell that SHELL names, or /bin/sh.")
		w.conn = f.connect(true)
		return w.run
	},
}

type watcher struct {
	conn   *connection
	params map[string]any
	shell  bool
	until  func() (context.Context, context.CancelFunc)
}

// set keeps a parameter; a tag may be given several times.
func (w *watcher) set(name, value string) {
	if name != "tag" {
		w.params[name] = value
		return
	}
	tags, _ := w.params[name].([]any)
	w.params[name] = append(tags, value)
}

func (w *watcher) run(args []string) int {
	f := w.conn.f
	if w.params["type"] == nil {
		return f.fail("muster watch: -type is missing. See muster watch -help.")
	}
	if w.conn.stale {
		w.params["stale"] = true
	}
	spec, err := watch.Parse(w.params)
	if err != nil {
		return f.fail("muster watch: %v", err)
	}
	client, err := w.conn.client()
	if err != nil {
		return f.fail("%v", err)
	}
	ctx, cancel := w.until()
	defer cancel()
	if len(args) > 0 {
		log := slog.New(slog.NewTextHandler(f.stderr, nil))
		watch.New(spec, client, w.handler(args), log).Run(ctx)
		return 0
	}
	result, err := watch.Once(ctx, spec, client)
	if err != nil {
		return w.conn.fail("watching", err)
	}
	data, err := json.MarshalIndent(result, "", "    ")
	if err != nil {
		return f.fail("encode the result: %v", err)
	}
	fmt.Fprintf(f.stdout, "%s\n", data)
	return 0
}

// handler is the program of the command line. Whoever started it here may wait for it
// as long as it takes.
func (w *watcher) handler(args []string) watch.Handler {
	p := &watch.Program{Args: args, Stdout: w.conn.f.stdout, Stderr: w.conn.f.stderr}
	if w.shell {
		p.Args, p.Shell = nil, strings.Join(args, " ")
	}
	return p
}

// checkWatch checks a watch of a configuration file.
func checkWatch(data []byte) error {
	_, err := watch.Decode(data)
	return err
}
