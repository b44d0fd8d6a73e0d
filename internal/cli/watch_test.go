package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWatchLooksOnce(t *testing.T) {
	newFake(t, map[string]any{
		"GET /v1/status/leader": "10.0.0.1:8300",
		"GET /v1/kv/a":          []any{map[string]any{"Key": "a", "Value": "MQ==", "ModifyIndex": 4}},
	})
	r := muster("watch", "-type=key", "-key=a")
	if r.code != 0 || !strings.Contains(r.out, `"Key": "a"`) {
		t.Errorf("code %d, printed %q, errors %q", r.code, r.out, r.err)
	}
	muster("watch").wantError(t, "-type is missing")
	muster("watch", "-type=nonsense").wantError(t, "nonsense")
	muster("watch", "-type=service", "-service=x", "-passingonly=maybe").wantError(t, "true or false")
}

// TestWatchRunsHandlerForNews: a wake-up with the same result runs nothing.
func TestWatchRunsHandlerForNews(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	var out, errs bytes.Buffer
	f := newFlags(watchCommand, &out, &errs)
	for _, shell := range []bool{true, false} {
		w := &watcher{conn: &connection{f: f}, shell: shell}
		args := []string{"sh", "-c", "(echo $CONSUL_INDEX; cat) >> " + log}
		if shell {
			args = []string{"(echo $CONSUL_INDEX; cat)", ">>", log}
		}
		w.deliver(args, 3, []byte(`"one"`))
		w.deliver(args, 4, []byte(`"one"`))
		w.deliver(args, 5, []byte(`"two"`))
	}
	got, err := os.ReadFile(log)
	if want := strings.Repeat("3\n\"one\"\n5\n\"two\"\n", 2); err != nil || string(got) != want {
		t.Errorf("the handler got %q, %v; want %q; %s", got, err, want, errs.String())
	}
	w := &watcher{conn: &connection{f: f}, shell: true}
	w.deliver([]string{"exit 3"}, 1, []byte("1"))
	if !strings.Contains(errs.String(), "exit status 3") {
		t.Errorf("a handler that failed is not told about: %q", errs.String())
	}
}
