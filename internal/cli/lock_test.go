//go:build unix

package cli

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"
)

// outputs are safe for a command and its child together, as files are.
type outputs struct {
	mu sync.Mutex
	strings.Builder
}

func (o *outputs) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.Builder.Write(p)
}

// musterLock runs the command with outputs that it may share with its child.
func musterLock(args ...string) result {
	var out, errs outputs
	code := Run(append([]string{"lock"}, args...), &out, &errs)
	return result{code, out.String(), errs.String()}
}

func (s *lockServer) left(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.keys) != 0 || len(s.sessions) != 0 {
		t.Errorf("left behind: keys %v, sessions %v", s.keys, s.sessions)
	}
}

// writes is a file that a child writes, and what waits for it.
func writes(t *testing.T) (path string, wait func() string) {
	path = filepath.Join(t.TempDir(), "file")
	return path, func() string {
		t.Helper()
		for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			if data, err := os.ReadFile(path); err == nil && len(data) > 0 {
				return string(data)
			}
		}
		t.Fatal("the child writes nothing")
		return ""
	}
}

func TestLockRunsTheChild(t *testing.T) {
	s := newLockServer(t)
	for _, c := range []struct{ args, want string }{
		{"", "true 1 job/.lock"},
		{"-n=2", "true 2 job/session2"},
		{"-shell=false", "$CONSUL_LOCK_HELD $MUSTER_FENCING_TOKEN $MUSTER_FENCING_KEY"},
	} {
		args := append(words(c.args), "job", "echo", "$CONSUL_LOCK_HELD", "$MUSTER_FENCING_TOKEN", "$MUSTER_FENCING_KEY")
		musterLock(args...).want(t, 0, c.want+"\n")
		s.left(t)
	}
	r := musterLock("-verbose", "/job", "true")
	r.want(t, 0, "Setting up lock at path: job/.lock\nAttempting lock acquisition\nStarting handler 'true'\nReleasing the lock at job/.lock\n")
	r = musterLock("-verbose", "-n=3", "job", "true")
	if r.code != 0 || !strings.Contains(r.out, "Setting up semaphore (limit 3) at prefix: job\n") {
		t.Errorf("%+v", r)
	}
	s.left(t)
}

func TestLockExitCodes(t *testing.T) {
	s := newLockServer(t)
	for args, code := range map[string]int{
		"job exit 0": 0, "job exit 4": 0,
		"-child-exit-code job exit 0":                  0,
		"-child-exit-code job exit 4":                  2,
		"-shell=false job /does/not/exist":             1,
		"-child-exit-code -shell=false job /not/there": 1,
	} {
		if r := musterLock(words(args)...); r.code != code {
			t.Errorf("%s: exit code %d, want %d: %s", args, r.code, code, r.err)
		}
		s.left(t)
	}
}

func TestLockMistakes(t *testing.T) {
	s := newLockServer(t)
	for args, want := range map[string]string{
		"":                             "it takes a PREFIX and a CHILD",
		"job":                          "it takes a PREFIX and a CHILD",
		"/ true":                       "the PREFIX is empty",
		"-n=0 job true":                "-n must be at least 1",
		"-timeout=1s -try=1s job true": "only one of -timeout and -try",
		"-timeout=-1s job true":        "must not be negative",
	} {
		musterLock(words(args)...).wantError(t, want)
	}
	s.do(func() { s.keys["job/.lock"] = &lockKey{Key: "job/.lock", Flags: 7} })
	musterLock("job", "true").wantError(t, "does not match lock use")
	musterLock("-n=2", "job", "true").wantError(t, "does not match semaphore use")
	s.do(func() {
		s.keys["job/.lock"] = &lockKey{Key: "job/.lock", Flags: api.SemaphoreFlagValue, Value: []byte(`{"Limit": 3}`)}
	})
	musterLock("-n=2", "job", "true").wantError(t, "limit conflict")
	if len(s.sessions) != 0 {
		t.Errorf("sessions left: %v", s.sessions)
	}
	s.do(func() { s.broken = true })
	musterLock("job", "true").wantError(t, "No cluster leader")
	t.Setenv("CONSUL_HTTP_ADDR", "127.0.0.1:1")
	musterLock("job", "true").wantError(t, "No agent answers at")
}

