package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/muster-discovery/muster/internal/config"
)

// parseAgent gives what the agent's flags mean.
func parseAgent(t *testing.T, args ...string) config.Options {
	t.Helper()
	f := newFlags(agentCommand, &bytes.Buffer{}, &bytes.Buffer{})
	options := agentOptions(f)
	if _, _, ok := f.parse(args); !ok {
		t.Fatalf("%v: %s", args, f.stderr)
	}
	return options()
}

func TestAgentFlagsOfTheKits(t *testing.T) {
	json := file(t, "a.json", `{"ports": {"http": 1, "grpc": -1}}`)
	empty := file(t, "b.json", "")
	o := parseAgent(t, "-dev", "-config-file", json, "-config-file="+empty, "-node", "n1", "-bind", "127.0.0.1", "-client=127.0.0.1",
		"-retry-join=a", "-retry-join=b", "-node-meta=k:v:w", "-dns-port=7", "-log-level=warn", "-server=true", "-protocol=3")
	c, _, err := config.Load(o)
	if err != nil {
		t.Fatal(err)
	}
	if !c.Dev || c.Ports.HTTP != 1 || c.Ports.DNS != 7 || c.Node.Meta["k"] != "v:w" || strings.Join(c.Join.RetryLAN, "") != "ab" || c.Log.Level != "warn" {
		t.Errorf("%+v", c)
	}
	o = parseAgent(t, "-server", "-bootstrap-expect=3", "-data-dir=/tmp/x", "-config-dir", filepath.Dir(json), "-bind=127.0.0.1", "-hcl", `domain = "x"`)
	if c, _, err = config.Load(o); err != nil {
		t.Fatal(err)
	}
	if c.Server.BootstrapExpect != 3 || c.Storage.DataDir != "/tmp/x" || c.DNS.Domain != "x." {
		t.Errorf("%+v", c)
	}
}

func TestEveryAgentFlagHasAKey(t *testing.T) {
	keys := map[string]bool{}
	for _, k := range config.Keys() {
		keys[k] = true
	}
	for _, s := range settings {
		if !keys[s.key] {
			t.Errorf("-%s sets %s, which is no key", s.name, s.key)
		}
		if named := strings.Contains(s.usage, "`"); named == (s.kind == toggle) {
			t.Errorf("-%s: the text names a value only if there is one: %s", s.name, s.usage)
		}
	}
}

// fakeRun is an agent that lives until its context ends.
type fakeRun struct {
	up      chan struct{} // closed once it runs
	cause   error
	reloads chan error
	l       launch
}

func (r *fakeRun) run(ctx context.Context, l launch) error {
	r.l = l
	l.started(r)
	if r.up != nil {
		close(r.up)
	}
	<-ctx.Done()
	r.cause = context.Cause(ctx)
	return nil
}

func (r *fakeRun) Reload(context.Context) error {
	_, err := r.l.reload()
	r.reloads <- err
	return err
}

// startProcess runs an agent process in this one, with signals from a channel.
func startProcess(t *testing.T, run func(context.Context, launch) error, args ...string) (signals chan os.Signal, out *bytes.Buffer, exits chan int, end func() int) {
	t.Helper()
	out = &bytes.Buffer{}
	f := newFlags(agentCommand, out, out)
	options := agentOptions(f)
	if _, _, ok := f.parse(args); !ok {
		t.Fatal(out)
	}
	signals, exits = make(chan os.Signal), make(chan int, 1)
	p := &process{
		f: f, options: options(), run: run, exit: func(code int) { exits <- code },
		signals: func() (<-chan os.Signal, func()) { return signals, func() {} },
	}
	code := make(chan int)
	go func() { code <- p.start() }()
	return signals, out, exits, func() int { return <-code }
}

