package cli

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// newImportFake is an agent that has one key and an agent's node, and takes what it is
// given in transactions.
func newImportFake(t *testing.T) *fakeAgent {
	a := newFake(t, map[string]any{
		"GET /v1/status/leader":           "127.0.0.1:8300",
		"GET /v1/catalog/nodes":           []any{map[string]any{"Node": "n1"}},
		"GET /v1/catalog/node/n1":         map[string]any{"Node": map[string]any{"Node": "n1"}, "Services": map[string]any{}},
		"GET /v1/health/node/n1":          []any{map[string]any{"Node": "n1", "CheckID": "serfHealth"}},
		"GET /v1/query":                   []any{},
		"GET /v1/session/list":            []any{map[string]any{"ID": "s"}},
		"GET /v1/config/service-defaults": []any{},
	})
	a.handlers = map[string]http.HandlerFunc{
		"/v1/kv/": func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode([]string{"app/a"}) },
		"/v1/txn": func(w http.ResponseWriter, _ *http.Request) {
			_ = json.NewEncoder(w).Encode(map[string]any{"Results": []any{
				map[string]any{"KV": map[string]any{"Key": "app/a", "Flags": 7, "Value": []byte("v"), "ModifyIndex": 5}}}})
		},
	}
	return a
}

func TestExport(t *testing.T) {
	newImportFake(t)
	file := filepath.Join(t.TempDir(), "all.jsonl")
	r := muster("export", file)
	if r.code != 0 || r.err != "Exported 0 nodes, 0 services, 0 checks, 0 queries, 1 keys\n" {
		t.Fatal(r)
	}
	data, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(data), `{"kind":"key","key":{"key":"app/a","flags":7,"value":"dg=="}}`) ||
		!strings.HasSuffix(string(data), `{"kind":"end","records":3}`+"\n") {
		t.Fatalf("%v\n%s", err, data)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info.Mode(), err)
	}
	if out := muster("export").out; strings.Count(out, "\n") != 5 {
		t.Errorf("%s", out)
	}
	muster("export", "a", "b").wantError(t, "one FILE")

	state := filepath.Join(t.TempDir(), "state")
	r = muster("import", "file", "-state-file="+state, "-format=json", file)
	if r.code != 0 || !strings.Contains(r.out, `"unchanged": 1`) {
		t.Fatal(r)
	}
	if _, err := os.Stat(state); !os.IsNotExist(err) {
		t.Error("the state stays:", err)
	}
	if err := os.WriteFile(file, data[:len(data)-10], 0o600); err != nil {
		t.Fatal(err)
	}
	if r := muster("import", "file", "-state-file="+state, file); r.code != 1 || !strings.Contains(r.err, "line 5") || !strings.Contains(r.err, "The same command goes on") {
		t.Error(r)
	}
	if r := muster("import", "file", "-state-file="+state, "none"); r.code != 1 || !strings.Contains(r.err, "none") {
		t.Error(r)
	}
}

func TestImportConsulRefusals(t *testing.T) {
	newImportFake(t)
	muster("import", "consul").wantError(t, "-from-http-addr is missing")
	muster("import", "consul", "-from-http-addr="+os.Getenv("CONSUL_HTTP_ADDR")).wantError(t, "the same agent")
	muster("import", "consul", "-from-http-addr=127.0.0.1:1").wantError(t, "No agent answers at 127.0.0.1:1")
	muster("import", "consul", "-from-http-addr=x", "-workers=0").wantError(t, "-workers")
	muster("import", "consul", "-from-http-addr=x", "y").wantError(t, "unexpected argument")
}

func TestProgress(t *testing.T) {
	var out bytes.Buffer
	done, total := 0, 0
	p := &progress{w: &out, ask: func() (string, int, int) { return "keys", done, total }, every: time.Hour}
	done, total = 5, -1
	p.tell()
	total = 10
	p.tell()
	if out.String() != "keys: 5\nkeys: 5 of 10\n" {
		t.Errorf("%q", out.String())
	}
	out.Reset()
	p.bar = true
	p.tell()
	if want := "\r\x1b[K[" + strings.Repeat("=", 15) + strings.Repeat(" ", 15) + "] keys: 5 of 10"; out.String() != want {
		t.Errorf("%q", out.String())
	}
	quick := startProgress(&out, p.ask)
	quick.stop()
}