func TestLockWaitsItsTime(t *testing.T) {
	s := newLockServer(t)
	s.do(func() {
		s.keys["job/.lock"] = &lockKey{Key: "job/.lock", Session: "other", Flags: api.LockFlagValue}
		s.sessions["other"] = true
	})
	for _, flag := range []string{"-timeout=50ms", "-try=50ms"} {
		began := time.Now()
		musterLock(flag, "job", "true").wantError(t, "timeout during lock acquisition")
		if took := time.Since(began); took < 50*time.Millisecond || took > 10*time.Second {
			t.Errorf("took %v", took)
		}
	}
	done := make(chan result, 1)
	go func() { done <- musterLock("job", "echo", "mine") }()
	select {
	case r := <-done:
		t.Fatalf("ran while another has the lock: %+v", r)
	case <-time.After(100 * time.Millisecond):
	}
	s.do(func() { s.keys["job/.lock"].Session = "" })
	(<-done).want(t, 0, "mine\n")
}

// TestLockLost: the child is asked to end, whatever tells that the lock is lost.
func TestLockLost(t *testing.T) {
	for name, lose := range map[string]func(*lockServer){
		"given to another":         func(s *lockServer) { s.do(func() { s.keys["job/.lock"].Session = "other" }) },
		"session ended":            (*lockServer).endSessions,
		"agent answers with error": func(s *lockServer) { s.do(func() { s.broken = true }) },
		"agent does not answer":    func(s *lockServer) { s.do(func() { s.hangs = true }) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newLockServer(t)
			path, ready := writes(t)
			done := make(chan result, 1)
			script := "trap 'echo asked >> " + path + "; exit' TERM; echo up > " + path + "; while :; do sleep 0.01; done"
			go func() { done <- musterLock("-session-ttl=600ms", "-monitor-retry=0", "job", script) }()
			ready()
			lose(s)
			began := time.Now()
			var r result
			select {
			case r = <-done:
			case <-time.After(30 * time.Second):
				t.Fatal("the child runs on")
			}
			if r.code != 1 || !strings.Contains(r.err, "Lock lost, killing child") {
				t.Errorf("after %v: %+v", time.Since(began), r)
			}
			if got, _ := os.ReadFile(path); string(got) != "up\nasked\n" {
				t.Errorf("the child wrote %q", got)
			}
		})
	}
}

// TestLockRidesOutErrors: an agent that fails for a moment does not cost the lock.
func TestLockRidesOutErrors(t *testing.T) {
	s := newLockServer(t)
	path, ready := writes(t)
	done := make(chan result, 1)
	go func() { done <- musterLock("job", "echo up > "+path+"; sleep 2.2; echo done") }()
	ready()
	s.do(func() { s.broken = true })
	time.Sleep(500 * time.Millisecond)
	s.do(func() { s.broken = false })
	(<-done).want(t, 0, "done\n")
}

func TestLockInterrupted(t *testing.T) {
	s := newLockServer(t)
	ctx, cancel := context.WithCancel(t.Context())
	run := func(args ...string) result {
		var out, errs outputs
		f := newFlags(lockCommand, &out, &errs)
		l := &lock{f: f, conn: f.connect(false), shell: true, limit: 1, ttl: 15 * time.Second, childCode: true,
			until: func() (context.Context, context.CancelFunc) { return ctx, cancel }}
		code := l.run(args)
		return result{code, out.String(), errs.String()}
	}
	path, ready := writes(t)
	done := make(chan result, 1)
	go func() {
		done <- run("job", "trap 'echo asked >> "+path+"; exit 3' TERM; echo up > "+path+"; while :; do sleep 0.01; done")
	}()
	ready()
	cancel()
	if r := <-done; r.code != 2 {
		t.Errorf("%+v", r)
	}
	if got, _ := os.ReadFile(path); string(got) != "up\nasked\n" {
		t.Errorf("the child wrote %q", got)
	}
	s.left(t)
	if r := run("job", "true"); r.code != 1 || !strings.Contains(r.err, "Shutdown triggered") {
		t.Errorf("interrupted before: %+v", r)
	}
	if slices.ContainsFunc(handedOn, func(s os.Signal) bool { return s == os.Interrupt }) {
		t.Error("SIGINT is handed on and ends the child as well")
	}
}
