package agent

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-discovery/muster/internal/config"
)

func TestUnixSocket(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "http.sock")
	e := config.Endpoint{Network: "unix", Address: path}
	l, err := listenOn(e, config.Addresses{SocketMode: "0660"})
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o660 {
		t.Errorf("mode %v, %v; want 0660", info.Mode(), err)
	}
	// A killed agent leaves its socket behind.
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	l.Close()
	l, err = listenOn(e, config.Addresses{})
	if err != nil {
		t.Fatalf("over a socket that was left behind: %v", err)
	}
	l.Close()

	file := filepath.Join(dir, "precious")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := listenOn(config.Endpoint{Network: "unix", Address: file}, config.Addresses{}); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("got %v, want a refusal that names the file", err)
	}
	if data, _ := os.ReadFile(file); string(data) != "x" {
		t.Error("a file that is no socket was removed")
	}
}
