package cli

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// TestSnapshotAgentOnce: one snapshot, old ones go, what is not ours stays.
func TestSnapshotAgentOnce(t *testing.T) {
	serving(t, archive(t))
	dir := t.TempDir()
	for _, name := range []string{"muster-1.snap", "muster-2.snap", "muster-3.snap.tmp", "muster-x.snap", "other.snap", "muster-01.snap"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := muster("snapshot", "agent", "-interval=0", "-retain=2", "-local-path="+dir)
	if r.code != 0 || !strings.Contains(r.out, "saved snapshot ") {
		t.Fatal(r)
	}
	got := names(t, dir)
	newest := slices.DeleteFunc(slices.Clone(got), func(n string) bool { return len(n) < 20 })
	if len(newest) != 1 || !slices.Equal(got, []string{"muster-01.snap", newest[0], "muster-2.snap", "muster-x.snap", "other.snap"}) {
		t.Error(got)
	}
	if r := muster("snapshot", "verify", filepath.Join(dir, newest[0])); r.code != 0 {
		t.Error(r)
	}
}

// lockable is an agent with as much of locks as one snapshot agent needs.
func lockable(t *testing.T, file []byte) *fakeAgent {
	a := serving(t, file)
	var mu sync.Mutex
	held := ""
	a.answers["PUT /v1/session/create"] = map[string]any{"ID": "s1"}
	a.answers["PUT /v1/session/destroy/s1"] = true
	a.answers["PUT /v1/session/renew/s1"] = []any{map[string]any{"ID": "s1"}}
	a.answers["PUT /v1/agent/service/register"] = nil
	a.handlers["/v1/kv/muster-snapshot/lock"] = func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case r.Method == http.MethodPut && r.URL.Query().Has("acquire"):
			held = r.URL.Query().Get("acquire")
			_, _ = w.Write([]byte("true"))
		case r.Method == http.MethodPut:
			held = ""
			_, _ = w.Write([]byte("true"))
		default:
			if r.URL.Query().Get("index") == "2" { // the lock's watch
				mu.Unlock()
				select {
				case <-r.Context().Done():
				case <-time.After(time.Second):
				}
				mu.Lock()
			}
			w.Header().Set("X-Consul-Index", "2")
			if held == "" {
				http.NotFound(w, r)
				return
			}
			_ = json.NewEncoder(w).Encode([]any{map[string]any{"Key": "muster-snapshot/lock", "Session": held, "Flags": uint64(0x2ddccbc058a50c18)}})
		}
	}
	return a
}

// TestSnapshotAgentRuns: it takes the lock, saves more than once, and gives it back.
func TestSnapshotAgentRuns(t *testing.T) {
	a := lockable(t, archive(t))
	dir, out := t.TempDir(), &strings.Builder{}
	f := newFlags(snapshotAgentCommand, out, out)
	ctx, cancel := context.WithCancel(t.Context())
	agent := &snapshotAgent{f: f, flagged: defaultAgentSettings(), until: func() (context.Context, context.CancelFunc) { return ctx, cancel }}
	f.DurationVar(&agent.flagged.interval, "interval", 0, "")
	f.StringVar(&agent.flagged.path, "local-path", "", "")
	agent.conn = f.connect(true)
	if err := f.Parse([]string{"-interval=1s", "-local-path=" + dir}); err != nil {
		t.Fatal(err)
	}
	done := make(chan int)
	go func() { done <- agent.run(nil) }()
	deadline := time.After(20 * time.Second)
	for tick := time.NewTicker(20 * time.Millisecond); len(names(t, dir)) < 2; {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%v\n%s", names(t, dir), out)
		}
	}
	cancel()
	if code := <-done; code != 0 {
		t.Errorf("exit code %d: %s", code, out)
	}
	a.mu.Lock()
	asked := strings.Join(a.asked, "\n")
	a.mu.Unlock()
	for _, want := range []string{"acquire=s1", "release=s1", "PUT /v1/agent/service/register", "PUT /v1/agent/service/deregister/"} {
		if !strings.Contains(asked, want) {
			t.Errorf("%s is missing in:\n%s", want, asked)
		}
	}
}

func TestSnapshotAgentSettings(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := write("a.json", `{"snapshot_agent": {"http_addr": "10.0.0.1:1", "token": "file", "log": {"level": "warn"},
		"snapshot": {"interval": "5m", "retain": 7, "stale": true, "service": "s", "deregister_after": "8h", "lock_key": "k", "max_failures": 2},
		"local_storage": {"path": "`+dir+`"}}}`)
	f := newFlags(snapshotAgentCommand, os.Stdout, os.Stderr)
	a := &snapshotAgent{f: f, flagged: defaultAgentSettings(), files: []string{good}}
	f.IntVar(&a.flagged.retain, "retain", 0, "")
	a.conn = f.connect(true)
	if err := f.Parse([]string{"-retain=9", "-token=flag"}); err != nil {
		t.Fatal(err)
	}
	c, err := a.settings()
	want := agentSettings{interval: 5 * time.Minute, retain: 9, path: dir, lockKey: "k", service: "s",
		deregisterAfter: 8 * time.Hour, maxFailures: 2, stale: true, logLevel: "warn"}
	if err != nil || *c != want {
		t.Errorf("%v\n got %+v\nwant %+v", err, c, want)
	}
	if a.conn.addr != "10.0.0.1:1" || a.conn.token != "flag" || !a.conn.stale {
		t.Errorf("%+v", a.conn)
	}
	newFake(t, nil)
	for text, want := range map[string]string{
		`{}`: "no object",
		`{"snapshot_agent": {"aws_storage": {"s3_bucket": "b"}}}`:       "local folder only",
		`{"snapshot_agent": {"snapshot": {"intervall": "1h"}}}`:         "intervall",
		`{"snapshot_agent": {"snapshot": {"interval": 3}}}`:             "no time",
		`{"snapshot_agent": {"snapshot": {"interval": "1ms"}}}`:         "at least 1s",
		`{"snapshot_agent": {"local_storage": {"path": "/nowhere/x"}}}`: "no such file",
	} {
		muster("snapshot", "agent", "-config-file="+write("b.json", text)).wantError(t, want)
	}
	muster("snapshot", "agent", "-config-dir="+dir+"/none").wantError(t, "no such folder")
	muster("snapshot", "agent", "-max-failures=0").wantError(t, "at least 1")
}
