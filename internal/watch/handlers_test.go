//go:build unix

package watch

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestProgram(t *testing.T) {
	t.Setenv("SHELL", "")
	var out bytes.Buffer
	for _, p := range []Program{
		{Shell: "echo $CONSUL_INDEX; cat", Stdout: &out},
		{Args: []string{"/bin/sh", "-c", "echo $CONSUL_INDEX; cat"}, Stdout: &out, Timeout: time.Minute},
	} {
		out.Reset()
		if err := p.Handle(t.Context(), 7, []byte("{}\n")); err != nil || out.String() != "7\n{}\n" {
			t.Errorf("%q, %v", out.String(), err)
		}
	}
	// A program need not read its input, however long that is.
	big := bytes.Repeat([]byte("x"), 1<<20)
	if err := (&Program{Shell: "exit 0"}).Handle(t.Context(), 1, big); err != nil {
		t.Error(err)
	}
	if err := (&Program{Args: []string{"/does/not/exist"}}).Handle(t.Context(), 1, nil); err == nil {
		t.Error("ran what does not exist")
	}
	if err := (&Program{Shell: "exit 3"}).Handle(t.Context(), 1, nil); err == nil || errors.Is(err, ErrUndelivered) {
		t.Errorf("%v", err)
	}
}

func TestProgramHasItsTime(t *testing.T) {
	err := (&Program{Shell: "sleep 60", Timeout: 20 * time.Millisecond}).Handle(t.Context(), 1, nil)
	if err == nil || !strings.Contains(err.Error(), "longer than 20ms") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := (&Program{Shell: "sleep 60"}).Handle(ctx, 1, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

func TestOutputInTheLogIsBounded(t *testing.T) {
	l := &logged{Program{Shell: "head -c 100000 /dev/zero | tr '\\0' x; echo the end >&2; exit 1", Timeout: time.Minute}, quiet()}
	err := l.Handle(t.Context(), 1, nil)
	if err == nil || len(err.Error()) > maxOutput+200 || !strings.Contains(err.Error(), "bytes left out") || !strings.HasSuffix(err.Error(), "the end\n") {
		t.Errorf("%.300v", err)
	}
	l.Shell = "echo fine"
	if err := l.Handle(t.Context(), 1, nil); err != nil {
		t.Error(err)
	}
}

func TestPost(t *testing.T) {
	code := http.StatusOK
	var got *http.Request
	var body []byte
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		w.WriteHeader(code)
	}))
	defer server.Close()
	conf := &HTTPConfig{URL: server.URL + "/x", Method: "PUT", Timeout: time.Minute, TLSSkipVerify: true,
		Header: map[string][]string{"X-A": {"1", "2"}, "Host": {"h.test"}, "Content-Type": {"text/x"}}}
	p := newPost(conf)
	defer p.Close()
	if err := p.Handle(t.Context(), 9, []byte("{}\n")); err != nil {
		t.Fatal(err)
	}
	h := got.Header
	if got.Method != "PUT" || got.URL.Path != "/x" || got.Host != "h.test" || string(body) != "{}\n" ||
		h.Get("X-Consul-Index") != "9" || len(h["X-A"]) != 2 || h.Get("Content-Type") != "text/x" {
		t.Errorf("%s %s %v %q", got.Method, got.URL, h, body)
	}
	for c, again := range map[int]bool{400: false, 404: false, 429: true, 500: true, 503: true} {
		code = c
		if err := p.Handle(t.Context(), 9, nil); err == nil || errors.Is(err, ErrUndelivered) != again {
			t.Errorf("%d: %v", c, err)
		}
	}
	conf.TLSSkipVerify = false
	if err := newPost(conf).Handle(t.Context(), 9, nil); !errors.Is(err, ErrUndelivered) {
		t.Errorf("a certificate that nobody knows: %v", err)
	}
}

func TestSet(t *testing.T) {
	dir := t.TempDir()
	f := newAPI()
	f.set("/v1/kv/a", 5, pair("a", "1", 5))
	f.set("/v1/kv/b", 5, pair("b", "1", 5))
	watchOf := func(key, file string) *Spec {
		return spec(t, `{"type": "key", "key": "`+key+`", "args": ["/bin/sh", "-c", "echo run >> `+filepath.Join(dir, file)+`"]}`)
	}
	set := NewSet(f, quiet())
	apply := func(specs ...*Spec) {
		t.Helper()
		if err := set.Apply(specs); err != nil {
			t.Fatal(err)
		}
	}
	runs := func(file string, n int) {
		t.Helper()
		var got int
		for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			data, _ := os.ReadFile(filepath.Join(dir, file))
			if got = bytes.Count(data, []byte("\n")); got == n {
				return
			}
		}
		t.Fatalf("%s: %d runs, want %d", file, got, n)
	}
	apply(watchOf("a", "a"), watchOf("b", "b"), watchOf("b", "b"))
	runs("a", 1)
	runs("b", 2)
	apply(watchOf("a", "a"), watchOf("b", "other")) // a reload
	runs("other", 1)
	f.set("/v1/kv/a", 6, pair("a", "2", 6))
	f.set("/v1/kv/b", 6, pair("b", "2", 6))
	runs("a", 2)
	runs("other", 2)
	runs("b", 2)
	// What runs is ended with its watch.
	apply(spec(t, `{"type": "key", "key": "a", "args": ["/bin/sh", "-c", "echo > `+filepath.Join(dir, "long")+`; sleep 60"]}`))
	runs("long", 1)
	if err := set.Close(); err != nil {
		t.Fatal(err)
	}
	if len(set.running) != 0 {
		t.Errorf("%d watches run on", len(set.running))
	}
}

// TestEnvironmentOfCommands: what commands take from the environment is not for the
// agent's watches.
func TestEnvironmentOfCommands(t *testing.T) {
	t.Setenv("CONSUL_HTTP_TOKEN_FILE", "/does/not/exist")
	t.Setenv("CONSUL_HTTP_TOKEN", "mine")
	t.Setenv("CONSUL_NAMESPACE", "other")
	t.Setenv("CONSUL_HTTP_AUTH", "me:secret")
	f := newAPI()
	c, err := inProcess(f, "")
	if err != nil {
		t.Fatal(err)
	}
	f.set("/v1/kv/a", 5, nil)
	if _, _, err := c.KV().Get("a", nil); err != nil {
		t.Fatal(err)
	}
	r := f.last()
	if r.URL.RawQuery != "" || r.Header.Get("X-Consul-Token") != "" || r.Header.Get("Authorization") != "" {
		t.Errorf("asked %s with %v", r.URL, r.Header)
	}
	aborts := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	if c, err = inProcess(aborts, ""); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.KV().Get("a", nil); err == nil || !strings.Contains(err.Error(), "aborted") {
		t.Errorf("%v", err)
	}
}
