//go:build unix

package child_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/muster-discovery/muster/internal/child"
)

// long is a grace that only a broken Stop waits for.
const long = 30 * time.Second

func start(t *testing.T, script string, o child.Options) (*child.Child, string) {
	t.Helper()
	ready := filepath.Join(t.TempDir(), "ready")
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.Env = append(os.Environ(), "READY="+ready)
	c, err := child.Start(cmd, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Stop(0) })
	for end := time.Now().Add(long); ; {
		if _, err := os.Stat(ready); err == nil {
			return c, ready
		}
		if time.Now().After(end) {
			t.Fatal("the program does not get ready")
		}
		select {
		case <-c.Done():
			t.Fatalf("ended: %v", c.Err())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func TestStopAsksFirst(t *testing.T) {
	for _, o := range []child.Options{{}, {SameGroup: true}, {DieWithParent: true}} {
		c, ready := start(t, `trap 'echo asked > $READY; exit 3' TERM; : > $READY; while :; do sleep 0.01; done`, o)
		c.Stop(long)
		got, err := os.ReadFile(ready)
		if err != nil || string(got) != "asked\n" {
			t.Errorf("%+v: wrote %q, %v", o, got, err)
		}
		if c.Err() == nil || !strings.Contains(c.Err().Error(), "exit status 3") {
			t.Errorf("%+v: ended with %v", o, c.Err())
		}
	}
}

func TestStopKillsWhoDoesNotListen(t *testing.T) {
	c, _ := start(t, `trap '' TERM; : > $READY; while :; do sleep 0.01; done`, child.Options{})
	before := time.Now()
	c.Stop(50 * time.Millisecond)
	if took := time.Since(before); took < 50*time.Millisecond || took > long/2 {
		t.Errorf("took %v", took)
	}
	if c.Err() == nil || !strings.Contains(c.Err().Error(), "killed") {
		t.Errorf("ended with %v", c.Err())
	}
}

// TestStopReachesTheGroup: what a shell started has the grace, too, and does not
// outlive it.
func TestStopReachesTheGroup(t *testing.T) {
	for name, c := range map[string]struct {
		inner string
		want  string
	}{
		"puts things in order": {`trap 'sleep 0.1; echo done >> $READY; exit' TERM; echo $$ > $READY; while :; do sleep 0.01; done`, "done"},
		"does not listen":      {`trap '' TERM; echo $$ > $READY; while :; do sleep 0.01; done`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			ch, ready := start(t, `sh -c "`+strings.ReplaceAll(c.inner, "$", `\$`)+`"; true`, child.Options{})
			grace := long
			if c.want == "" {
				grace = 50 * time.Millisecond
			}
			ch.Stop(grace)
			got, _ := os.ReadFile(ready)
			if !strings.Contains(string(got), c.want) {
				t.Errorf("wrote %q", got)
			}
		})
	}
}

func TestOutputHeldByOthers(t *testing.T) {
	var out bytes.Buffer
	cmd := exec.Command("/bin/sh", "-c", "echo hello; sleep 30 &")
	cmd.Stdout = &out
	c, err := child.Start(cmd, child.Options{})
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-c.Done():
	case <-time.After(long / 2):
		t.Fatal("waits for the output of what was left behind")
	}
	if c.Err() != nil || out.String() != "hello\n" {
		t.Errorf("%v, %q", c.Err(), out.String())
	}
	if err := c.Signal(syscall.SIGKILL); err != nil { // the leftover
		t.Error(err)
	}
}

func TestSignalAfterTheEnd(t *testing.T) {
	c, err := child.Start(exec.Command("true"), child.Options{})
	if err != nil {
		t.Fatal(err)
	}
	<-c.Done()
	if err := c.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	c.Stop(long)
	if _, err := child.Start(exec.Command("/does/not/exist"), child.Options{}); err == nil {
		t.Error("started what does not exist")
	}
}

func TestShell(t *testing.T) {
	t.Setenv("SHELL", "")
	if got := child.Shell("a b"); got.Path != "/bin/sh" || got.Args[2] != "a b" {
		t.Errorf("%v", got)
	}
	t.Setenv("SHELL", "/bin/other")
	if got := child.Shell("x"); got.Path != "/bin/other" {
		t.Errorf("%v", got)
	}
}
