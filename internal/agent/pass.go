package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/muster-discovery/muster/internal/httpapi"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/retry"
	"github.com/muster-discovery/muster/internal/rpc"
)

// passing hands requests of the HTTP API to servers, over their own port: what only the
// leader or only a server can answer is answered at every agent that way.
type passing struct {
	// who tells which server answers; empty: this one.
	who       func(leader bool) (id string, err error)
	fail      func(id string) // told that a server could not be reached
	admit     func() error    // asked before a request is passed on
	transport *http.Transport
	hold      time.Duration // how long an election may take
}

var _ httpapi.Elsewhere = (*passing)(nil)

// headerPassed counts how often a request was passed on: from a client agent to a
// server and from that to the leader, no further.
const (
	headerPassed = "X-Muster-Passed"
	maxPassed    = 2
)

func newPassing(resolve func(id string) (string, error), who func(bool) (string, error), fail func(string), hold time.Duration) *passing {
	return &passing{who: who, fail: fail, hold: hold, transport: &http.Transport{
		DialContext: func(ctx context.Context, _, hostport string) (net.Conn, error) {
			id, _, err := net.SplitHostPort(hostport)
			if err != nil {
				return nil, err
			}
			addr, err := resolve(id)
			if err != nil {
				return nil, err
			}
			var d rpc.Dialer
			return d.Dial(ctx, addr, rpc.KindHTTP)
		},
		MaxIdleConnsPerHost: 8, IdleConnTimeout: time.Minute, DisableCompression: true,
	}}
}

// Close ends the connections that are idle.
func (p *passing) Close() error {
	p.transport.CloseIdleConnections()
	return nil
}

// Pass implements httpapi.Elsewhere.
func (p *passing) Pass(w http.ResponseWriter, r *http.Request, leader bool) (bool, error) {
	ctx, cancel := context.WithTimeout(r.Context(), p.hold)
	defer cancel()
	backoff := retry.Backoff{Min: 10 * time.Millisecond, Max: 250 * time.Millisecond, Jitter: 0.5}
	for {
		id, err := p.who(leader)
		switch {
		case err == nil && id == "":
			return false, nil
		case err == nil && httpapi.Passed(r.Context()) >= maxPassed:
			err = model.Errorf(model.KindNoLeader, "No cluster leader")
		case err == nil:
			if err := p.admit(); err != nil {
				return false, err
			}
			var resp *http.Response
			if resp, err = p.ask(r, id); err == nil {
				return true, copyAnswer(w, resp)
			}
			p.fail(id)
			if r.ContentLength != 0 { // its body may be gone
				return false, err
			}
		}
		if !backoff.Wait(ctx) {
			return false, err
		}
	}
}

func (p *passing) ask(r *http.Request, id string) (*http.Response, error) {
	out := r.Clone(r.Context())
	out.RequestURI, out.Host = "", ""
	out.URL.Scheme, out.URL.Host = "http", net.JoinHostPort(id, "8300") // see DialContext
	for _, h := range []string{"Connection", "Keep-Alive", "Upgrade", "Te", "Transfer-Encoding"} {
		out.Header.Del(h)
	}
	out.Header.Set(headerPassed, strconv.Itoa(httpapi.Passed(r.Context())+1))
	resp, err := p.transport.RoundTrip(out)
	if err != nil {
		return nil, model.Errorf(model.KindUnavailable, "pass the request on to server %s: %v", id, err)
	}
	return resp, nil
}

// copyAnswer writes what the other agent answered. An answer that breaks off is broken
// off here too, since its status has been sent.
func copyAnswer(w http.ResponseWriter, resp *http.Response) error {
	defer resp.Body.Close()
	h := w.Header()
	clear(h) // the other agent has set all that belongs there
	maps.Copy(h, resp.Header)
	h.Del("Connection")
	w.WriteHeader(resp.StatusCode)
	if _, err := io.Copy(flushing{w}, resp.Body); err != nil {
		panic(http.ErrAbortHandler)
	}
	return nil
}

// flushing sends each piece on as it comes: some answers never end.
type flushing struct{ http.ResponseWriter }

func (f flushing) Write(b []byte) (int, error) {
	n, err := f.ResponseWriter.Write(b)
	if err == nil {
		err = http.NewResponseController(f.ResponseWriter).Flush()
	}
	if errors.Is(err, http.ErrNotSupported) {
		err = nil
	}
	return n, err
}

// servePassed answers what other agents pass on.
func (a *Agent) servePassed(l net.Listener) {
	sc := httpapi.DefaultServerConfig()
	sc.Logger = a.tel.Logger("http")
	srv := httpapi.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		times, err := strconv.Atoi(r.Header.Get(headerPassed))
		if err != nil || times < 1 {
			http.Error(w, fmt.Sprintf("this port is for requests that agents pass on: no valid %s", headerPassed), http.StatusBadRequest)
			return
		}
		a.http.ServeHTTP(w, httpapi.MarkPassed(r, times))
	}), sc)
	a.serveOn("passed requests", srv, l)
}
