package check

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/muster-discovery/muster/internal/model"
)

const (
	// userAgent is what endpoints and their access rules already know.
	userAgent = "Consul Health Check"
	accept    = "text/plain, text/*, */*"
	// maxHTTPBody bounds what is read of an answer. Only the tail is kept; the
	// bound is there for an endpoint that never stops sending.
	maxHTTPBody = 8 << 20
	// maxHTTPHeader bounds an answer's header.
	maxHTTPHeader = 64 << 10
)

// httpProbe sends one request. 2xx is passing, 429 warning, all else critical.
type httpProbe struct {
	client *http.Client
	method string
	url    string
	header http.Header
	host   string
	body   string
	max    int
}

func newHTTPProbe(def *model.CheckDefinition, env *Env) (Probe, error) {
	u, err := url.Parse(def.HTTP)
	if err != nil {
		return nil, fmt.Errorf("parse URL of check %q: %w", def.ID, err)
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, fmt.Errorf("URL %q of check %q must be http:// or https:// with a host", def.HTTP, def.ID)
	}
	p := &httpProbe{
		client: &http.Client{Transport: transportFor(def, env)},
		method: strings.ToUpper(def.Method),
		url:    def.HTTP,
		header: http.Header{"User-Agent": {userAgent}, "Accept": {accept}},
		body:   def.Body,
		max:    env.OutputSize(def),
	}
	if p.method == "" {
		p.method = http.MethodGet
	}
	for name, values := range def.Header {
		if strings.EqualFold(name, "Host") && len(values) > 0 {
			p.host = values[0]
			continue
		}
		p.header[http.CanonicalHeaderKey(name)] = values
	}
	if def.DisableRedirects {
		p.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	// The request is built once here so that a bad method or header is an error of
	// the definition, not of each run.
	if _, err := p.request(context.Background()); err != nil {
		return nil, fmt.Errorf("build request of check %q: %w", def.ID, err)
	}
	return p, nil
}

func (p *httpProbe) request(ctx context.Context) (*http.Request, error) {
	var body io.Reader
	if p.body != "" {
		body = strings.NewReader(p.body)
	}
	req, err := http.NewRequestWithContext(ctx, p.method, p.url, body)
	if err != nil {
		return nil, err
	}
	req.Header = p.header.Clone() // redirects add to it
	req.Host = p.host
	return req, nil
}

func (p *httpProbe) Run(ctx context.Context) Result {
	req, err := p.request(ctx)
	if err != nil {
		return critical(p.max, "%v", err)
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return critical(p.max, "%v", err)
	}
	defer resp.Body.Close()
	tail := newTailBuffer(p.max)
	// An answer that breaks off still has a status; what came is the output.
	_, err = io.Copy(tail, io.LimitReader(resp.Body, maxHTTPBody))
	if err != nil && ctx.Err() != nil {
		return critical(p.max, "HTTP %s %s: read body: %v", p.method, p.url, err)
	}
	output := fmt.Sprintf("HTTP %s %s: %s Output: %s", p.method, p.url, resp.Status, tail)
	return Result{Status: httpStatus(resp.StatusCode), Output: output}
}

func httpStatus(code int) string {
	switch {
	case code >= 200 && code < 300:
		return model.StatusPassing
	case code == http.StatusTooManyRequests:
		return model.StatusWarning
	}
	return model.StatusCritical
}

// newTransport makes a transport that keeps no connection: a probe must find out
// whether a new client could connect, and 10,000 idle connections would be a leak.
func newTransport(env *Env) *http.Transport {
	return &http.Transport{
		DialContext:            env.dial(),
		DisableKeepAlives:      true,
		MaxResponseHeaderBytes: maxHTTPHeader,
	}
}

// plainTransport serves all checks without TLS settings of their own.
var plainTransport = sync.OnceValue(func() *http.Transport { return newTransport(nil) })

func transportFor(def *model.CheckDefinition, env *Env) *http.Transport {
	if def.TLSServerName == "" && !def.TLSSkipVerify && (env == nil || env.Dial == nil) {
		return plainTransport()
	}
	t := newTransport(env)
	t.TLSClientConfig = tlsConfig(def)
	return t
}
