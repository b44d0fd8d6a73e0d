package httpapi

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/muster-discovery/muster/internal/apply"
	"github.com/muster-discovery/muster/internal/lookup"
	"github.com/muster-discovery/muster/internal/model"
)

// call is one request on its way through a handler.
type call struct {
	s     *Server
	w     http.ResponseWriter
	r     *http.Request
	route *route
	id    string // the rest of the path, decoded; for routes that end in one
	params
	wrote bool

	// Here so that they are allocated with the call, which is used again.
	req    lookup.Request
	answer lookup.Answer
}

// begin reads what every route understands.
func (c *call) begin() error {
	if c.r.URL.RawQuery != "" {
		if err := c.parse(c.r.URL.RawQuery); err != nil {
			return err
		}
	}
	return c.refusePaid(c.r.Header)
}

// otherMethod answers for methods that a path does not have.
func (c *call) otherMethod(e *endpoint) {
	if e.path == querySpecific && c.r.Method != http.MethodOptions {
		_ = c.queryMethod() // it has answered
		return
	}
	h := c.w.Header()
	h["Allow"] = e.allow
	if c.r.Method == http.MethodOptions {
		h["Content-Type"] = contentJSON
		c.writeHeader(http.StatusOK)
		return
	}
	c.text(http.StatusMethodNotAllowed, "method "+c.r.Method+" not allowed")
}

// body reads the whole request body within its limits of size and time.
func (c *call) body() ([]byte, error) {
	return c.bodyUpTo(c.s.cfg.MaxBody, func(int64) error { return tooLarge(c.s.cfg.MaxBody) })
}

// bodyUpTo is body with a limit of its own. Refuse makes the error for a body that is
// larger; size is what is known of it.
func (c *call) bodyUpTo(limit int64, refuse func(size int64) error) ([]byte, error) {
	if c.r.ContentLength > limit {
		c.w.Header()["Connection"] = []string{"close"}
		return nil, refuse(c.r.ContentLength)
	}
	rc := http.NewResponseController(c.w)
	// Not every writer has deadlines (tests' recorders don't); the limit of size
	// holds in any case.
	if rc.SetReadDeadline(time.Now().Add(c.s.cfg.BodyTimeout)) == nil {
		defer func() { _ = rc.SetReadDeadline(time.Time{}) }()
	}
	data, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, limit))
	if err != nil {
		var big *http.MaxBytesError
		if errors.As(err, &big) {
			return nil, refuse(limit + 1)
		}
		return nil, model.Errorf(model.KindInvalid, "Request decode failed: read the body: %v", err)
	}
	return data, nil
}

func tooLarge(limit int64) error {
	return model.Errorf(model.KindTooLarge, "Request body too large: the limit is %d bytes", limit)
}

// caller is who asks for a write to the catalog.
func (c *call) caller() apply.Caller {
	return apply.Caller{Token: c.tokenOf(c.r.Header), Source: "http"}
}

// ownDatacenter refuses requests for others where nothing could forward them.
func (c *call) ownDatacenter() error {
	if c.dc != "" && c.dc != c.s.cfg.Datacenter {
		return model.Errorf(model.KindNoPath, "No path to datacenter")
	}
	return nil
}

// need refuses an empty id.
func (c *call) need(text string) error {
	if c.id == "" {
		return model.Errorf(model.KindInvalid, "%s", text)
	}
	return nil
}
