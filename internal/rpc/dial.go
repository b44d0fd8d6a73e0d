package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"

	"github.com/muster-discovery/muster/internal/model"
)

// dialTimeout bounds a dial with its preamble where the caller sets no deadline.
const dialTimeout = 5 * time.Second

// Wrap puts a layer around a connection whose preamble is done: TLS. It must
// respect the context's deadline, and close the connection if it fails.
type Wrap func(ctx context.Context, conn net.Conn) (net.Conn, error)

// Dialer connects to other servers' ports. The zero value is ready for use.
type Dialer struct {
	Wrap Wrap // nil: plain
	// Connect replaces the network, for tests.
	Connect func(ctx context.Context, addr string) (net.Conn, error)
}

// Dial connects to a server and announces the kind of stream. The context bounds
// the dial only, not the connection.
func (d *Dialer) Dial(ctx context.Context, addr string, kind Kind) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := d.connect(ctx, addr)
	if err != nil {
		return nil, fmt.Errorf("dial server %s: %w", addr, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	if err := greet(conn, kind); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("dial server %s: %w", addr, err)
	}
	if d.Wrap != nil {
		wrapped, err := d.Wrap(ctx, conn)
		if err != nil {
			return nil, fmt.Errorf("dial server %s: %w", addr, err)
		}
		conn = wrapped
	}
	if !stop() {
		_ = conn.Close()
		return nil, fmt.Errorf("dial server %s: %w", addr, context.Cause(ctx))
	}
	if err := conn.SetDeadline(time.Time{}); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("dial server %s: %w", addr, err)
	}
	return conn, nil
}

func (d *Dialer) connect(ctx context.Context, addr string) (net.Conn, error) {
	if d.Connect != nil {
		return d.Connect(ctx, addr)
	}
	var nd net.Dialer
	return nd.DialContext(ctx, "tcp", addr)
}

// greet sends the preamble and reads the answer.
func greet(conn net.Conn, kind Kind) error {
	if _, err := conn.Write(preamble(kind)); err != nil {
		return fmt.Errorf("send preamble: %w", err)
	}
	answer := make([]byte, preambleLen)
	n, err := io.ReadFull(conn, answer)
	got, _, parseErr := parsePreamble(answer[:n])
	switch {
	case err == nil && answer[n-1] == refused && string(answer[:n-1]) == magic:
		reason, _ := io.ReadAll(io.LimitReader(conn, maxReason))
		return fmt.Errorf("the connection was refused: %w", &model.Error{Kind: model.KindLimit, Text: string(reason)})
	case n > 0 && (parseErr != nil || err == nil && got != kind):
		return fmt.Errorf("the answer %q is not a Muster server's: check the address, Muster and Consul servers can't share a cluster", answer[:n])
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return fmt.Errorf("no greeting: it is stopping, or it is not a Muster server (Muster and Consul servers can't share a cluster): %w", err)
	case err != nil:
		return fmt.Errorf("no greeting: %w", err)
	}
	return nil
}
