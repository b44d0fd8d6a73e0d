package cli

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWatchLooksOnce(t *testing.T) {
	newFake(t, map[string]any{
		"GET /v1/kv/a":              []any{map[string]any{"Key": "a", "Value": "MQ==", "ModifyIndex": 4}},
		"GET /v1/event/list":        []any{},
		"GET /v1/health/service/db": []any{},
	})
	r := muster("watch", "-type=key", "-key=a")
	if r.code != 0 || !strings.Contains(r.out, `"Key": "a"`) {
		t.Errorf("code %d, printed %q, errors %q", r.code, r.out, r.err)
	}
	muster("watch", "-type=event").want(t, 0, "[]\n")
	muster("watch", "-type=service", "-service=db", "-tag=a", "-tag=b").want(t, 0, "[]\n")
	muster("watch").wantError(t, "-type is missing")
	muster("watch", "-type=nonsense").wantError(t, "nonsense")
	muster("watch", "-type=nodes", "-key=x").wantError(t, "key: not for watches of type nodes")
	muster("watch", "-type=service", "-service=x", "-passingonly=maybe").wantError(t, "true or false")
	t.Setenv("CONSUL_HTTP_ADDR", "127.0.0.1:1")
	muster("watch", "-type=nodes").wantError(t, "No agent answers")
}

// TestWatchRunsHandler: flags behind the handler are the handler's.
func TestWatchRunsHandler(t *testing.T) {
	t.Setenv("SHELL", "")
	a := newFake(t, nil)
	log := filepath.Join(t.TempDir(), "log")
	for _, shell := range []bool{true, false} {
		ctx, cancel := context.WithCancel(context.Background())
		a.handlers = map[string]http.HandlerFunc{"/v1/kv/a": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Consul-Index", "3")
			if r.URL.Query().Get("index") != "" { // the handler has run, and nothing will change
				cancel()
			}
			_, _ = w.Write([]byte(`[{"Key": "a"}]`))
		}}
		var out, errs bytes.Buffer
		f := newFlags(watchCommand, &out, &errs)
		w := &watcher{conn: f.connect(true), shell: shell, params: map[string]any{"type": "key", "key": "a"},
			until: func() (context.Context, context.CancelFunc) { return ctx, cancel }}
		args := []string{"sh", "-c", "(echo $CONSUL_INDEX; cat; echo out; exit 3) | tee -a " + log}
		if shell {
			args = []string{"(echo $CONSUL_INDEX; cat)", "|", "tee", "-a", log, "-i"}
		}
		if code := w.run(args); code != 0 || !strings.HasPrefix(out.String(), `3`+"\n"+`{"Key":"a"`) {
			t.Errorf("code %d, printed %q, errors %q", code, out.String(), errs.String())
		}
	}
	got, err := os.ReadFile(log)
	if err != nil || strings.Count(string(got), `"Key":"a"`) != 2 {
		t.Errorf("the handlers got %q, %v", got, err)
	}
}