func TestSignalsStopAndLeaveAsConfigured(t *testing.T) {
	for _, c := range []struct {
		name   string
		signal os.Signal
		args   []string
		leave  bool
	}{
		{"server, interrupt", os.Interrupt, nil, false},
		{"server, terminate", syscall.SIGTERM, nil, false},
		{"client, interrupt", os.Interrupt, []string{"-server=false"}, true},
		{"client, terminate", syscall.SIGTERM, []string{"-server=false"}, true},
		{"server that shall leave", syscall.SIGTERM, []string{"-hcl=leave_on_terminate = true"}, true},
		{"client that shall not", os.Interrupt, []string{"-server=false", "-hcl=skip_leave_on_interrupt = true"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &fakeRun{}
			signals, _, _, end := startProcess(t, r.run, append([]string{"-dev"}, c.args...)...)
			signals <- c.signal
			if code := end(); code != 0 {
				t.Errorf("exit code %d", code)
			}
			if left := errors.Is(r.cause, errLeave); left != c.leave {
				t.Errorf("leave %v, want %v", left, c.leave)
			}
		})
	}
}

func TestHangupReloads(t *testing.T) {
	conf := file(t, "a.hcl", `log_level = "info"`)
	r := &fakeRun{reloads: make(chan error), up: make(chan struct{})}
	signals, out, _, end := startProcess(t, r.run, "-dev", "-config-file="+conf)
	<-r.up
	hup := func() error {
		signals <- syscall.SIGHUP
		return <-r.reloads
	}
	if err := hup(); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(conf, []byte("log_levle = 1"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := hup(); err == nil || !strings.Contains(err.Error(), `did you mean "log_level"?`) {
		t.Errorf("%v", err)
	}
	signals <- syscall.SIGTERM
	end()
	if !strings.Contains(out.String(), "the old one stays in force") {
		t.Errorf("no word of the mistake in the log: %s", out)
	}
}

func TestSecondSignalEndsTheProcess(t *testing.T) {
	release := make(chan struct{})
	signals, _, exits, end := startProcess(t, func(ctx context.Context, l launch) error {
		<-release
		return nil
	}, "-dev")
	signals <- os.Interrupt
	signals <- os.Interrupt
	if code := <-exits; code != 1 {
		t.Errorf("exit code %d", code)
	}
	close(release)
	end()
}

func TestAgentThatFails(t *testing.T) {
	_, out, _, end := startProcess(t, func(context.Context, launch) error { return errors.New("port taken") }, "-dev")
	if code := end(); code != 1 || !strings.Contains(out.String(), "muster agent: port taken") {
		t.Errorf("%d: %s", code, out)
	}
	muster("agent", "-dev", "-http-port=8600").wantError(t, "ports.http", "ports.dns")
}

func TestPIDFile(t *testing.T) {
	pid := filepath.Join(t.TempDir(), "pid")
	r := &fakeRun{}
	var during []byte
	signals, _, _, end := startProcess(t, func(ctx context.Context, l launch) error {
		during, _ = os.ReadFile(pid)
		return r.run(ctx, l)
	}, "-dev", "-pid-file="+pid)
	signals <- syscall.SIGTERM
	end()
	if len(during) == 0 {
		t.Error("no pid in the file")
	}
	if _, err := os.Stat(pid); !os.IsNotExist(err) {
		t.Errorf("the file is still there: %v", err)
	}
}

func TestBanner(t *testing.T) {
	for _, c := range []struct {
		name string
		hcl  string
	}{
		{"dev", ""},
		{"socket", `addresses { http = "unix:///tmp/h.sock" dns = "0.0.0.0" } domain = "corp.example" ports { http = -1 }`},
		{"ports", `ports { http = 9500 dns = -1 } client_addr = "0.0.0.0"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg, _, err := config.Load(config.Options{Dev: true, HCL: []string{`node_name = "n1"`, c.hcl}})
			if err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			banner(&b, cfg)
			golden(t, "banner_"+c.name+".txt", b.String())
		})
	}
}
