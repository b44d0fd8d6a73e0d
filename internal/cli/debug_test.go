package cli

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func debugged(t *testing.T, enabled bool) *fakeAgent {
	a := newFake(t, map[string]any{
		"GET /v1/agent/self":    map[string]any{"Config": map[string]any{"NodeName": "n1"}, "DebugConfig": map[string]any{"EnableDebug": enabled}},
		"GET /v1/agent/host":    map[string]any{"Host": map[string]any{"os": "linux"}},
		"GET /v1/agent/members": []any{map[string]any{"Name": "n1"}},
		"GET /v1/agent/metrics": map[string]any{"Timestamp": "now"},
	})
	profile := func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte("profile")) }
	a.handlers = map[string]http.HandlerFunc{
		"/debug/pprof/heap": profile, "/debug/pprof/goroutine": profile, "/debug/pprof/profile": profile, "/debug/pprof/trace": profile,
		"/v1/agent/monitor": func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte("a line\n")) },
	}
	return a
}

// unpack reads an archive, files without the folder that they are in.
func unpack(t *testing.T, path string) map[string]string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	zip, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for in := tar.NewReader(zip); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return got
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		name, ok := strings.CutPrefix(h.Name, "d/")
		if !ok {
			t.Errorf("%s is not below d", h.Name)
		}
		got[name] = string(data)
	}
}

func TestDebugLooksOnce(t *testing.T) {
	debugged(t, true)
	out := filepath.Join(t.TempDir(), "d")
	r := muster("debug", "-duration=0", "-output="+out)
	if r.code != 0 || !strings.Contains(r.out, "Saved debug archive: "+out+".tar.gz\n") || r.err != "" {
		t.Fatalf("%+v", r)
	}
	got := unpack(t, out+".tar.gz")
	if want := []string{"1/goroutine.prof", "1/heap.prof", "agent.json", "host.json", "index.json", "members.json", "metrics.json"}; !slices.Equal(sortedNames(got), want) {
		t.Errorf("files %v, want %v", sortedNames(got), want)
	}
	for name, text := range got {
		if strings.HasSuffix(name, ".json") && !json.Valid([]byte(text)) {
			t.Errorf("%s: %s", name, text)
		}
	}
	if again := muster("debug", "-duration=0", "-output="+out); again.code != 1 || !strings.Contains(again.err, "exists") {
		t.Errorf("overwritten: %+v", again)
	}
}

func TestDebugTellsWhatIsMissing(t *testing.T) {
	a := debugged(t, false)
	delete(a.answers, "GET /v1/agent/host")
	out := filepath.Join(t.TempDir(), "d")
	r := muster("debug", "-duration=0", "-archive=false", "-output="+out)
	if r.code != 0 || !strings.Contains(r.err, "Missing: host.json: ") || !strings.Contains(r.err, "Missing: pprof: the agent runs without enable_debug\n") {
		t.Errorf("%+v", r)
	}
	index, err := os.ReadFile(filepath.Join(out, "index.json"))
	if err != nil || !strings.Contains(string(index), "enable_debug") {
		t.Errorf("%v: %s", err, index)
	}
}

func TestDebugWatchesForAWhile(t *testing.T) {
	debugged(t, true)
	out := filepath.Join(t.TempDir(), "d")
	if r := muster("debug", "-duration=1s", "-interval=1s", "-capture=logs", "-capture=pprof", "-output="+out); r.code != 0 {
		t.Fatalf("%+v", r)
	}
	got := unpack(t, out+".tar.gz")
	if got["muster.log"] != "a line\n" || got["profile.prof"] != "profile" || got["trace.out"] != "profile" || got["agent.json"] != "" {
		t.Errorf("%v", got)
	}
}

func TestDebugInterruptedKeepsWhatItHas(t *testing.T) {
	debugged(t, true)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	out := &strings.Builder{}
	f := newFlags(debugCommand, out, out)
	d := &debug{
		conn: f.connect(false), duration: time.Hour, interval: time.Minute, capture: list{"metrics"}, archive: true,
		output: filepath.Join(t.TempDir(), "d"), now: time.Now,
		until: func() (context.Context, context.CancelFunc) { return ctx, cancel },
	}
	if code := d.run(nil); code != 0 || unpack(t, d.result())["metrics.json"] == "" {
		t.Errorf("exit code %d: %s", code, out)
	}
}

func TestDebugMistakes(t *testing.T) {
	newFake(t, nil)
	for args, want := range map[string]string{
		"-capture=everything":       "want one of agent, host, logs",
		"-duration=1s -interval=2s": "-duration must be longer than -interval",
		"-interval=1ms":             "-interval must be at least 1s",
		"-duration=-1s":             "must not be negative",
		"":                          "asking the agent: no such thing here",
	} {
		muster(words("debug "+args)...).wantError(t, want)
	}
}
