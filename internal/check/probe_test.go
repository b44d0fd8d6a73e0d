package check

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/muster-discovery/muster/internal/model"
)

func probe(t *testing.T, def *model.CheckDefinition) Result {
	t.Helper()
	p, err := New(def, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return p.Run(ctx)
}

func TestHTTPStatus(t *testing.T) {
	code := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(code)
		fmt.Fprint(w, "body")
	}))
	defer srv.Close()
	for _, tt := range []struct {
		code int
		want string
	}{
		{200, model.StatusPassing}, {201, model.StatusPassing}, {429, model.StatusWarning},
		{302, model.StatusCritical}, {404, model.StatusCritical}, {500, model.StatusCritical},
	} {
		code = tt.code
		got := probe(t, &model.CheckDefinition{HTTP: srv.URL + "/x", DisableRedirects: true})
		if got.Status != tt.want {
			t.Errorf("answer %d is %s, want %s", tt.code, got.Status, tt.want)
		}
		want := fmt.Sprintf("HTTP GET %s/x: %d %s Output: body", srv.URL, tt.code, http.StatusText(tt.code))
		if got.Output != want {
			t.Errorf("output is %q, want %q", got.Output, want)
		}
	}
}

func TestHTTPRequest(t *testing.T) {
	var got string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = fmt.Sprintln(r.Method, r.URL, r.Host, r.UserAgent(), r.Header.Get("Accept"), r.Header.Get("X-Custom"), string(body), r.Header["Connection"])
	}))
	defer srv.Close()
	probe(t, &model.CheckDefinition{HTTP: srv.URL + "/a?x=1"})
	want := fmt.Sprintln("GET", "/a?x=1", strings.TrimPrefix(srv.URL, "http://"), "Consul Health Check", "text/plain, text/*, */*", "", "", "[close]")
	if got != want {
		t.Errorf("default request is %q, want %q", got, want)
	}
	probe(t, &model.CheckDefinition{HTTP: srv.URL, Method: "put", Body: "{}", Header: map[string][]string{"x-custom": {"yes"}, "host": {"example.test"}}})
	want = fmt.Sprintln("PUT", "/", "example.test", "Consul Health Check", "text/plain, text/*, */*", "yes", "{}", "[close]")
	if got != want {
		t.Errorf("request is %q, want %q", got, want)
	}
}

func TestHTTPFollowsRedirects(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/a" {
			http.Redirect(w, r, "/end", http.StatusFound)
			return
		}
		fmt.Fprint(w, "end")
	}))
	defer srv.Close()
	if got := probe(t, &model.CheckDefinition{HTTP: srv.URL + "/a"}); got.Status != model.StatusPassing || !strings.HasSuffix(got.Output, "Output: end") {
		t.Errorf("redirected answer is %+v", got)
	}
}

func TestHTTPKeepsTheTailOfTheOutput(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for i := range 1000 {
			fmt.Fprintf(w, "%05d", i)
		}
	}))
	defer srv.Close()
	for _, tt := range []struct{ max, want int }{{100, 100}, {0, DefaultMaxOutput}, {1 << 20, DefaultMaxOutput}} {
		got := probe(t, &model.CheckDefinition{HTTP: srv.URL, OutputMaxSize: tt.max})
		_, body, _ := strings.Cut(got.Output, "Output: ")
		if len(body) != tt.want || !strings.HasSuffix(body, "0099800999") {
			t.Errorf("with limit %d the body kept is %d bytes ending in %q", tt.max, len(body), body[len(body)-10:])
		}
	}
}

func TestHTTPSVerifiesUnlessToldNotTo(t *testing.T) {
	srv := tlsServer()
	defer srv.Close()
	if got := probe(t, &model.CheckDefinition{HTTP: srv.URL}); got.Status != model.StatusCritical || !strings.Contains(got.Output, "certificate") {
		t.Errorf("an unknown certificate gives %+v", got)
	}
	if got := probe(t, &model.CheckDefinition{HTTP: srv.URL, TLSSkipVerify: true}); got.Status != model.StatusPassing {
		t.Errorf("without verification: %+v", got)
	}
}

