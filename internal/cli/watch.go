package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/hashicorp/consul/api/watch"
	"github.com/hashicorp/go-hclog"
)

var watchCommand = &command{
	name:  "watch",
	args:  "[HANDLER...]",
	short: "Wait for changes and run a program",
	long: `
Watches a key, a prefix, the services, the nodes, one service, checks or
events. Without a handler it prints what is there now and ends. With one it
runs the handler whenever the result differs from the one it last ran for,
with the result as JSON on standard input and its index in CONSUL_INDEX,
until it is interrupted. The handler runs in a shell unless -shell=false.

    muster watch -type=key -key=app/limit
    muster watch -type=service -service=web -passingonly=true ./render.sh`,
	setup: func(f *flags) func([]string) int {
		w := &watcher{params: map[string]any{}}
		for _, o := range []struct{ flag, usage string }{
			{"type", "What to watch: key, keyprefix, services, nodes, service, checks or event."},
			{"key", "`Key` for type key."},
			{"prefix", "`Prefix` for type keyprefix."},
			{"service", "`Name` for type service, optional for checks."},
			{"tag", "`Tag` for type service."},
			{"passingonly", "`Bool` for type service: only passing instances."},
			{"state", "`State` for type checks."},
			{"name", "`Name` for type event, optional."},
			{"filter", "`Expression` that results must meet."},
		} {
			name := o.flag
			f.Func(name, o.usage, func(v string) error { return w.set(name, v) })
		}
		f.BoolVar(&w.shell, "shell", true, "Run the handler in a shell.")
		w.conn = f.connect(true)
		return w.run
	},
}

type watcher struct {
	conn   *connection
	params map[string]any
	shell  bool

	last []byte // the result that the handler last ran for
}

func (w *watcher) set(name, value string) error {
	if name != "passingonly" {
		w.params[name] = value
		return nil
	}
	b, err := strconv.ParseBool(value)
	if err != nil {
		return fmt.Errorf("want true or false")
	}
	w.params[name] = b
	return nil
}

func (w *watcher) run(args []string) int {
	f := w.conn.f
	if w.params["type"] == nil {
		return f.fail("muster watch: -type is missing. See muster watch -help.")
	}
	client, err := w.conn.client()
	if err != nil {
		return f.fail("%v", err)
	}
	if w.conn.stale {
		w.params["stale"] = true
	}
	plan, err := watch.Parse(w.params)
	if err != nil {
		return f.fail("muster watch: %v", err)
	}
	if len(args) == 0 {
		// The plan tries again for ever; a command that only looks must end.
		if _, err := client.Status().Leader(); err != nil {
			return w.conn.fail("reaching the agent", err)
		}
	}
	plan.Handler = func(index uint64, result any) {
		data, err := json.MarshalIndent(result, "", "    ")
		switch {
		case err != nil:
			f.fail("encode the result: %v", err)
		case len(args) == 0:
			fmt.Fprintf(f.stdout, "%s\n", data)
			plan.Stop()
		default:
			w.deliver(args, index, data)
		}
	}
	if err := plan.RunWithClientAndHclog(client, hclog.New(&hclog.LoggerOptions{Output: f.stderr})); err != nil {
		return w.conn.fail("watching", err)
	}
	return 0
}

// deliver runs the handler if the result is not the one that it last ran for. A
// handler that fails is told about and runs again at the next change.
func (w *watcher) deliver(args []string, index uint64, data []byte) {
	if bytes.Equal(data, w.last) {
		return
	}
	w.last = data
	cmd := exec.Command(args[0], args[1:]...)
	if w.shell {
		cmd = exec.Command("/bin/sh", "-c", strings.Join(args, " "))
	}
	cmd.Env = append(os.Environ(), "CONSUL_INDEX="+strconv.FormatUint(index, 10))
	cmd.Stdin = bytes.NewReader(append(data, '\n'))
	cmd.Stdout, cmd.Stderr = w.conn.f.stdout, w.conn.f.stderr
	if err := cmd.Run(); err != nil {
		w.conn.f.fail("handler: %v", err)
	}
}
