package watch

import (
	"bytes"
	"fmt"
	"io"
	"net/http"

	"github.com/hashicorp/consul/api"
)

// inProcess is a client of an API in the same process, with this token and no other.
func inProcess(h http.Handler, token string) (*api.Client, error) {
	return api.NewClient(&api.Config{
		Address: "in.process", Scheme: "http",
		Token:      "ours", // or it would look for one in the environment; transport replaces it
		HttpClient: &http.Client{Transport: &transport{h, token}},
	})
}

// transport calls a handler in the goroutine that asks.
type transport struct {
	handler http.Handler
	token   string
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (resp *http.Response, err error) {
	r = r.Clone(r.Context())
	// The client takes defaults from the environment of the process, which are meant
	// for commands and not for an agent.
	r.Header.Del("Authorization")
	r.Header.Del("X-Consul-Token")
	if t.token != "" {
		r.Header.Set("X-Consul-Token", t.token)
	}
	q := r.URL.Query()
	q.Del("ns")
	q.Del("partition")
	r.URL.RawQuery = q.Encode()
	r.RequestURI, r.RemoteAddr = r.URL.RequestURI(), "127.0.0.1:0"
	if r.Body == nil {
		r.Body = http.NoBody
	}
	defer func() {
		if p := recover(); p != nil { // a server's connection would end here, and no more
			resp, err = nil, fmt.Errorf("the request was aborted: %v", p)
		}
	}()
	a := &answer{header: http.Header{}, code: http.StatusOK}
	t.handler.ServeHTTP(a, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return &http.Response{
		Status: fmt.Sprintf("%d %s", a.code, http.StatusText(a.code)), StatusCode: a.code,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: a.header, Body: io.NopCloser(&a.body), ContentLength: int64(a.body.Len()), Request: r,
	}, nil
}

// answer collects what a handler answers.
type answer struct {
	header http.Header
	code   int
	wrote  bool
	body   bytes.Buffer
}

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(code int) {
	if !a.wrote && code >= http.StatusOK {
		a.code, a.wrote = code, true
	}
}

func (a *answer) Write(p []byte) (int, error) {
	a.wrote = true
	return a.body.Write(p)
}
