package httpapi

import (
	"context"
	"errors"
	"net/http"

	"github.com/muster-discovery/muster/internal/model"
)

// statuses is the table from error kinds to HTTP. What Consul's servers refuse
// reaches its clients as 500, also where the request is at fault: rpc is for errors
// of lookups and catalog writes, edge for those found on this agent.
var statuses = [...]struct{ edge, rpc int }{
	model.KindInternal:    {http.StatusInternalServerError, http.StatusInternalServerError},
	model.KindInvalid:     {http.StatusBadRequest, http.StatusInternalServerError},
	model.KindNotFound:    {http.StatusNotFound, http.StatusNotFound},
	model.KindDenied:      {http.StatusForbidden, http.StatusForbidden},
	model.KindConflict:    {http.StatusConflict, http.StatusInternalServerError},
	model.KindTooLarge:    {http.StatusRequestEntityTooLarge, http.StatusRequestEntityTooLarge},
	model.KindNotLeader:   {http.StatusInternalServerError, http.StatusInternalServerError},
	model.KindNoLeader:    {http.StatusInternalServerError, http.StatusInternalServerError},
	model.KindNoQuorum:    {http.StatusInternalServerError, http.StatusInternalServerError},
	model.KindUnavailable: {http.StatusServiceUnavailable, http.StatusServiceUnavailable},
	model.KindUncertain:   {http.StatusInternalServerError, http.StatusInternalServerError},
	model.KindLimit:       {http.StatusTooManyRequests, http.StatusTooManyRequests},
	model.KindNoPath:      {http.StatusInternalServerError, http.StatusInternalServerError},
	// Not 500: that Consul's clients try again at once.
	model.KindNoSpace: {http.StatusInsufficientStorage, http.StatusInsufficientStorage},
}

// rpcError marks an error as one of a lookup or a catalog write.
type rpcError struct{ error }

func (e rpcError) Unwrap() error { return e.error }

func rpc(err error) error {
	if err == nil {
		return nil
	}
	return rpcError{err}
}

// statusError is an error with a status that the table would not give it.
type statusError struct {
	status int
	text   string
}

func (e *statusError) Error() string { return e.text }

func statusOf(err error) int {
	var s *statusError
	if errors.As(err, &s) {
		return s.status
	}
	kind := model.KindOf(err)
	if int(kind) >= len(statuses) {
		kind = model.KindInternal
	}
	var r rpcError
	if errors.As(err, &r) {
		return statuses[kind].rpc
	}
	return statuses[kind].edge
}

// fail answers with an error: its text and nothing else.
func (c *call) fail(err error) {
	if c.wrote {
		return
	}
	if errors.Is(err, context.Canceled) {
		// The client is gone, or else the agent is going.
		err = model.Errorf(model.KindUnavailable, "request canceled: the agent is shutting down")
	}
	var r rpcError
	if c.route != nil && c.route.options&tellsIndex != 0 && errors.As(err, &r) {
		h := c.w.Header()
		h["X-Consul-Index"] = valueOne
		h["X-Consul-Knownleader"] = valueFalse
		h["X-Consul-Lastcontact"] = valueZero
	}
	status := statusOf(err)
	if status == http.StatusTooManyRequests {
		c.w.Header()["Retry-After"] = retryAfter(err)
	}
	if status == http.StatusInternalServerError && model.KindOf(err) == model.KindInternal {
		c.s.cfg.Logger.Warn("request failed", "method", c.r.Method, "path", c.r.URL.Path, "err", err)
	}
	c.text(status, err.Error())
}
