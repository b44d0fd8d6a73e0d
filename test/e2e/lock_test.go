package e2e

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// contender is a running "muster lock" with a folder for its child.
type contender struct {
	t      *testing.T
	dir    string
	cmd    *exec.Cmd
	output *syncBuffer
	done   chan struct{}
}

// contend starts "muster lock" for the prefix job, with times that suit a test. The
// child is a script that runs in the contender's folder.
func (a *agent) contend(script string, flags ...string) *contender {
	a.t.Helper()
	c := &contender{t: a.t, dir: a.t.TempDir(), output: &syncBuffer{}, done: make(chan struct{})}
	args := append([]string{"lock", "-session-ttl=1s", "-lock-delay=0s", "-child-exit-code"}, flags...)
	c.cmd = exec.Command(binary, append(args, "job", script)...)
	c.cmd.Dir = c.dir
	c.cmd.Env = append(os.Environ(), "SHELL=", "MUSTER="+binary, "MUSTER_HTTP_ADDR="+a.url(""))
	c.cmd.Stdout, c.cmd.Stderr = c.output, c.output
	if err := c.cmd.Start(); err != nil {
		a.t.Fatal(err)
	}
	go func() { defer close(c.done); _ = c.cmd.Wait() }()
	a.t.Cleanup(func() {
		_ = c.cmd.Process.Signal(syscall.SIGCONT)
		_ = c.cmd.Process.Signal(syscall.SIGTERM)
		<-c.done
		if a.t.Failed() {
			a.t.Logf("output of a contender: %s", c.output)
		}
	})
	return c
}

// wrote waits until the child has written a file and returns its contents.
func (c *contender) wrote(name string) string {
	c.t.Helper()
	var text string
	eventually(c.t, "the child writes "+name, func() error {
		data, err := os.ReadFile(filepath.Join(c.dir, name))
		text = strings.TrimSpace(string(data))
		if err == nil && text == "" {
			err = fmt.Errorf("it is empty; output: %s", c.output)
		}
		return err
	})
	return text
}

// ended waits for the end and returns the exit code.
func (c *contender) ended() int {
	c.t.Helper()
	select {
	case <-c.done:
	case <-time.After(deadline):
		c.t.Fatalf("does not end; output: %s", c.output)
	}
	return c.cmd.ProcessState.ExitCode()
}

func (c *contender) number(name string) int {
	c.t.Helper()
	n, err := strconv.Atoi(c.wrote(name))
	if err != nil {
		c.t.Fatal(err)
	}
	return n
}

// lockAgent allows sessions that end soon.
func lockAgent(t *testing.T) *agent {
	a := newAgent(t, "n1", map[string]any{"session_ttl_min": "1s"}, "-dev")
	a.start()
	return a.ready()
}

// value is that of a key.
func (a *agent) value(key string) (string, error) {
	resp, err := client.Get(a.url("/v1/kv/" + key + "?raw"))
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("GET %s: %s", key, resp.Status)
	}
	return string(body), err
}

const upUntilStopped = `trap 'echo asked > asked; exit 0' TERM; echo $MUSTER_FENCING_TOKEN > up; while :; do sleep 0.02; done`

func TestLockTwoContenders(t *testing.T) {
	t.Parallel()
	a := lockAgent(t)
	first := a.contend(upUntilStopped)
	token := first.number("up")
	second := a.contend(upUntilStopped)
	// It waits: an attempt with a limit, made after it, runs into that.
	if third := a.contend("true", "-timeout=300ms"); third.ended() != 1 {
		t.Error("a third one got the lock")
	}
	if _, err := os.Stat(filepath.Join(second.dir, "up")); err == nil {
		t.Fatal("two hold the lock")
	}
	if err := first.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if code := first.ended(); code != 0 || first.wrote("asked") != "asked" {
		t.Errorf("exit code %d; output: %s", code, first.output)
	}
	if next := second.number("up"); next <= token {
		t.Errorf("token %d after %d", next, token)
	}
}

func TestLockLostEndsTheChild(t *testing.T) {
	t.Parallel()
	a := lockAgent(t)
	c := a.contend(upUntilStopped)
	c.wrote("up")
	var sessions []struct{ ID string }
	if err := a.get("/v1/session/list", &sessions); err != nil || len(sessions) != 1 {
		t.Fatalf("%v, %v", sessions, err)
	}
	if err := a.put("/v1/session/destroy/"+sessions[0].ID, nil); err != nil {
		t.Fatal(err)
	}
	if code := c.ended(); code != 1 || c.wrote("asked") != "asked" {
		t.Errorf("exit code %d; output: %s", code, c.output)
	}

	// The agent is gone without a word.
	c = a.contend(upUntilStopped, "-monitor-retry=0")
	c.wrote("up")
	a.kill()
	if code := c.ended(); code != 1 || c.wrote("asked") != "asked" {
		t.Errorf("exit code %d; output: %s", code, c.output)
	}
}

// TestLockAndItsChildDieTogether: whoever kills the command leaves no child without
// a lock.
func TestLockAndItsChildDieTogether(t *testing.T) {
	t.Parallel()
	a := lockAgent(t)
	c := a.contend(upUntilStopped)
	c.wrote("up")
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	c.ended()
	if c.wrote("asked") != "asked" {
		t.Error("the child was not asked to end")
	}
}

// TestLockFencesWhoSlept: a holder that was stopped for longer than its session lives
// goes on where it was. What it then writes is refused.
func TestLockFencesWhoSlept(t *testing.T) {
	t.Parallel()
	a := lockAgent(t)
	const put = `$MUSTER kv put -fence=$MUSTER_FENCING_TOKEN -fence-key=$MUSTER_FENCING_KEY job/state `
	sleeper := a.contend(`echo $$ > pid; ` + put + `early; while [ ! -e go ]; do sleep 0.02; done; ` + put + `late; echo $? > code; sleep 60`)
	pid := sleeper.number("pid")
	eventually(t, "the first write", func() error {
		if v, err := a.value("job/state"); err != nil || v != "early" {
			return fmt.Errorf("%q, %v", v, err)
		}
		return nil
	})
	stop := func(sig syscall.Signal, pid int) {
		t.Helper()
		if err := syscall.Kill(pid, sig); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = syscall.Kill(-pid, syscall.SIGKILL) })
	stop(syscall.SIGSTOP, sleeper.cmd.Process.Pid)
	stop(syscall.SIGSTOP, -pid)

	heir := a.contend(put + `heir; echo $? > code; sleep 60`)
	if code := heir.wrote("code"); code != "0" {
		t.Fatalf("the heir's write: exit code %s; output: %s", code, heir.output)
	}
	if err := os.WriteFile(filepath.Join(sleeper.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	stop(syscall.SIGCONT, -pid) // before its guardian, which would end it
	if code := sleeper.wrote("code"); code != "1" || !strings.Contains(sleeper.output.String(), "is not the latest") {
		t.Errorf("the late write: exit code %s; output: %s", code, sleeper.output)
	}
	if v, err := a.value("job/state"); err != nil || v != "heir" {
		t.Errorf("the state is %q, %v", v, err)
	}
	stop(syscall.SIGCONT, sleeper.cmd.Process.Pid)
	if code := sleeper.ended(); code != 1 {
		t.Errorf("exit code %d; output: %s", code, sleeper.output)
	}
}