func TestHTTPTimeout(t *testing.T) {
	release := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			w.WriteHeader(200)
			w.(http.Flusher).Flush()
		}
		<-release
	}))
	defer srv.Close()
	defer close(release)
	for _, path := range []string{"/header", "/body"} {
		p, err := New(&model.CheckDefinition{HTTP: srv.URL + path}, nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		got := p.Run(ctx)
		cancel()
		if got.Status != model.StatusCritical || !strings.Contains(got.Output, "deadline exceeded") {
			t.Errorf("%s: slow answer gives %+v", path, got)
		}
	}
}

func TestTCP(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	if got := probe(t, &model.CheckDefinition{TCP: addr}); got != (Result{model.StatusPassing, "TCP connect " + addr + ": Success"}) {
		t.Errorf("open port gives %+v", got)
	}
	ln.Close()
	if got := probe(t, &model.CheckDefinition{TCP: addr}); got.Status != model.StatusCritical || !strings.Contains(got.Output, "refused") {
		t.Errorf("closed port gives %+v", got)
	}
}

func TestTCPWithTLS(t *testing.T) {
	srv := tlsServer()
	defer srv.Close()
	addr := srv.Listener.Addr().String()
	if got := probe(t, &model.CheckDefinition{TCP: addr, TCPUseTLS: true, TLSSkipVerify: true}); got.Status != model.StatusPassing {
		t.Errorf("TLS handshake: %+v", got)
	}
	if got := probe(t, &model.CheckDefinition{TCP: addr, TCPUseTLS: true}); got.Status != model.StatusCritical || !strings.Contains(got.Output, "certificate") {
		t.Errorf("unknown certificate: %+v", got)
	}
}

func TestDefinitionsThatCannotRun(t *testing.T) {
	for _, def := range []*model.CheckDefinition{
		{HTTP: "http://"}, {HTTP: "ftp://x/"}, {HTTP: "http://a b/"}, {HTTP: "http://x/", Method: "NO METHOD"},
		{GRPC: "x"}, {GRPC: "x:"}, {GRPC: "/service"}, {H2PING: "x"}, {ScriptArgs: []string{"true"}},
		{OSService: "cron*"}, {OSService: "--failed"}, {OSService: "a b"}, {OSService: strings.Repeat("a", 256)},
	} {
		if _, err := New(def, nil); err == nil {
			t.Errorf("%+v is accepted", def)
		}
	}
	var unsupported *UnsupportedError
	for _, def := range []*model.CheckDefinition{{DockerContainerID: "c", ScriptArgs: []string{"true"}}, {AliasService: "x"}, {TTL: 1}, {}} {
		if _, err := New(def, nil); !errors.As(err, &unsupported) || unsupported.Kind != def.Type() {
			t.Errorf("%+v: error is %v, want that kind %q is not supported", def, err, def.Type())
		}
	}
}

func FuzzTailBuffer(f *testing.F) {
	f.Add("hello", "world", 3)
	f.Add("", "abcdef", 6)
	f.Fuzz(func(t *testing.T, a, b string, size int) {
		if size < 1 || size > 100 {
			t.Skip()
		}
		buf := newTailBuffer(size)
		for _, s := range []string{a, b, a} {
			if n, err := buf.Write([]byte(s)); n != len(s) || err != nil {
				t.Fatalf("Write returns %d, %v", n, err)
			}
		}
		if got, want := buf.String(), Tail(a+b+a, size); got != want {
			t.Fatalf("tail is %q, want %q", got, want)
		}
	})
}

// tlsServer has a certificate that nobody knows, and does not log that it is
// refused.
func tlsServer() *httptest.Server {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	return srv
}
