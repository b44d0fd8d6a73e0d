package cli

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAddressOfTheAgent(t *testing.T) {
	a := newFake(t, map[string]any{"GET /v1/catalog/datacenters": []string{"dc1"}})
	url := os.Getenv("CONSUL_HTTP_ADDR")
	bare := strings.TrimPrefix(url, "http://")
	for _, addr := range []string{url, bare, url + "/"} {
		t.Setenv("CONSUL_HTTP_ADDR", addr)
		muster("catalog", "datacenters").want(t, 0, "dc1\n")
	}
	t.Setenv("CONSUL_HTTP_ADDR", "127.0.0.1:1")
	muster("catalog", "datacenters", "-http-addr="+url).want(t, 0, "dc1\n")
	t.Setenv("MUSTER_HTTP_ADDR", url)
	muster("catalog", "datacenters").want(t, 0, "dc1\n")
	if len(a.asked) != 5 {
		t.Errorf("asked %v", a.asked)
	}
}

func TestUnixSocket(t *testing.T) {
	a := newFake(t, map[string]any{"GET /v1/catalog/datacenters": []string{"dc1"}})
	path := filepath.Join(t.TempDir(), "h.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: a}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(l) // ends with ErrServerClosed
	}()
	defer func() { s.Close(); <-done }()
	t.Setenv("CONSUL_HTTP_ADDR", "unix://"+path)
	muster("catalog", "datacenters").want(t, 0, "dc1\n")
}

func TestNobodyAnswers(t *testing.T) {
	newFake(t, nil)
	muster("members", "-http-addr=127.0.0.1:1").wantError(t, "No agent answers at 127.0.0.1:1", "connection refused", "muster agent -dev")
	muster("members", "-http-addr=ftp://x").wantError(t, "ftp")
}

func TestRefusalsShowTheAgentsText(t *testing.T) {
	newFake(t, nil)
	muster("members").wantError(t, "asking for the members: no such thing here (HTTP status 404)")
}

func TestTokens(t *testing.T) {
	a := newFake(t, map[string]any{"GET /v1/catalog/datacenters": []string{"dc1"}})
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("filed\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CONSUL_HTTP_TOKEN", "theirs")
	check := func(want string, args ...string) {
		t.Helper()
		muster(append([]string{"catalog", "datacenters"}, args...)...).want(t, 0, "dc1\n")
		if got := a.header.Get("X-Consul-Token"); got != want {
			t.Errorf("token %q, want %q", got, want)
		}
	}
	check("theirs")
	t.Setenv("MUSTER_HTTP_TOKEN", "ours")
	check("ours")
	check("given", "-token=given")
	t.Setenv("MUSTER_HTTP_TOKEN", "")
	t.Setenv("CONSUL_HTTP_TOKEN", "")
	check("filed", "-token-file="+file)
}
