package httpapi

import (
	"fmt"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/muster-discovery/muster/internal/lookup"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/view"
	"github.com/muster-discovery/muster/internal/wire"
)

// Server answers HTTP requests. It is safe for any number of them at a time.
type Server struct {
	cfg    Config
	router *router
	fixed  []header // headers of every answer
	policy []string
	// passing is the variant that most consumers ask for.
	passing *view.Variant
	seen    *recent
	calls   sync.Pool
}

// header is a name in canonical form with its values.
type header struct {
	name   string
	values []string
}

// New makes a server. Only a mistake of the caller makes it fail.
func New(cfg Config) (*Server, error) {
	passing, err := cfg.Lookup.Prepare(wire.HealthServiceJSON, lookup.Question{Passing: true})
	if err != nil {
		return nil, fmt.Errorf("prepare the list of passing instances: %w", err)
	}
	s := &Server{
		cfg:     cfg,
		router:  newRouter(routes),
		policy:  []string{cfg.DefaultPolicy},
		passing: passing,
		seen:    newRecent(),
	}
	for name, value := range cfg.ResponseHeaders {
		s.fixed = append(s.fixed, header{http.CanonicalHeaderKey(name), []string{value}})
	}
	s.calls.New = func() any { return new(call) }
	return s, nil
}

// Header values are shared by all answers, so that they cost nothing.
var (
	contentJSON   = []string{"application/json"}
	contentText   = []string{"text/plain; charset=utf-8"}
	contentPlain  = []string{"text/plain"}
	contentPEM    = []string{"application/pem-certificate-chain"}
	contentGzip   = []string{"gzip"}
	varyEncoding  = []string{"Accept-Encoding"}
	valueTrue     = []string{"true"}
	valueFalse    = []string{"false"}
	valueZero     = []string{"0"}
	valueOne      = []string{"1"}
	valueLeader   = []string{"leader"}
	valueStale    = []string{"stale"}
	valueVerified = []string{"consistent"}
	valueHit      = []string{"HIT"}
	valueMiss     = []string{"MISS"}
)

// ServeHTTP is the one middleware: everything that all routes have in common
// happens here, in this order.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	for _, f := range s.fixed {
		h[f.name] = f.values
	}
	e, id, err := s.router.find(r.URL)
	if e == nil {
		s.serveUnknown(w, r)
		return
	}
	h["Vary"] = varyEncoding
	h["X-Consul-Default-Acl-Policy"] = s.policy
	if s.cfg.TranslateWANAddrs {
		h["X-Consul-Translate-Addresses"] = valueTrue
	}
	c := s.calls.Get().(*call)
	*c = call{s: s, w: w, r: r, id: id}
	defer s.finish(c)
	if err != nil {
		c.fail(model.Errorf(model.KindInvalid, "Invalid URL path: %v", err))
		return
	}
	if Passed(r.Context()) == 0 { // the agent that passed it on has admitted it
		if err := s.admit(r); err != nil {
			c.fail(err)
			return
		}
	}
	if c.route = e.route(r.Method); c.route == nil {
		c.otherMethod(e)
		return
	}
	if err := s.rate(c.route); err != nil {
		c.fail(err)
		return
	}
	if err := c.begin(); err != nil {
		c.fail(err)
		return
	}
	if done, err := c.pass(); done {
		return
	} else if err != nil {
		c.fail(err)
		return
	}
	if err := c.route.handle(c); err != nil {
		c.fail(err)
	}
}

// finish gives the call back and turns a panic into an error of this request alone.
func (s *Server) finish(c *call) {
	if p := recover(); p != nil {
		if p == http.ErrAbortHandler {
			panic(p)
		}
		s.cfg.Logger.Error("request panicked", "method", c.r.Method, "path", c.r.URL.Path,
			"err", fmt.Sprint(p), "stack", string(debug.Stack()))
		if !c.wrote {
			c.fail(model.Errorf(model.KindInternal, "internal error; the agent's log has the details"))
		}
	}
	*c = call{}
	s.calls.Put(c)
}

var (
	errBlocked = &model.Error{Kind: model.KindDenied, Text: "Endpoint is blocked by agent configuration"}
	errWriter  = &model.Error{Kind: model.KindDenied, Text: "Access is restricted"}
)

// admit refuses what the configuration does not let in.
func (s *Server) admit(r *http.Request) error {
	for _, prefix := range s.cfg.BlockEndpoints {
		// The decoded path, so that escapes don't get around it.
		if strings.HasPrefix(r.URL.Path, prefix) {
			return errBlocked
		}
	}
	if len(s.cfg.AllowWriteFrom) == 0 || r.Method == http.MethodGet || r.Method == http.MethodOptions {
		return nil
	}
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return errWriter // a Unix socket has no address to be allowed
	}
	for _, p := range s.cfg.AllowWriteFrom {
		if p.Contains(from.Addr().Unmap()) {
			return nil
		}
	}
	return errWriter
}

const (
	textUnknown  = "Invalid URL path: not a recognized HTTP API endpoint\n"
	textNotV1    = "Invalid URL path: if attempting to use the HTTP API, ensure the path starts with '/v1/'\n"
	textIndex    = "Muster agent. The HTTP API starts at /v1/; this version has no user interface.\n"
	textNoRobots = "User-agent: *\nDisallow: /\n"
)

// serveUnknown answers for paths that are not part of the API. They have none of
// its headers.
func (s *Server) serveUnknown(w http.ResponseWriter, r *http.Request) {
	status, text := http.StatusNotFound, textNotV1
	switch {
	case strings.HasPrefix(r.URL.Path, "/v1/"):
		text = textUnknown
	case r.URL.Path == "/":
		status, text = http.StatusOK, textIndex
	case r.URL.Path == "/robots.txt":
		status, text = http.StatusOK, textNoRobots
	}
	h := w.Header()
	h["Content-Type"] = contentText
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text)) // the client is gone if this fails
}
