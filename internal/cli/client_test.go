package cli

import (
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/hashicorp/consul/api"
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

func TestEnvironment(t *testing.T) {
	newFake(t, nil)
	for _, c := range []struct {
		name, consul, muster string
		get                  func(*api.Config) string
	}{
		{"HTTP_ADDR", "a:1", "b:2", func(c *api.Config) string { return c.Address }},
		{"HTTP_TOKEN", "a", "b", func(c *api.Config) string { return c.Token }},
		{"HTTP_TOKEN_FILE", "a", "b", func(c *api.Config) string { return c.TokenFile }},
		{"HTTP_AUTH", "a:x", "b:y", func(c *api.Config) string { return c.HttpAuth.Username + ":" + c.HttpAuth.Password }},
		{"HTTP_SSL", "true", "false", func(c *api.Config) string { return strconv.FormatBool(c.Scheme == "https") }},
		{"HTTP_SSL_VERIFY", "false", "true", func(c *api.Config) string { return strconv.FormatBool(!c.TLSConfig.InsecureSkipVerify) }},
		{"CACERT", "a", "b", func(c *api.Config) string { return c.TLSConfig.CAFile }},
		{"CAPATH", "a", "b", func(c *api.Config) string { return c.TLSConfig.CAPath }},
		{"CLIENT_CERT", "a", "b", func(c *api.Config) string { return c.TLSConfig.CertFile }},
		{"CLIENT_KEY", "a", "b", func(c *api.Config) string { return c.TLSConfig.KeyFile }},
		{"TLS_SERVER_NAME", "a", "b", func(c *api.Config) string { return c.TLSConfig.Address }},
	} {
		t.Run(c.name, func(t *testing.T) {
			check := func(want string) {
				t.Helper()
				conf := api.DefaultConfig()
				if err := musterEnvironment(conf); err != nil {
					t.Fatal(err)
				}
				if got := c.get(conf); got != want {
					t.Errorf("%q, want %q", got, want)
				}
			}
			t.Setenv("CONSUL_"+c.name, c.consul)
			check(c.consul)
			t.Setenv("MUSTER_"+c.name, c.muster)
			check(c.muster)
		})
	}
	t.Setenv("MUSTER_HTTP_SSL", "perhaps")
	muster("members").wantError(t, "MUSTER_HTTP_SSL=perhaps: want true or false")
}

func TestStrongerTokenWins(t *testing.T) {
	a := newFake(t, map[string]any{"GET /v1/catalog/datacenters": []string{"dc1"}})
	for _, step := range []struct{ variable, value, want string }{
		{"CONSUL_HTTP_TOKEN", "ct", "ct"},
		{"CONSUL_HTTP_TOKEN_FILE", file(t, "c", "cf"), "cf"},
		{"MUSTER_HTTP_TOKEN", "mt", "mt"},
		{"MUSTER_HTTP_TOKEN_FILE", file(t, "m", "mf"), "mf"},
	} {
		t.Setenv(step.variable, step.value)
		muster("catalog", "datacenters").want(t, 0, "dc1\n")
		if got := a.header.Get("X-Consul-Token"); got != step.want {
			t.Errorf("%s: token %q, want %q", step.variable, got, step.want)
		}
	}
	muster("catalog", "datacenters", "-token=flag").want(t, 0, "dc1\n")
	if got := a.header.Get("X-Consul-Token"); got != "flag" {
		t.Errorf("token %q", got)
	}
}

func TestTheWrongScheme(t *testing.T) {
	newFake(t, nil)
	plain := strings.TrimPrefix(os.Getenv("CONSUL_HTTP_ADDR"), "http://")
	muster("members", "-http-addr=https://"+plain).wantError(t, "The agent speaks plain HTTP there")
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // it complains of our mistake
	s.StartTLS()
	defer s.Close()
	muster("members", "-http-addr="+strings.TrimPrefix(s.URL, "https://")).wantError(t, "The agent speaks HTTPS there")
	t.Setenv("MUSTER_HTTP_SSL", "true")
	t.Setenv("MUSTER_HTTP_SSL_VERIFY", "false")
	muster("members", "-http-addr="+strings.TrimPrefix(s.URL, "https://")).wantError(t, "HTTP status 404")
}
