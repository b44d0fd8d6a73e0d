package migrate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/muster-discovery/muster/internal/retry"
)

// Endpoint is an HTTP API. Calls may overlap.
type Endpoint struct {
	Client     *http.Client
	Base       string // http://host:port
	Header     http.Header
	Datacenter string        // empty: the agent's own
	Patience   time.Duration // how long errors that pass are waited out; 0: a minute
}

// Bounds of one try: an answer of a few keys, and a list of all.
const (
	callTimeout     = time.Minute
	listTimeout     = 10 * time.Minute
	defaultPatience = time.Minute
)

// StatusError is an answer that says no.
type StatusError struct {
	Code int
	Text string
}

func (e *StatusError) Error() string { return fmt.Sprintf("%s (HTTP status %d)", e.Text, e.Code) }

// request is one call: Path is decoded but for what follows it in Name.
type request struct {
	method, path, name string
	params             url.Values
	body               []byte
	timeout            time.Duration
	accept             int // a status besides 200 whose body is an answer too
}

// call does a request until it succeeds, with the pauses that the network and
// elections need, and has the answer read.
func (e *Endpoint) call(ctx context.Context, r request, read func(io.Reader) error) error {
	patience := e.Patience
	if patience == 0 {
		patience = defaultPatience
	}
	deadline := time.Now().Add(patience)
	backoff := retry.Backoff{Min: 50 * time.Millisecond, Max: 5 * time.Second, Jitter: 0.5}
	for {
		err := e.try(ctx, r, read)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil || !passes(err) || time.Now().After(deadline) || !backoff.Wait(ctx) {
			return fmt.Errorf("%s %s%s: %w", r.method, r.path, r.name, err)
		}
	}
}

// badAnswer is an answer that came, but can't be read.
type badAnswer struct{ error }

func (e badAnswer) Unwrap() error { return e.error }

func (e *Endpoint) try(ctx context.Context, r request, read func(io.Reader) error) error {
	timeout := r.timeout
	if timeout == 0 {
		timeout = callTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	params := url.Values{}
	for k, v := range r.params {
		params[k] = v
	}
	if e.Datacenter != "" {
		params.Set("dc", e.Datacenter)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, e.Base+r.path+url.PathEscape(r.name)+"?"+params.Encode(), bytes.NewReader(r.body))
	if err != nil {
		return badAnswer{err}
	}
	for k, v := range e.Header {
		req.Header[k] = v
	}
	resp, err := e.Client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK && resp.StatusCode != r.accept {
		body, _ := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
		return &StatusError{resp.StatusCode, strings.TrimSpace(string(body))}
	}
	if read == nil {
		return nil
	}
	return read(resp.Body)
}

// passes tells errors that another try may cure.
func passes(err error) bool {
	var status *StatusError
	var bad badAnswer
	switch {
	case errors.As(err, &bad):
		return false
	case !errors.As(err, &status):
		return true // the network's
	case status.Code == http.StatusInternalServerError:
		t := strings.ToLower(status.Text)
		return strings.Contains(t, "leader") || strings.Contains(t, "rpc") || strings.Contains(t, "timeout") || strings.Contains(t, "eof")
	}
	return status.Code == http.StatusTooManyRequests || status.Code >= http.StatusBadGateway
}

// get reads a JSON answer. Numbers stay as they are.
func (e *Endpoint) get(ctx context.Context, path, name string, out any) error {
	return e.call(ctx, request{method: http.MethodGet, path: path, name: name}, decodeInto(out))
}

func (e *Endpoint) send(ctx context.Context, method, path, name string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	r := request{method: method, path: path, name: name, body: body}
	if out == nil {
		return e.call(ctx, r, nil)
	}
	return e.call(ctx, r, decodeInto(out))
}

func decodeInto(out any) func(io.Reader) error {
	return func(r io.Reader) error {
		data, err := io.ReadAll(r)
		if err != nil {
			return err // cut off: another try
		}
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.UseNumber()
		if err := dec.Decode(out); err != nil {
			return badAnswer{fmt.Errorf("the answer is not understood: %w", err)}
		}
		return nil
	}
}

// statusOf is the HTTP status in an error, or 0.
func statusOf(err error) int {
	var status *StatusError
	if errors.As(err, &status) {
		return status.Code
	}
	return 0
}
