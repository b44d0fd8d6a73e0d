package e2e

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestRefusesToStart: each bad start ends soon with an exit code that is not 0
// and a message that names the thing and the remedy, and loses nothing.
func TestRefusesToStart(t *testing.T) {
	consul := t.TempDir()
	write(t, filepath.Join(consul, "raft", "raft.db"), "consul's")
	write(t, filepath.Join(consul, "serf", "local.snapshot"), "consul's")
	newer := t.TempDir()
	write(t, filepath.Join(newer, "format"), "muster data format 999\n")
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "not a folder")
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port

	for _, tc := range []struct {
		name   string
		config map[string]any
		args   []string
		want   []string
	}{
		{"unknown key", map[string]any{"data_dri": "/x"}, []string{"-dev"}, []string{"data_dri", "data_dir"}},
		{"two ports the same", map[string]any{"ports": map[string]any{"http": 18500, "dns": 18500}}, []string{"-dev"}, []string{"ports.http", "ports.dns", "18500"}},
		{"port in use", nil, []string{"-dev", "-http-port", strconv.Itoa(port)}, []string{strconv.Itoa(port), "in use"}},
		{"no data dir", nil, []string{"-server"}, []string{"data_dir"}},
		{"data dir is a file", map[string]any{"data_dir": file}, []string{"-server", "-bootstrap-expect=1"}, []string{file}},
		{"Consul's data dir", map[string]any{"data_dir": consul}, []string{"-server", "-bootstrap-expect=1"}, []string{consul, "muster import consul"}},
		{"newer data dir", map[string]any{"data_dir": newer}, []string{"-server", "-bootstrap-expect=1"}, []string{newer, "999"}},
		{"unknown flag", nil, []string{"-dev", "-data-dri=/x"}, []string{"data-dri", "data-dir"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := newAgent(t, "n1", tc.config, tc.args...)
			a.start()
			select {
			case <-a.done:
			case <-time.After(deadline):
				t.Fatalf("still running after %v", deadline)
			}
			if code := a.cmd.ProcessState.ExitCode(); code == 0 {
				t.Error("exit code 0")
			}
			for _, want := range tc.want {
				if !strings.Contains(a.output.String(), want) {
					t.Errorf("message does not name %q:\n%s", want, a.output)
				}
			}
		})
	}
	if got, _ := os.ReadFile(filepath.Join(consul, "raft", "raft.db")); string(got) != "consul's" {
		t.Error("Consul's data was touched")
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
