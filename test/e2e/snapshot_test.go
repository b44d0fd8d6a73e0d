package e2e

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

func (a *agent) raw(method, path string, body []byte) (*http.Response, []byte, error) {
	req, err := http.NewRequest(method, a.url(path), bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, data)
	}
	return resp, data, err
}

// snapshotLoad writes keys through all agents, until it is stopped.
type snapshotLoad struct {
	stop   chan struct{}
	group  sync.WaitGroup
	acked  atomic.Int64
	failed atomic.Int64
	mu     sync.Mutex
	keys   map[string]bool
}

func loadWhile(agents []*agent, name string) *snapshotLoad {
	l := &snapshotLoad{stop: make(chan struct{}), keys: map[string]bool{}}
	for w, a := range agents {
		l.group.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-l.stop:
					return
				default:
				}
				key := fmt.Sprintf("load/%s/%d/%d", name, w, i)
				if _, _, err := a.raw("PUT", "/v1/kv/"+key, []byte(key)); err != nil {
					l.failed.Add(1)
					continue
				}
				l.mu.Lock()
				l.keys[key] = true
				l.mu.Unlock()
				l.acked.Add(1)
			}
		})
	}
	return l
}

func (l *snapshotLoad) end() {
	close(l.stop)
	l.group.Wait()
}

// confirmed are the keys whose writes were acknowledged so far.
func (l *snapshotLoad) confirmed() map[string]bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	keys := make(map[string]bool, len(l.keys))
	for k := range l.keys {
		keys[k] = true
	}
	return keys
}

func (l *snapshotLoad) await(t *testing.T, n int64) {
	t.Helper()
	eventually(t, "writes under load", func() error {
		if got := l.acked.Load(); got < n {
			return fmt.Errorf("%d acknowledged", got)
		}
		return nil
	})
}

