package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// TestWatchesInFiles: a handler runs for what is news to it, over reloads, too.
func TestWatchesInFiles(t *testing.T) {
	t.Parallel()
	var posts atomic.Int32
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Consul-Index") != "" && r.Method == http.MethodPost {
			posts.Add(1)
		}
	}))
	defer hook.Close()
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	key := map[string]any{"type": "key", "key": "a", "args": []string{"/bin/sh", "-c", `echo "$CONSUL_INDEX $(cat)" >> ` + log}}
	posting := map[string]any{"type": "keyprefix", "prefix": "p/", "handler_type": "http", "http_handler_config": map[string]any{"path": hook.URL}}
	conf := filepath.Join(dir, "watches.json")
	configure := func(watches ...any) {
		t.Helper()
		data, err := json.Marshal(map[string]any{"watches": watches})
		if err == nil {
			err = os.WriteFile(conf, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	configure(key)
	a := newAgent(t, "n1", map[string]any{"data_dir": filepath.Join(dir, "data")}, "-server", "-bootstrap-expect=1", "-config-file", conf)
	a.start()
	a.ready()
	ran := func(n int) []string {
		t.Helper()
		var lines []string
		eventually(t, fmt.Sprintf("the handler runs %d times", n), func() error {
			data, _ := os.ReadFile(log)
			if lines = strings.Split(strings.TrimSpace(string(data)), "\n"); len(lines) != n || lines[0] == "" {
				return fmt.Errorf("ran %q", lines)
			}
			return nil
		})
		return lines
	}
	ran(1)
	if err := a.put("/v1/kv/a", 1); err != nil {
		t.Fatal(err)
	}
	if last := ran(2)[1]; !strings.Contains(last, `"Key":"a"`) || !strings.Contains(last, `"Value":"MQ=="`) {
		t.Errorf("the handler got %q", last)
	}

	configure(posting, key)
	a.cmd.Process.Signal(syscall.SIGHUP)
	posted := func(n int32) {
		t.Helper()
		eventually(t, fmt.Sprintf("%d posts", n), func() error {
			if got := posts.Load(); got != n {
				return fmt.Errorf("%d posts", got)
			}
			return nil
		})
	}
	posted(1) // the watch that came with the reload
	if err := a.put("/v1/kv/p/x", 1); err != nil {
		t.Fatal(err)
	}
	posted(2)
	ran(2) // the one that was there did not run for the reload

	configure(posting)
	a.cmd.Process.Signal(syscall.SIGHUP)
	eventually(t, "the reload", func() error {
		if strings.Count(a.output.String(), "configuration reloaded") != 2 {
			return fmt.Errorf("not yet")
		}
		return nil
	})
	for path, n := range map[string]int32{"/v1/kv/a": 2, "/v1/kv/p/y": 3} {
		if err := a.put(path, 2); err != nil {
			t.Fatal(err)
		}
		if n > 2 {
			posted(n)
		}
	}
	ran(2) // it is gone
}
