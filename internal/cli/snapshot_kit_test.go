package cli

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/muster-discovery/muster/internal/fsm"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/snapshot"
	"github.com/muster-discovery/muster/internal/state"
)

// archive is a snapshot of a node and three keys.
func archive(t *testing.T) []byte {
	t.Helper()
	m := fsm.New(state.New(), func([]model.Topic) {})
	ops := []any{&model.Registration{Node: model.Node{Name: "n1", Address: "10.0.0.1"}}}
	for _, key := range []string{"app/a/1", "app/a/2", "b"} {
		ops = append(ops, &model.KVOp{Verb: model.KVSet, Key: key, Value: make([]byte, 2000)})
	}
	for _, op := range ops {
		b, err := fsm.Encode(&fsm.Command{Op: op})
		if err != nil {
			t.Fatal(err)
		}
		m.Apply([][]byte{b})
	}
	a, err := snapshot.Prepare(snapshot.Meta{Term: 2, Node: "n1", Datacenter: "dc1", Time: time.UnixMilli(1700000000000), Muster: "1.0"}, m.Image())
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := a.WriteTo(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// saved is the archive as a file.
func saved(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "backup.snap")
	if err := os.WriteFile(path, archive(t), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// serving is an agent that answers with a file where snapshots are saved.
func serving(t *testing.T, file []byte) *fakeAgent {
	a := newFake(t, map[string]any{"GET /v1/agent/self": map[string]any{
		"Config": map[string]any{"Version": "1.21.4", "Datacenter": "dc1", "NodeName": "n1"},
		"Stats":  map[string]any{"consul": map[string]any{"leader": "true"}},
	}})
	a.handlers = map[string]http.HandlerFunc{"/v1/snapshot": func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_, _ = w.Write(file)
		}
	}}
	return a
}
