package agent

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-discovery/muster/internal/config"
)

func TestConnectionLimitNamesItself(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	limited := &connLimiter{Listener: l, limit: 1, log: slog.New(slog.DiscardHandler), open: make(map[netip.Addr]int)}
	defer limited.Close()
	accepted := make(chan net.Conn, 4)
	go func() {
		for {
			c, err := limited.Accept()
			if err != nil {
				close(accepted)
				return
			}
			accepted <- c
		}
	}()
	dial := func() net.Conn {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	dial()
	first := <-accepted

	resp, err := http.ReadResponse(bufio.NewReader(dial()), nil)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusTooManyRequests || !strings.Contains(string(text), "limits.http_max_conns_per_client") {
		t.Errorf("got %s %q, want 429 and the limit's name", resp.Status, text)
	}

	first.Close()
	first.Close() // net/http may close twice: it must count once
	dial()
	second := <-accepted // would hang, and fail by the test's timeout, if the place were lost
	second.Close()
	limited.mu.Lock()
	defer limited.mu.Unlock()
	if len(limited.open) != 0 {
		t.Errorf("counts left behind: %v", limited.open)
	}
}

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