func (a *agent) lock(t *testing.T, session, key string) uint64 {
	t.Helper()
	resp, _, err := a.raw("PUT", "/v1/kv/"+key+"?acquire="+session, nil)
	if err != nil {
		t.Fatal(err)
	}
	var n uint64
	if _, err := fmt.Sscan(resp.Header.Get("X-Muster-Fencing-Token"), &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// content is what one server itself has of what was registered from outside.
func (a *agent) content() (string, error) {
	var all strings.Builder
	for _, path := range []string{"/v1/kv/?recurse", "/v1/catalog/service/web", "/v1/session/list", "/v1/catalog/nodes"} {
		_, data, err := a.raw("GET", path+sep(path)+"stale", nil)
		if err != nil {
			return "", err
		}
		all.Write(data)
	}
	return all.String(), nil
}

func sep(path string) string {
	if strings.Contains(path, "?") {
		return "&"
	}
	return "?"
}

// TestSnapshotAcrossClusters: saved under load, restored into another cluster under
// load. Its servers have the same names and other ids.
func TestSnapshotAcrossClusters(t *testing.T) {
	first := cluster(t)
	if err := first[0].register("ext"); err != nil {
		t.Fatal(err)
	}
	_, data, err := first[0].raw("PUT", "/v1/session/create", []byte(`{"Node":"ext","NodeChecks":[],"TTL":"1h"}`))
	if err != nil {
		t.Fatal(err)
	}
	var session struct{ ID string }
	if err := json.Unmarshal(data, &session); err != nil {
		t.Fatal(err)
	}
	token := first[0].lock(t, session.ID, "lock")
	writes := loadWhile(first, "first")
	writes.await(t, 300)
	file := filepath.Join(t.TempDir(), "backup.snap")
	for _, a := range first { // followers have the leader save
		before := writes.confirmed()
		if out, err := a.muster("snapshot", "save", file); err != nil || !strings.HasPrefix(out, "Saved and verified snapshot to index ") {
			t.Fatalf("%v: %s", err, out)
		}
		held := keysIn(t, file)
		for key := range before {
			if !held[key] {
				t.Fatalf("%s was acknowledged before the snapshot was asked for, and is not in it", key)
			}
		}
	}
	writes.end()
	if n := writes.failed.Load(); n > 0 {
		t.Errorf("%d writes failed while snapshots were taken", n)
	}
	var kept []struct{ ModifyIndex uint64 }
	if err := first[0].get("/v1/kv/lock", &kept); err != nil {
		t.Fatal(err)
	}
	for _, a := range first {
		a.stop(syscall.SIGTERM)
	}

	second := cluster(t)
	writes = loadWhile(second, "second")
	writes.await(t, 100)
	if out, err := second[1].muster("snapshot", "restore", "-dry-run", file); err != nil || !strings.Contains(out, "can be restored") {
		t.Fatalf("%v: %s", err, out)
	}
	woken := make(chan error, len(second))
	for _, a := range second { // each on its own server, on a key that is going to vanish
		if _, _, err := a.raw("PUT", "/v1/kv/gone/"+a.name, nil); err != nil {
			t.Fatal(err)
		}
		resp, _, err := a.raw("GET", "/v1/kv/gone/"+a.name, nil)
		if err != nil {
			t.Fatal(err)
		}
		index := resp.Header.Get("X-Consul-Index")
		go func() {
			resp, _, err := a.raw("GET", "/v1/kv/gone/"+a.name+"?stale&wait=60s&index="+index, nil)
			if resp != nil && resp.StatusCode == http.StatusNotFound && resp.Header.Get("X-Consul-Index") != index {
				err = nil
			} else if err == nil {
				err = errors.New("it is still there")
			}
			woken <- err
		}()
	}
	start := time.Now()
	if out, err := second[2].muster("snapshot", "restore", file); err != nil || out != "Restored snapshot\n" {
		t.Fatalf("%v: %s", err, out)
	}
	t.Logf("restored in %v", time.Since(start))
	for range second {
		select {
		case err := <-woken:
			if err != nil {
				t.Error("watcher:", err)
			}
		case <-time.After(deadline):
			t.Fatal("a watcher was not woken")
		}
	}
	if _, _, err := second[0].raw("PUT", "/v1/kv/after", nil); err != nil {
		t.Fatal(err)
	}
	writes.end()
	t.Logf("%d writes, %d failed during the restore", writes.acked.Load(), writes.failed.Load())
	var got []struct{ ModifyIndex uint64 }
	if err := second[0].get("/v1/kv/lock?consistent", &got); err != nil || got[0] != kept[0] {
		t.Errorf("index of a key: %v, %v; want %v", got, err, kept)
	}
	if again := second[1].lock(t, session.ID, "lock2"); again <= token {
		t.Errorf("fencing token %d after %d", again, token)
	}
	eventually(t, "all servers have the same, with the new servers alone", func() error {
		want, err := second[0].content()
		if err != nil {
			return err
		}
		for _, a := range second[1:] {
			if have, err := a.content(); err != nil || have != want {
				return fmt.Errorf("%s differs: %v", a.name, err)
			}
		}
		ids := map[string]bool{}
		for _, a := range second {
			var self struct{ Config struct{ NodeID string } }
			if err := a.get("/v1/agent/self", &self); err != nil {
				return err
			}
			ids[self.Config.NodeID] = true
		}
		var nodes []struct{ ID, Node string }
		if err := second[0].get("/v1/catalog/nodes", &nodes); err != nil || len(nodes) != 4 {
			return fmt.Errorf("%v, %v", nodes, err)
		}
		for _, n := range nodes {
			if n.Node != "ext" && !ids[n.ID] {
				return fmt.Errorf("node %s has id %s", n.Node, n.ID)
			}
		}
		list, err := second[0].passing("consul")
		if err == nil && len(list) != 3 {
			err = fmt.Errorf("%d servers passing", len(list))
		}
		return err
	})
	// What the second cluster acknowledged after the restore is there; what it had
	// before is gone with the rest of its state.
	var after []any
	if err := second[2].get("/v1/kv/after?consistent", &after); err != nil || len(after) != 1 {
		t.Errorf("%v, %v", after, err)
	}
}

// keysIn are the keys of the load in a snapshot.
func keysIn(t *testing.T, file string) map[string]bool {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zip, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for in := tar.NewReader(zip); ; {
		h, err := in.Next()
		if err != nil {
			t.Fatal(err)
		}
		if h.Name != "state.bin" {
			continue
		}
		data, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		held := map[string]bool{}
		for _, part := range bytes.Split(data, []byte("load/first/"))[1:] {
			end := bytes.IndexFunc(part, func(r rune) bool { return r != '/' && (r < '0' || r > '9') })
			held["load/first/"+string(part[:max(end, 0)])] = true
		}
		return held
	}
}
