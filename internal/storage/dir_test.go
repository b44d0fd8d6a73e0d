package storage

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/uuid"
)

func TestOpenCreates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b")
	d, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	id, err := d.NodeID()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := uuid.Parse(id); err != nil {
		t.Errorf("node id %q: %v", id, err)
	}
	if again, err := d.NodeID(); again != id || err != nil {
		t.Errorf("node id %q, then %q, %v", id, again, err)
	}
	info, err := os.Stat(d.Path(nodeIDFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode of node id: %v, %v", info.Mode(), err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	// A second start finds the same node.
	if d, err = Open(path); err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if again, err := d.NodeID(); again != id || err != nil {
		t.Errorf("node id %q, after the restart %q, %v", id, again, err)
	}
}

func TestOpenRefuses(t *testing.T) {
	tests := []struct {
		name  string
		files map[string]string // a name with a slash at its end is a directory
		want  []string
	}{
		{"newer format", map[string]string{formatFile: "muster data format 9\n"}, []string{"format 9", "up to 1", "newer version"}},
		{"stray format", map[string]string{formatFile: "hello"}, []string{"format", "backup"}},
		{"Consul server", map[string]string{"raft/": "", "node-id": "x", "serf/": ""}, []string{"Consul", "muster import consul"}},
		{"Consul client", map[string]string{"serf/": "", "checkpoint-signature": "x"}, []string{"Consul", "muster import consul"}},
		{"Consul before serf", map[string]string{"node-id": "x"}, []string{"Consul", "muster import consul"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := t.TempDir()
			for name, content := range tt.files {
				write(t, filepath.Join(path, name), content)
			}
			before := tree(t, path)
			_, err := Open(path)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range append(tt.want, path) {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not name %q", err, want)
				}
			}
			if after := tree(t, path); after != before {
				t.Errorf("the directory was touched:\n%s\nbefore:\n%s", after, before)
			}
		})
	}
}

// Our own directory holds names that Consul uses, too.
func TestOpenOwnWithConsulNames(t *testing.T) {
	path := t.TempDir()
	write(t, filepath.Join(path, formatFile), "muster data format 1\n")
	write(t, filepath.Join(path, "raft/"), "")
	write(t, filepath.Join(path, "serf/"), "")
	d, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	d.Close()
}

func TestOpenTwice(t *testing.T) {
	path := t.TempDir()
	d, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open(path)
	if err == nil || !strings.Contains(err.Error(), "in use by another process (pid ") {
		t.Errorf("second open: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if d, err = Open(path); err != nil {
		t.Fatal(err)
	}
	d.Close()
}

func TestOpenBelowFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	write(t, path, "x")
	for _, p := range []string{path, filepath.Join(path, "below")} {
		if _, err := Open(p); err == nil || !strings.Contains(err.Error(), "use another data dir") {
			t.Errorf("open %q: %v", p, err)
		}
	}
}

func TestDamagedNodeID(t *testing.T) {
	d, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	write(t, d.Path(nodeIDFile), "not an id")
	if id, err := d.NodeID(); err == nil || !strings.Contains(err.Error(), "backup") {
		t.Errorf("node id %q, %v", id, err)
	}
}

func TestExplain(t *testing.T) {
	tests := []struct {
		err  error
		want string
	}{
		{&fs.PathError{Op: "open", Path: "p", Err: syscall.EACCES}, "let user id"},
		{&fs.PathError{Op: "open", Path: "p", Err: syscall.EROFS}, "read-only"},
		{&fs.PathError{Op: "write", Path: "p", Err: syscall.ENOSPC}, "free some space"},
		{&fs.PathError{Op: "mkdir", Path: "p", Err: syscall.ENOTDIR}, "is a file"},
	}
	for _, tt := range tests {
		err := explain("p", "open", tt.err)
		if !strings.Contains(err.Error(), tt.want) || !errors.Is(err, tt.err) {
			t.Errorf("explain(%v) = %v", tt.err, err)
		}
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	var err error
	if strings.HasSuffix(path, "/") || content == "" {
		err = os.MkdirAll(path, 0o700)
	} else {
		err = os.WriteFile(path, []byte(content), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// tree lists a directory with what is in its files.
func tree(t *testing.T, root string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		b.WriteString(path)
		if !e.IsDir() {
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			b.WriteString(": " + string(content))
		}
		b.WriteByte('\n')
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
