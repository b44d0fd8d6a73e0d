package cli

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSnapshotRestore(t *testing.T) {
	path := saved(t)
	a := serving(t, nil)
	muster("snapshot", "restore", path).want(t, 0, "Restored snapshot\n")
	if got := strings.Join(a.asked, "\n"); got != "PUT /v1/snapshot" {
		t.Error(got)
	}
	answer := func(v any) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(v) }
	}
	a.handlers["/muster/v1/snapshot/compare"] = answer(map[string]any{
		"ID": "2-5-1", "Index": 5, "Node": "n1", "Datacenter": "dc1", "Time": "2026-01-02T03:04:05.6Z", "CurrentIndex": 9,
		"Kinds": []any{map[string]any{"Kind": "node", "Current": 2, "Archive": 1}, map[string]any{"Kind": "key", "Archive": 3}},
	})
	a.handlers["/muster/v1/snapshot/kv"] = answer(map[string]any{"Prefix": "app/", "Created": 1, "Updated": 2, "Unchanged": 3, "Deleted": 4, "Kept": 5})
	muster("snapshot", "restore", "-dry-run", path).want(t, 0, `Snapshot 2-5-1 of index 5, saved 2026-01-02 03:04:05Z on n1, datacenter dc1, is whole and can be restored.
It would replace the state of index 9:

Kind  Now  Snapshot
node  2    1
key   0    3
`)
	muster("snapshot", "restore", "-kv-prefix=app/", "-delete", path).want(t, 0,
		"Restored keys below \"app/\": 1 created, 2 updated, 3 unchanged, 4 deleted, 5 kept that the snapshot does not have\n")
	if got := a.asked[len(a.asked)-1]; got != "PUT /muster/v1/snapshot/kv?delete=true&dry-run=false&prefix=app%2F" {
		t.Error(got)
	}
	muster("snapshot", "restore", "-delete", path).wantError(t, "-delete needs -kv-prefix")
	a.handlers["/v1/snapshot"] = func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no cluster leader", 500) }
	muster("snapshot", "restore", path).wantError(t, "no cluster leader", "500")
}

func TestSnapshotRestoreLooksFirst(t *testing.T) {
	a := serving(t, nil)
	path := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(path, []byte("garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	muster("snapshot", "restore", path).wantError(t, "not compressed by gzip")
	muster("snapshot", "restore", path+"y").wantError(t, "no such file")
	if len(a.asked) > 0 {
		t.Error(a.asked)
	}
}
