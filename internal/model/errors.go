package model

import (
	"errors"
	"fmt"
)

// ErrorKind classifies errors so that every edge can map them to its protocol in
// one table (HTTP status, DNS rcode, gRPC code).
type ErrorKind uint8

// The values travel between servers: never renumber, only append.
const (
	KindInternal    ErrorKind = 0
	KindInvalid     ErrorKind = 1 // the request can never succeed as it is
	KindNotFound    ErrorKind = 2
	KindDenied      ErrorKind = 3
	KindConflict    ErrorKind = 4 // a condition of the request does not hold (cas, guard, identity)
	KindTooLarge    ErrorKind = 5
	KindNotLeader   ErrorKind = 6  // this server can't commit; another may
	KindNoLeader    ErrorKind = 7  // no leader is known
	KindNoQuorum    ErrorKind = 8  // a leader without a majority
	KindUnavailable ErrorKind = 9  // starting, stopping, not yet synchronized
	KindUncertain   ErrorKind = 10 // the write may or may not have been committed
	KindLimit       ErrorKind = 11 // an admission limit; the text names it
	KindNoPath      ErrorKind = 12 // no path to the named datacenter
	KindNoSpace     ErrorKind = 13 // the disk is full; nothing was written
)

// Error is an error with a kind and, where the caller can act on it, the name of
// the offending field or one of the codes in kv.go. Text is the whole message for the client.
type Error struct {
	Kind  ErrorKind
	Field string
	Text  string
}

func (e *Error) Error() string { return e.Text }

// Errorf makes an Error of the given kind.
func Errorf(kind ErrorKind, format string, args ...any) error {
	return &Error{Kind: kind, Text: fmt.Sprintf(format, args...)}
}

// KindOf is the kind of the first Error in err's chain, else KindInternal.
func KindOf(err error) ErrorKind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return KindInternal
}
