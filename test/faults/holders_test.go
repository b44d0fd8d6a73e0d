package faults

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/muster-discovery/muster/test/linear"
	"github.com/muster-discovery/muster/test/testbed"
)

// Holders are processes of this test's binary, so that they can be stopped where they
// are: between the look at a lock and the write under it, too.
const holderEnv = "MUSTER_FAULTS_HOLDER" // "number seed milliseconds"

func holderRole() bool { return os.Getenv(holderEnv) != "" }

// localDoor is the agent on the process's own host.
type localDoor struct{ client http.Client }

func (*localDoor) String() string { return "local" }

func (d *localDoor) Ask(ctx context.Context, method, path string, body []byte) (int, http.Header, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://127.0.0.1:8500"+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, nil, err
	}
	resp, err := d.client.Do(req)
	if err != nil {
		return 0, nil, nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header, bytes.TrimSpace(answer), err
}

// runHolder takes the lock again and again, and at the end prints its history.
func runHolder() int {
	var number int
	var seed uint64
	var life int64
	if _, err := fmt.Sscan(os.Getenv(holderEnv), &number, &seed, &life); err != nil {
		panic(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(life)*time.Millisecond)
	defer cancel()
	history := &linear.History{}
	c := &linear.Locks{Client: linear.Client{Number: number, Doors: []linear.Door{&localDoor{}}, History: history,
		Random: rand.New(rand.NewPCG(seed, uint64(number))), Limit: 2 * time.Second, Pause: 10 * time.Millisecond},
		Locks: 1, Writes: 30, TTL: time.Second, Node: "holders"}
	for ctx.Err() == nil {
		c.Once(ctx, theLock)
	}
	if err := linear.WriteJSON(os.Stdout, history.Ops()); err != nil {
		return 1
	}
	return 0
}

const theLock = "linear/the-lock"

// holder is such a process, seen from the test.
type holder struct {
	cmd    *exec.Cmd
	output bytes.Buffer
}

// TestPausedHolders stops whoever holds a lock for longer than its session lives, and
// lets it go on where it was. Its writes must be refused once somebody else had the lock;
// the leader dies in between.
func TestPausedHolders(t *testing.T) {
	const life = 7 * time.Second
	bed := testbed.New(t)
	servers := bed.Servers(3, map[string]any{"session_ttl_min": "1s"})
	must(t, servers[0].Put("/v1/catalog/register", map[string]any{"Node": "holders", "Address": "10.0.0.9"}))
	t.Logf("seed %d", *seed)
	length := max(life, min(*long, time.Minute))
	holders := map[string]*holder{}
	for i := range 4 {
		h := &holder{cmd: exec.Command(os.Args[0])}
		h.cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %d %d", holderEnv, i, *seed, length.Milliseconds()))
		h.cmd.Stdout, h.cmd.Stderr = &h.output, t.Output()
		h.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		must(t, servers[i%3].StartProcess(h.cmd))
		holders[linear.SessionName(i)] = h
	}
	leader, _ := bed.Split(servers)
	paused := pauseHolders(t, servers, holders, length, leader)

	history := &linear.History{}
	for name, h := range holders {
		must(t, h.cmd.Wait())
		ops, err := linear.ReadJSON(&h.output)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, op := range ops {
			history.Add(op)
		}
	}
	judge(t, history)
	fenced, written := 0, 0
	for _, op := range history.Ops() {
		if op.Kind == linear.Guarded && op.Result == linear.No {
			fenced++
		}
		if op.Kind == linear.Guarded && op.Result == linear.Yes {
			written++
		}
	}
	figure(t, "%d times a holder was paused; %d guarded writes, %d more were fenced off", paused, written, fenced)
	if paused == 0 || fenced == 0 || written == 0 {
		t.Error("the test tested nothing")
	}
}

// pauseHolders runs until shortly before the holders end by themselves.
func pauseHolders(t *testing.T, servers []*testbed.Node, holders map[string]*holder, length time.Duration, leader *testbed.Node) (paused int) {
	t.Helper()
	end := time.Now().Add(length)
	half := time.Now().Add(length / 2)
	rng := rand.New(rand.NewPCG(*seed, 99))
	ask := servers[0]
	if ask == leader {
		ask = servers[1]
	}
	for time.Now().Before(end) {
		pause(time.Duration(rng.IntN(100)) * time.Millisecond)
		if leader != nil && time.Now().After(half) {
			leader.Kill()
			leader.Start()
			leader = nil
		}
		name := holderOf(ask)
		h := holders[name]
		if h == nil {
			continue
		}
		must(t, h.cmd.Process.Signal(syscall.SIGSTOP))
		paused++
		for heir, limit := "", time.Now().Add(5*time.Second); (heir == "" || heir == name) && time.Now().Before(limit); heir = holderOf(ask) {
			pause(10 * time.Millisecond)
		}
		pause(time.Duration(rng.IntN(300)) * time.Millisecond) // the heir writes, or has left again
		must(t, h.cmd.Process.Signal(syscall.SIGCONT))
	}
	return paused
}

// holderOf is the name of the session that holds the lock.
func holderOf(n *testbed.Node) string {
	var keys []struct{ Session string }
	var sessions []struct{ Name string }
	if n.Get("/v1/kv/"+theLock+"?stale", &keys) != nil || len(keys) != 1 || keys[0].Session == "" {
		return ""
	}
	if n.Get("/v1/session/info/"+keys[0].Session+"?stale", &sessions) != nil || len(sessions) != 1 {
		return ""
	}
	return strings.TrimSpace(sessions[0].Name)
}
