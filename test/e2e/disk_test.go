package e2e

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestDiskFull fills the disk of a single server: first by writes, which are refused
// before it is full, then by somebody else's file, up to the last byte. Leadership is
// kept, what takes no space goes on, and with space so do the writes.
func TestDiskFull(t *testing.T) {
	disk := smallDisk(t, 32)
	a := newAgent(t, "n1", map[string]any{"data_dir": filepath.Join(disk, "data")}, "-server", "-bootstrap-expect=1")
	a.start()
	a.ready()
	node := map[string]any{"Node": "w1", "Address": "10.0.0.1", "Service": map[string]any{"ID": "web", "Service": "web"},
		"Check": map[string]any{"CheckID": "c", "Name": "c", "ServiceID": "web", "Status": "passing"}}
	for _, name := range []string{"w1", "w2"} {
		node["Node"] = name
		if err := a.put("/v1/catalog/register", node); err != nil {
			t.Fatal(err)
		}
	}
	if got := a.gauge(t, "muster_storage_reserve_bytes"); got != 8<<20 {
		t.Errorf("the reserve has %v bytes", got)
	}
	term := mustTerm(t, a)

	refusal := a.fillWithKeys(t)
	for _, part := range []string{"507", "no space for new writes on server n1", filepath.Join(disk, "data"), "free space on its disk", "by themselves"} {
		if !strings.Contains(refusal, part) {
			t.Errorf("%q does not say %q", refusal, part)
		}
	}
	if got := a.gauge(t, "muster_storage_state"); got != 2 {
		t.Errorf("state %v while writes are refused", got)
	}
	what := "with writes refused"
	goesOn := func(node string) {
		t.Helper()
		for status, body := range map[string]string{"critical": "warn", "passing": "fine"} {
			err := a.put("/v1/catalog/register", map[string]any{"Node": node, "SkipNodeUpdate": true,
				"Check": map[string]any{"CheckID": "c", "Name": "c", "ServiceID": "web", "Status": status, "Output": body}})
			if err != nil {
				t.Errorf("state of a check %s: %v", what, err)
			}
		}
		if err := a.put("/v1/catalog/deregister", map[string]any{"Node": node}); err != nil {
			t.Errorf("deregistration %s: %v", what, err)
		}
		if err := a.put("/v1/catalog/register", map[string]any{"Node": "new-" + node, "Address": "10.0.0.2"}); err == nil {
			t.Errorf("a new node %s is registered", what)
		}
	}
	goesOn("w1")

	other := filepath.Join(disk, "other")
	occupy(t, other)
	what = "with the disk full"
	goesOn("w2")
	// Deletes take room in the log, too: more of it than the log has set aside.
	for i := range 60 {
		if err := a.putRaw(fmt.Sprintf("/v1/txn?%d", i), deletes(80<<10)); err != nil {
			t.Fatalf("transaction %d of deletes %s: %v", i, what, err)
		}
	}
	if got := a.gauge(t, "muster_storage_reserve_released_total"); got != 1 {
		t.Errorf("the reserve was released %v times", got)
	}
	if now := mustTerm(t, a); now != term {
		t.Errorf("term %s, began with %s: leadership was lost", now, term)
	}

	if err := os.Remove(other); err != nil {
		t.Fatal(err)
	}
	if err := a.send(http.MethodDelete, "/v1/kv/?recurse", "", nil); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	eventually(t, "writes are accepted again by themselves", func() error {
		return a.putRaw("/v1/kv/after", []byte("x"))
	})
	t.Logf("writes again %v after there was space; term %s throughout", time.Since(start).Round(time.Millisecond), term)
	if now := mustTerm(t, a); now != term {
		t.Errorf("term %s, began with %s", now, term)
	}
	a.kill()
	a.start()
	a.ready()
	var entries []any
	if err := a.get("/v1/kv/after", &entries); err != nil || len(entries) != 1 {
		t.Errorf("after a restart: %v, %v", entries, err)
	}
}

