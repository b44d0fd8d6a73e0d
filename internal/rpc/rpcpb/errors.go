package rpcpb

import (
	"errors"
	"math"

	"github.com/muster-discovery/muster/internal/model"
)

// FromError makes the message for err; nil for nil. An error without a kind
// becomes an internal one with its whole text.
func FromError(err error) *Error {
	if err == nil {
		return nil
	}
	var e *model.Error
	if errors.As(err, &e) {
		return &Error{Kind: uint32(e.Kind), Field: e.Field, Text: e.Text}
	}
	return &Error{Kind: uint32(model.KindInternal), Text: err.Error()}
}

// Err is the error that FromError was given, as a *model.Error; nil for nil.
// Kinds that this version does not know are kept: edges treat them as internal.
func (x *Error) Err() error {
	if x == nil {
		return nil
	}
	kind := model.KindInternal
	if x.GetKind() <= math.MaxUint8 {
		kind = model.ErrorKind(x.GetKind())
	}
	return &model.Error{Kind: kind, Field: x.GetField(), Text: x.GetText()}
}
