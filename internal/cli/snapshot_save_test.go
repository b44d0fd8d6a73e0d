package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSnapshotSave(t *testing.T) {
	file := archive(t)
	a := serving(t, file)
	dir := t.TempDir()
	path := filepath.Join(dir, "backup.snap")
	muster("snapshot", "save", "-stale", path).want(t, 0, "Saved and verified snapshot to index 5\n")
	if got := strings.Join(a.asked, " "); !strings.Contains(got, "GET /v1/snapshot?stale=") {
		t.Error(got)
	}
	muster("snapshot", "save", "-append-filename=version,dc,node,status", path).want(t, 0, "Saved and verified snapshot to index 5\n")
	for _, name := range []string{"backup.snap", "backup-1.21.4-dc1-n1-leader.snap"} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !bytes.Equal(got, file) {
			t.Errorf("%s: %v", name, err)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestSnapshotSaveFails(t *testing.T) {
	file := archive(t)
	file[len(file)/2] ^= 1
	serving(t, file)
	path := filepath.Join(t.TempDir(), "backup.snap")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	muster("snapshot", "save", path).wantError(t, "can't be read back")
	if got, _ := os.ReadFile(path); string(got) != "old" {
		t.Errorf("%q", got)
	}
	if _, err := os.Stat(path + ".tmp"); !os.IsNotExist(err) {
		t.Error("the unfinished file is still there")
	}
	muster("snapshot", "save").wantError(t, "it takes one FILE")
	muster("snapshot", "save", "-append-filename=color", path).wantError(t, "want version, dc, node, status")
	newFake(t, nil)
	muster("snapshot", "save", path).wantError(t, "no such thing here")
}
