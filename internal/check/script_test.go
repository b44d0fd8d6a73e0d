//go:build unix

package check

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-discovery/muster/internal/model"
)

func script(t *testing.T, def model.CheckDefinition) Probe {
	t.Helper()
	p, err := New(&def, &Env{Scripts: true})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func sh(text string) model.CheckDefinition {
	return model.CheckDefinition{ScriptArgs: []string{"/bin/sh", "-c", text}}
}

func TestScriptResult(t *testing.T) {
	for _, tt := range []struct {
		args           []string
		status, output string
	}{
		{sh("echo fine; exit 0").ScriptArgs, model.StatusPassing, "fine\n"},
		{sh("echo careful; exit 1").ScriptArgs, model.StatusWarning, "careful\n"},
		{sh("echo broken >&2; exit 2").ScriptArgs, model.StatusCritical, "broken\n"},
		{sh("echo a; echo b >&2; exit 255").ScriptArgs, model.StatusCritical, "a\nb\n"},
		{sh("exit 7").ScriptArgs, model.StatusCritical, "exit status 7"},
		{sh("kill -9 $$").ScriptArgs, model.StatusCritical, "signal: killed"},
		{sh("cat; echo end").ScriptArgs, model.StatusPassing, "end\n"}, // nothing to read
		// No shell looks at the arguments.
		{[]string{"/bin/echo", "$HOME; *"}, model.StatusPassing, "$HOME; *\n"},
		{[]string{"/no/such/program"}, model.StatusCritical, "fork/exec /no/such/program: no such file or directory"},
	} {
		got := script(t, model.CheckDefinition{ScriptArgs: tt.args}).Run(context.Background())
		if got != (Result{tt.status, tt.output}) {
			t.Errorf("%q gives %+v, want %s with %q", tt.args, got, tt.status, tt.output)
		}
	}
}

func TestScriptsMustBeEnabled(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "ran")
	def := sh("touch " + marker)
	for _, env := range []*Env{nil, {}} {
		if p, err := New(&def, env); !errors.Is(err, ErrScriptsDisabled) || p != nil {
			t.Errorf("with %+v a script check is %v, %v", env, p, err)
		}
	}
	if _, err := New(&model.CheckDefinition{ID: "x", ScriptArgs: []string{""}}, &Env{Scripts: true}); err == nil {
		t.Error("a check without a program is accepted")
	}
	script(t, def).Run(context.Background())
	if _, err := os.Stat(marker); err != nil {
		t.Errorf("enabled script did not run: %v", err)
	}
}

func TestScriptOutputIsLimited(t *testing.T) {
	def := sh("i=0; while [ $i -lt 1000 ]; do echo 12345678$((i % 10)); i=$((i+1)); done; exit 1")
	def.OutputMaxSize = 25
	want := "Captured 25 of 10000 bytes\n...\n6787\n123456788\n123456789\n"
	if got := script(t, def).Run(context.Background()); got != (Result{model.StatusWarning, want}) {
		t.Errorf("long output gives %+v, want %q", got, want)
	}
}

// At the timeout the whole process group goes: what the program started too.
func TestScriptTimeoutKillsTheGroup(t *testing.T) {
	ready, child := fifo(t)
	def := sh("echo begun; sleep 1000 & echo $! > " + ready + "; wait")
	def.Timeout = 2 * time.Second
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan Result, 1)
	go func() { done <- script(t, def).Run(deadlineContext{ctx}) }()
	pid := child()[0]
	cancel()
	if got, want := <-done, "Timed out (2s) running check\n\nbegun\n"; got != (Result{model.StatusCritical, want}) {
		t.Errorf("slow script gives %+v, want critical with %q", got, want)
	}
	awaitGone(t, pid)
}

// deadlineContext says that its deadline has passed when it is canceled, so that
// a test needs no real time to pass.
type deadlineContext struct{ context.Context }

func (c deadlineContext) Err() error {
	if c.Context.Err() != nil {
		return context.DeadlineExceeded
	}
	return nil
}

// fifo is a path that a script writes process ids to, and a function that reads
// them.
func fifo(t *testing.T) (path string, read func() []int) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path, func() (pids []int) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range strings.Fields(string(text)) {
			pid, err := strconv.Atoi(word)
			if err != nil {
				t.Fatal(err)
			}
			pids = append(pids, pid)
		}
		return pids
	}
}

// awaitGone waits until a process has ended. One that nobody has collected yet
// counts as ended.
func awaitGone(t *testing.T, pid int) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for time.Now().Before(deadline) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || bytes.Contains(stat, []byte(") Z ")) {
			return
		}
		if syscall.Kill(pid, 0) != nil {
			return
		}
	}
	t.Errorf("process %d still runs", pid)
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

// A program that ends well counts, also when something it left behind still
// holds its output, even if the time ends meanwhile.
func TestScriptWithLeftover(t *testing.T) {
	for _, late := range []bool{false, true} {
		ready, read := fifo(t)
		def := sh("sleep 1000 & echo $$ $! > " + ready + "; echo fine")
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		done := make(chan Result, 1)
		go func() { done <- script(t, def).Run(deadlineContext{ctx}) }()
		pids := read()
		defer func() { _ = syscall.Kill(pids[1], syscall.SIGKILL) }()
		if late {
			awaitGone(t, pids[0])
			cancel()
		}
		if got := <-done; got != (Result{model.StatusPassing, "fine\n"}) {
			t.Errorf("script that leaves a child, its time over %v, gives %+v", late, got)
		}
	}
}

func TestScriptsHaveMoreTime(t *testing.T) {
	for _, tt := range []struct {
		kind string
		want time.Duration
	}{{"script", DefaultScriptTimeout}, {"http", DefaultTimeout}} {
		synctest.Test(t, func(t *testing.T) {
			s := start(t, Config{})
			var took time.Duration
			s.Probe("a", Task{Kind: tt.kind, Interval: time.Hour, Report: func(Result) {}, Probe: probeFunc(func(ctx context.Context) Result {
				began := time.Now()
				<-ctx.Done()
				took = time.Since(began)
				return passing
			})})
			time.Sleep(time.Minute)
			synctest.Wait()
			if took != tt.want {
				t.Errorf("a %s check without timeout may take %v, want %v", tt.kind, took, tt.want)
			}
		})
	}
}

func TestOutputsAreText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Config{})
		var got string
		s.Probe("a", Task{Interval: time.Hour, Report: func(r Result) { got = r.Output }, Probe: probeFunc(func(context.Context) Result {
			return Result{Status: model.StatusPassing, Output: "a\xff\xfeb\u00e9"}
		})})
		time.Sleep(time.Second)
		synctest.Wait()
		if want := "a\uFFFDb\u00e9"; got != want {
			t.Errorf("reported output is %q, want %q", got, want)
		}
	})
}

func FuzzScriptOutput(f *testing.F) {
	f.Add("hello", "world", 7)
	f.Fuzz(func(t *testing.T, a, b string, size int) {
		if size < 1 || size > 100 {
			t.Skip()
		}
		out := &countingTail{tail: newTailBuffer(size)}
		for _, s := range []string{a, b} {
			if n, err := out.Write([]byte(s)); n != len(s) || err != nil {
				t.Fatalf("Write returns %d, %v", n, err)
			}
		}
		got, all := out.describe(nil), a+b
		switch {
		case len(all) <= size && got != all:
			t.Errorf("output is %q, want %q", got, all)
		case len(all) > size && !strings.HasSuffix(got, "\n...\n"+all[len(all)-size:]):
			t.Errorf("long output is %q, want the end of %q", got, all)
		}
	})
}