// TestFullFollower fills the disk of one server of three: the others go on without a
// hitch, it says what is wrong, and catches up by itself once it has space.
func TestFullFollower(t *testing.T) {
	var agents []*agent
	disks := map[*agent]string{}
	for i := range 3 {
		disk := smallDisk(t, 128)
		a := newAgent(t, fmt.Sprintf("s%d", i+1), map[string]any{"data_dir": filepath.Join(disk, "data")}, "-server", "-bootstrap-expect=3")
		agents, disks[a] = append(agents, a), disk
	}
	for _, a := range agents {
		a.args = append(a.args, "-retry-join", fmt.Sprintf("127.0.0.1:%d", agents[0].ports["serf_lan"]))
		a.start()
	}
	var leader, follower *agent
	for _, a := range agents {
		if a.ready(); a.gauge(t, "muster_raft_leader") == 1 {
			leader = a
		} else {
			follower = a
		}
	}
	if leader == nil {
		t.Fatal("none of the three leads")
	}
	term := mustTerm(t, leader)
	other := filepath.Join(disks[follower], "other")
	occupy(t, other)
	value := bytes.Repeat([]byte("x"), 400<<10)
	var worst time.Duration
	for i := range 40 { // 16 MiB: more than the follower's log and reserve
		start := time.Now()
		if err := leader.putRaw(fmt.Sprintf("/v1/kv/%d", i%8), value); err != nil {
			t.Fatalf("write %d: %v", i, err)
		}
		worst = max(worst, time.Since(start))
	}
	eventually(t, "the follower says what is wrong", func() error {
		if state, failed := follower.gauge(t, "muster_storage_state"), follower.gauge(t, "muster_raft_append_failures_total"); state != 2 || failed == 0 {
			return fmt.Errorf("state %v, %v failed appends", state, failed)
		}
		return nil
	})
	if err := leader.putRaw("/v1/kv/last", []byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(other); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	eventually(t, "the follower has caught up", func() error { return follower.get("/v1/kv/last?stale", new([]any)) })
	t.Logf("slowest write %v; caught up %v after there was space", worst.Round(time.Millisecond), time.Since(start).Round(time.Millisecond))
	if now := mustTerm(t, leader); now != term {
		t.Errorf("term %s, began with %s: an election", now, term)
	}
}

// smallDisk mounts a file system of so many MiB for the time of the test.
func smallDisk(t *testing.T, size int) string {
	t.Helper()
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, fmt.Sprintf("size=%dm", size)); err != nil {
		t.Skipf("a small file system can't be mounted here (needs root): %v", err)
	}
	t.Cleanup(func() { // after the agents have been killed
		if err := syscall.Unmount(disk, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return disk
}

// occupy takes all that is left of a disk.
func occupy(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for piece := make([]byte, 64<<10); err == nil; {
		_, err = f.Write(piece)
	}
}

// fillWithKeys writes until that is refused, and returns the refusal.
func (a *agent) fillWithKeys(t *testing.T) string {
	t.Helper()
	value := bytes.Repeat([]byte("x"), 256<<10)
	for i := range 200 {
		if err := a.putRaw(fmt.Sprintf("/v1/kv/fill/%d", i), value); err != nil {
			t.Logf("refused after %d KiB: %v", i*256, err)
			return err.Error()
		}
	}
	t.Fatal("50 MiB of keys fit a disk of 32")
	return ""
}

// deletes is a transaction of about that many bytes.
func deletes(size int) []byte {
	key := strings.Repeat("k", size/64)
	ops := make([]string, 64)
	for i := range ops {
		ops[i] = fmt.Sprintf(`{"KV":{"Verb":"delete","Key":"%s%d"}}`, key, i)
	}
	return []byte("[" + strings.Join(ops, ",") + "]")
}

// putRaw writes a body as it is; a refusal is told with its text.
func (a *agent) putRaw(path string, body []byte) error {
	req, err := http.NewRequest(http.MethodPut, a.url(path), bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, answer)
	}
	return err
}

func mustTerm(t *testing.T, a *agent) string {
	t.Helper()
	term, err := a.term()
	if err != nil {
		t.Fatal(err)
	}
	return term
}

// gauge is the value of a metric, with its labels where it has any.
func (a *agent) gauge(t *testing.T, name string) float64 {
	t.Helper()
	resp, err := client.Get(a.url("/v1/agent/metrics?format=prometheus"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			v, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}
