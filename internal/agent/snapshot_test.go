package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/muster-discovery/muster/internal/config"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/storage"
)

// running is an agent that has a leader, and ends with the test.
func running(t *testing.T, name string, set ...config.Setting) *site {
	t.Helper()
	a, err := New(options(t, name, append(set, config.Setting{Flag: "-grpc-port", Key: "ports.grpc", Value: -1})...))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	eventually(t, "a leader", func() bool { return a.Leader() != "" })
	return &site{t, a, "http://" + a.cfg.Listen.HTTP[0].Address}
}

// site is an agent as its clients see it.
type site struct {
	t   *testing.T
	a   *Agent
	url string
}

func (s *site) do(method, path string, body []byte) (int, http.Header, []byte) {
	s.t.Helper()
	req, err := http.NewRequest(method, s.url+path, bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, data
}

func (s *site) put(path, body string) string {
	s.t.Helper()
	status, _, data := s.do("PUT", path, []byte(body))
	if status != http.StatusOK {
		s.t.Fatalf("PUT %s: %d %s", path, status, data)
	}
	return string(data)
}

func (s *site) get(path string) string {
	_, _, data := s.do("GET", path, nil)
	return string(data)
}

func (s *site) save() []byte {
	s.t.Helper()
	status, h, data := s.do("GET", "/v1/snapshot", nil)
	if status != http.StatusOK || h.Get("X-Consul-Index") == "" {
		s.t.Fatalf("save: %d %s", status, data)
	}
	return data
}

func (s *site) index(path string) uint64 {
	s.t.Helper()
	_, h, _ := s.do("GET", path, nil)
	n, err := strconv.ParseUint(h.Get("X-Consul-Index"), 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

// content is what clients see of all that was registered from outside.
func (s *site) content() string {
	return s.get("/v1/kv/?recurse") + s.get("/v1/catalog/service/web") + s.get("/v1/health/checks/web") +
		s.get("/v1/session/list") + s.get("/v1/query") + s.get("/v1/kv/lock?tokens") + s.get("/v1/coordinate/nodes")
}

// fill writes some of everything, and returns a session that holds a lock.
func (s *site) fill() (session string) {
	s.put("/v1/kv/a", "1")
	s.put("/v1/kv/b?flags=7", "2")
	s.put("/v1/catalog/register", `{"Node":"ext","Address":"10.0.0.9","Service":{"Service":"web","Port":1},"Check":{"Name":"c","ServiceID":"web","Status":"warning"}}`)
	var made struct{ ID string }
	if err := json.Unmarshal([]byte(s.put("/v1/session/create", `{"Node":"ext","NodeChecks":[],"TTL":"1h"}`)), &made); err != nil {
		s.t.Fatal(err)
	}
	s.put("/v1/kv/lock?acquire="+made.ID, "x")
	if status, _, data := s.do("POST", "/v1/query", []byte(`{"Name":"pq","Service":{"Service":"web"}}`)); status != 200 {
		s.t.Fatal(string(data))
	}
	return made.ID
}

func (s *site) token(session string) uint64 {
	_, h, _ := s.do("PUT", "/v1/kv/other?acquire="+session, nil)
	n, err := strconv.ParseUint(h.Get("X-Muster-Fencing-Token"), 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

// TestSnapshotRestore: a state comes back as it was, watchers see it, indexes and
// fencing tokens only grow, and the agent's own things are there again.
func TestSnapshotRestore(t *testing.T) {
	s := running(t, "n1")
	session := s.fill()
	file, want := s.save(), s.content()
	for _, change := range []string{"/v1/kv/a", "/v1/kv/new", "/v1/kv/new2"} {
		s.put(change, "later")
	}
	s.put("/v1/agent/service/register", `{"Name":"own","Port":2}`)
	eventually(t, "the own service", func() bool { return strings.Contains(s.get("/v1/catalog/services"), "own") })
	lastToken := s.token(session)
	s.put("/v1/catalog/deregister", `{"Node":"ext"}`)
	before := s.index("/v1/kv/?recurse")

	waiting := make(chan string, 3)
	for _, path := range []string{"/v1/kv/new", "/v1/health/service/web", "/v1/catalog/nodes"} {
		index := s.index(path)
		go func() {
			_, h, _ := s.do("GET", fmt.Sprintf("%s?index=%d&wait=60s", path, index), nil)
			if n, _ := strconv.ParseUint(h.Get("X-Consul-Index"), 10, 64); n <= index {
				waiting <- fmt.Sprintf("%s: index %d after %d", path, n, index)
				return
			}
			waiting <- ""
		}()
	}
	eventually(t, "the waiters wait", func() bool { return s.a.node.hub.Stats().Waiters >= 3 })
	s.put("/v1/snapshot", string(file))
	if got := s.content(); got != want {
		t.Errorf("restored:\n got %s\nwant %s", got, want)
	}
	for range 3 {
		select {
		case fault := <-waiting:
			if fault != "" {
				t.Error(fault)
			}
		case <-time.After(10 * time.Second):
			t.Fatal("a waiter was not woken")
		}
	}
	// Also who asks only now, with an index of before.
	if got := s.index(fmt.Sprintf("/v1/kv/?recurse&index=%d&wait=60s", before)); got <= before {
		t.Errorf("index %d after %d", got, before)
	}
	eventually(t, "the own service again", func() bool { return strings.Contains(s.get("/v1/catalog/services"), "own") })
	if got := s.token(session); got <= lastToken || got>>32 == lastToken>>32 {
		t.Errorf("fencing token %d after %d", got, lastToken)
	}
	eventually(t, "a leader", func() bool { return s.a.Leader() != "" })
}

// TestSnapshotIntoAnother: a fresh server takes over the state of one that is gone. Its
// agents go from the catalog, external nodes stay, and so does the mesh's root.
func TestSnapshotIntoAnother(t *testing.T) {
	for _, name := range []string{"old", "new"} { // the other server has the same name, or another
		t.Run(name, func(t *testing.T) {
			old := running(t, "old")
			old.fill()
			file, want, roots := old.save(), old.content(), old.get("/v1/connect/ca/roots")
			s := running(t, name)
			s.put("/v1/agent/service/register", `{"Name":"own","Port":2}`)
			s.put("/v1/snapshot", string(file))
			if got := s.content(); got != want {
				t.Errorf("restored:\n got %s\nwant %s", got, want)
			}
			eventually(t, "only the new server, and the external node", func() bool {
				var nodes []struct{ ID, Node string }
				_ = json.Unmarshal([]byte(s.get("/v1/catalog/nodes")), &nodes)
				return len(nodes) == 2 && nodes[0].Node == "ext" && nodes[1].Node == name && nodes[1].ID == s.a.nodeID
			})
			eventually(t, "its services", func() bool {
				list := s.get("/v1/catalog/node-services/" + name)
				return strings.Contains(list, `"own"`) && strings.Contains(list, `"consul"`)
			})
			if got := s.get("/v1/connect/ca/roots"); got != roots {
				t.Errorf("roots\n got %s\nwant %s", got, roots)
			}
		})
	}
}

// TestSnapshotRefused: nothing changes, and nothing is left on the disk.
func TestSnapshotRefused(t *testing.T) {
	s := running(t, "n1")
	dir := t.TempDir()
	s.a.server.snapshots.spool.dir = dir
	s.fill()
	file, want := s.save(), s.content()
	flipped := bytes.Clone(file)
	flipped[len(flipped)/2] ^= 1
	for name, body := range map[string][]byte{
		"empty": nil, "garbage": []byte("garbage"), "cut off": file[:300], "flipped": flipped, "longer": append(bytes.Clone(file), 1),
	} {
		for _, path := range []string{"/v1/snapshot", "/muster/v1/snapshot/compare", "/muster/v1/snapshot/kv?prefix="} {
			if status, _, text := s.do("PUT", path, body); status != 500 || !strings.Contains(string(text), "restore snapshot: ") {
				t.Errorf("%s to %s: %d %s", name, path, status, text)
			}
		}
	}
	if got := s.content(); got != want {
		t.Errorf("changed:\n got %s\nwant %s", got, want)
	}
	if status, _, text := s.do("GET", "/v1/snapshot?dc=nowhere", nil); status != 500 || string(text) != "No path to datacenter" {
		t.Errorf("%d %s", status, text)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
	s.a.server.snapshots.spool.dir += "/none"
	if status, _, text := s.do("GET", "/v1/snapshot", nil); status != 500 || !strings.Contains(string(text), "no such file") {
		t.Errorf("%d %s", status, text)
	}
}

// TestSnapshotKeys restores some keys into a state that goes on.
func TestSnapshotKeys(t *testing.T) {
	s := running(t, "n1")
	for i := range 150 {
		s.put(fmt.Sprintf("/v1/kv/app/%03d", i), "saved")
	}
	s.put("/v1/kv/else", "saved")
	file := s.save()
	s.put("/v1/kv/app/000", "changed")
	s.put("/v1/kv/app/extra", "later")
	s.put("/v1/kv/else", "changed")
	s.do("DELETE", "/v1/kv/app/001", nil)
	merge := func(params string) map[string]any {
		t.Helper()
		var got map[string]any
		if err := json.Unmarshal([]byte(s.put("/muster/v1/snapshot/kv?prefix=app/"+params, string(file))), &got); err != nil {
			t.Fatal(err)
		}
		return got
	}
	counts := func(m map[string]any) string {
		return fmt.Sprint(m["Created"], m["Updated"], m["Unchanged"], m["Deleted"], m["Kept"], m["Transactions"])
	}
	if got := counts(merge("&dry-run")); got != "1 1 148 0 1 0" || s.get("/v1/kv/app/000?raw") != "changed" {
		t.Error("dry run:", got)
	}
	if got := counts(merge("")); got != "1 1 148 0 1 1" || s.get("/v1/kv/app/000?raw") != "saved" || s.get("/v1/kv/app/extra?raw") != "later" {
		t.Error("merge:", got)
	}
	if got := counts(merge("&delete")); got != "0 0 149 1 0 1" && got != "0 0 150 1 0 1" || s.get("/v1/kv/app/extra?raw") != "" {
		t.Error("delete:", got)
	}
	if got := s.get("/v1/kv/else?raw"); got != "changed" {
		t.Error("a key above the prefix:", got)
	}
	var found struct {
		CurrentIndex uint64
		Kinds        []struct {
			Kind             string
			Current, Archive int
		}
	}
	if err := json.Unmarshal([]byte(s.put("/muster/v1/snapshot/compare", string(file))), &found); err != nil || found.CurrentIndex == 0 {
		t.Fatal(found, err)
	}
	for _, k := range found.Kinds {
		if k.Kind == "key" && (k.Current != 151 || k.Archive != 151) {
			t.Errorf("%+v", k)
		}
	}
	if status, _, text := s.do("PUT", "/muster/v1/snapshot/kv", file); status != 400 || !strings.Contains(string(text), "Missing prefix") {
		t.Errorf("%d %s", status, text)
	}
}

// TestSpool: what a crash has left goes at the next start.
func TestSpool(t *testing.T) {
	dir, err := storage.Open(filepath.Join(t.TempDir(), "data"))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	for range 2 {
		s, err := openSpool(dir)
		if err != nil {
			t.Fatal(err)
		}
		if left, err := os.ReadDir(s.dir); err != nil || len(left) > 0 {
			t.Fatal(left, err)
		}
		if err := os.WriteFile(filepath.Join(s.dir, "left"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := s.create()
		if err != nil {
			t.Fatal(err)
		}
		if info, err := f.Stat(); err != nil || info.Mode().Perm() != 0o600 {
			t.Error(info.Mode(), err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if err := s.room(1 << 60); model.KindOf(err) != model.KindUnavailable {
			t.Error("room:", err)
		}
	}
}

// TestSnapshotSessionsEnd: sessions of the restored state have their time, and end
// when it is over, on a leader that had none of them.
func TestSnapshotSessionsEnd(t *testing.T) {
	s := running(t, "n1", config.Setting{Flag: "-hcl", Key: "session_ttl_min", Value: "1s"})
	s.put("/v1/catalog/register", `{"Node":"ext","Address":"10.0.0.9"}`)
	s.put("/v1/session/create", `{"Node":"ext","NodeChecks":[],"TTL":"1s"}`)
	file := s.save()
	eventually(t, "the end of the session", func() bool { return s.get("/v1/session/list") == "[]" })
	s.put("/v1/snapshot", string(file))
	if got := s.get("/v1/session/list"); got == "[]" {
		t.Error("the session was not restored")
	}
	eventually(t, "its end again", func() bool { return s.get("/v1/session/list") == "[]" })
}
