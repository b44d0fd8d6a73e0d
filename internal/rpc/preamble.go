package rpc

import (
	"fmt"
)

// Kind is what a connection is used for, the last byte of its preamble.
type Kind byte

const (
	KindRaft Kind = 'r'
	KindGRPC Kind = 'g'
	KindHTTP Kind = 'h' // requests that this agent's API passes on as they are
	KindHint Kind = 'w' // held to see it end, see package failover
)

// kindNames are the kinds there are, with their names in metrics.
var kindNames = map[Kind]string{KindRaft: "raft", KindGRPC: "grpc", KindHTTP: "http", KindHint: "hint"}

// A connection starts with "MST" and the kind. No Consul server starts one with
// an M: it sends a small number. The accepting side answers with the same four
// bytes before anything else, so that the dialling side knows that it has reached
// a Muster server, and that it lives: a dying process still completes TCP
// handshakes.
const (
	magic       = "MST"
	preambleLen = len(magic) + 1
)

// refused takes the place of the kind in the answer of a server that does not take the
// connection. The reason follows until the end.
const refused = '!'

// maxReason bounds the reason.
const maxReason = 512

func refusalText(reason error) []byte {
	text := append([]byte(magic), refused)
	return append(text, reason.Error()[:min(len(reason.Error()), maxReason)]...)
}

func preamble(k Kind) []byte { return append([]byte(magic), byte(k)) }

// foreignError says that the other side is not a Muster server.
type foreignError struct{ got []byte }

func (e *foreignError) Error() string {
	return fmt.Sprintf("connection starts with %q, not with Muster's preamble", e.got)
}

// parsePreamble reads the bytes received so far. It returns how many more are
// needed; 0 with a kind, or an error as soon as the bytes can't be a preamble.
func parsePreamble(b []byte) (kind Kind, missing int, err error) {
	for i := 0; i < min(len(b), len(magic)); i++ {
		if b[i] != magic[i] {
			return 0, 0, &foreignError{got: b[:i+1]}
		}
	}
	if len(b) < preambleLen {
		return 0, preambleLen - len(b), nil
	}
	kind = Kind(b[len(magic)])
	if _, ok := kindNames[kind]; ok {
		return kind, 0, nil
	}
	return 0, 0, &foreignError{got: b[:preambleLen]}
}
