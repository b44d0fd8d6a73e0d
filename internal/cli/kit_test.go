package cli

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs:\ngot:\n%s\nwant:\n%s", file, got, want)
	}
}

// fakeAgent answers with fixed JSON by method and path, and keeps what it was asked.
type fakeAgent struct {
	t       *testing.T
	mu      sync.Mutex     // a command may ask several things at once
	answers map[string]any // "GET /v1/..." with the escaped path
	asked   []string       // method, URI and body
	header  http.Header    // of the last request

	handlers map[string]http.HandlerFunc // by path, before answers
}

func (a *fakeAgent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		a.t.Error(err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if h, ok := a.handlers[r.URL.Path]; ok {
		a.asked = append(a.asked, r.Method+" "+r.RequestURI)
		a.mu.Unlock() // it may answer for long
		defer a.mu.Lock()
		h(w, r)
		return
	}
	a.asked = append(a.asked, strings.TrimSpace(r.Method+" "+r.RequestURI+" "+string(body)))
	a.header = r.Header
	answer, ok := a.answers[r.Method+" "+r.URL.EscapedPath()]
	if !ok {
		http.Error(w, "no such thing here", http.StatusNotFound)
		return
	}
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		a.t.Error(err)
	}
}

// newFake starts a fake agent and points the environment to it.
func newFake(t *testing.T, answers map[string]any) *fakeAgent {
	t.Helper()
	for _, e := range os.Environ() {
		if name, _, _ := strings.Cut(e, "="); strings.HasPrefix(name, "CONSUL_") || strings.HasPrefix(name, "MUSTER_") {
			t.Setenv(name, "")
		}
	}
	a := &fakeAgent{t: t, answers: answers}
	s := httptest.NewServer(a)
	t.Cleanup(s.Close)
	t.Setenv("CONSUL_HTTP_ADDR", s.URL)
	return a
}

type result struct {
	code     int
	out, err string
}

func muster(args ...string) result {
	var out, errs bytes.Buffer
	code := Run(args, &out, &errs)
	return result{code, out.String(), errs.String()}
}

func (r result) want(t *testing.T, code int, out string) {
	t.Helper()
	if r.code != code || r.out != out {
		t.Errorf("exit code %d, want %d; output:\n%s\nwant:\n%s\nerrors: %s", r.code, code, r.out, out, r.err)
	}
}

func (r result) wantError(t *testing.T, parts ...string) {
	t.Helper()
	if r.code != 1 || r.out != "" {
		t.Errorf("exit code %d, output %q", r.code, r.out)
	}
	for _, p := range parts {
		if !strings.Contains(r.err, p) {
			t.Errorf("%q is missing in: %s", p, r.err)
		}
	}
}

// words splits a command line at its spaces.
func words(line string) []string { return strings.Fields(line) }
