package rpc

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/muster-discovery/muster/internal/model"
)

// transportError is a call that failed on the way, not in the handler.
type transportError struct {
	server string
	method string
	sent   bool // the request may have reached the server
	status *status.Status
	cause  error // the context's error, if that ended the call
}

func (e *transportError) Error() string {
	what := e.status.Message()
	switch {
	case errors.Is(e.cause, context.Canceled):
		what = "canceled by the caller"
	case errors.Is(e.cause, context.DeadlineExceeded):
		what = "no answer in time"
	case e.status.Code() == codes.Unimplemented:
		what = "that server's version does not know the call; upgrade it"
	}
	return fmt.Sprintf("%s at server %s: %s", e.method, e.server, what)
}

func (e *transportError) Unwrap() error { return e.cause }

// callError is the error for the caller, with the kind that tells whether the call
// may be repeated: Unavailable if the request can't have been carried out,
// Uncertain if it may have been.
func (e *transportError) callError(mayRepeat bool) error {
	switch {
	case e.status.Code() == codes.Unimplemented:
		// It never reached a handler, and repeating won't help.
		return &model.Error{Kind: model.KindInternal, Text: e.Error()}
	case e.sent && !mayRepeat:
		return e.unanswered(&model.Error{Kind: model.KindUncertain, Text: e.Error() + "; the write may or may not have been carried out"})
	}
	return e.unanswered(&model.Error{Kind: model.KindUnavailable, Text: e.Error()})
}

// unanswered marks errors that are the server's or the network's fault.
func (e *transportError) unanswered(err *model.Error) error {
	if errors.Is(e.cause, context.Canceled) {
		return err
	}
	return &unansweredError{err}
}

// unansweredError is for calls to which the server gave no answer.
type unansweredError struct{ err *model.Error }

func (e *unansweredError) Error() string { return e.err.Text }
func (e *unansweredError) Unwrap() error { return e.err }

// Unanswered tells errors after which another server should be tried from those that
// the server itself answered with.
func Unanswered(err error) bool {
	var e *unansweredError
	return errors.As(err, &e)
}

// result is the metrics label.
func (e *transportError) result() string {
	if e.sent {
		return "uncertain"
	}
	return "not_sent"
}
