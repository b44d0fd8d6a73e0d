package httpapi

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/muster-discovery/muster/internal/acl"
)

// Requests bounds how much is asked of this server. Calls may overlap.
type Requests interface {
	Read() error
	Write() error
}

// Gate is where streams wait for their turn to get a snapshot. Leave may be called
// more than once.
type Gate interface {
	Enter(ctx context.Context) (leave func(), err error)
}

// exempt are paths that no rate bounds: what the agent answers by itself, and what
// operators need to mend a cluster that has too much to do.
var exempt = []string{"/v1/agent/", "/v1/status/", "/v1/operator/", "/v1/snapshot", "/debug/", "/muster/v1/snapshot/", "/muster/v1/watch/ack"}

// rate refuses what is over the limits of this server.
func (s *Server) rate(rt *route) error {
	if s.cfg.Requests == nil {
		return nil
	}
	for _, prefix := range exempt {
		if strings.HasPrefix(rt.path, prefix) {
			return nil
		}
	}
	if rt.method != get && rt.access == acl.Write {
		return s.cfg.Requests.Write()
	}
	return s.cfg.Requests.Read()
}

// enter waits at the gate, if there is one.
func (s *Server) enter(ctx context.Context) (leave func(), err error) {
	if s.cfg.Gate == nil {
		return func() {}, nil
	}
	return s.cfg.Gate.Enter(ctx)
}

// pauseOf is how long a client that was refused should wait, one second at least: the
// header has no smaller ones.
func pauseOf(err error) time.Duration {
	var r interface{ RetryAfter() time.Duration }
	if errors.As(err, &r) {
		return max(r.RetryAfter(), time.Second)
	}
	return time.Second
}

func retryAfter(err error) []string {
	return []string{strconv.Itoa(int(math.Ceil(pauseOf(err).Seconds())))}
}

const tooMany = "HTTP/1.1 429 Too Many Requests\r\nConnection: close\r\nRetry-After: %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\n\r\n%s\n"

// RefuseConn closes a connection with an answer that tells why: a bare close looks like
// a fault of the network. A client that does not read it must not hold up the others.
func RefuseConn(conn net.Conn, reason error) {
	text := reason.Error()
	_ = conn.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
	_, _ = fmt.Fprintf(conn, tooMany, retryAfter(reason)[0], len(text)+1, text)
	_ = conn.Close()
}

// putOff tells the client of a stream, which has had its status long since, when to
// come back.
func (w *watcher) putOff(err error) {
	w.buf = fmt.Appendf(w.buf, ": %s\nretry: %d\n\n", err, pauseOf(err).Milliseconds())
	w.flush()
	if w.err == nil {
		w.err = err
	}
}
