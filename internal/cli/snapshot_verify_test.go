package cli

import (
	"os"
	"strings"
	"testing"
)

func TestSnapshotVerify(t *testing.T) {
	path := saved(t)
	r := muster("snapshot", "verify", path)
	if r.code != 0 || !strings.Contains(r.out, ": verified, index 5, ") {
		t.Error(r)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file[len(file)/2] ^= 1
	bad := path + ".bad"
	if err := os.WriteFile(bad, file, 0o600); err != nil {
		t.Fatal(err)
	}
	r = muster("snapshot", "verify", path, bad)
	if r.code != 1 || !strings.Contains(r.out, "verified") || !strings.Contains(r.err, bad+": not a whole snapshot") {
		t.Error(r)
	}
	muster("snapshot", "verify").wantError(t, "FILE is missing")
}
