package check

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/muster-discovery/muster/internal/model"
)

// udpProbe sends one empty datagram and listens. UDP has no handshake, so a
// target that says nothing until the timeout counts as well, as it does for
// existing agents: only an error is bad news, in practice the ICMP message that
// nobody listens on the port. A healthy silent target therefore takes the whole
// timeout. Names that can't be resolved are critical.
type udpProbe struct {
	addr string
	dial DialFunc
	max  int
}

func newUDPProbe(def *model.CheckDefinition, env *Env) (Probe, error) {
	return &udpProbe{addr: def.UDP, dial: env.dial(), max: env.OutputSize(def)}, nil
}

func (p *udpProbe) Run(ctx context.Context) Result {
	conn, err := p.dial(ctx, "udp", p.addr)
	if err != nil {
		return critical(p.max, "%v", err)
	}
	defer conn.Close()
	if err := p.listen(ctx, conn); err != nil {
		return critical(p.max, "%v", err)
	}
	return Result{Status: model.StatusPassing, Output: Tail(fmt.Sprintf("UDP connect %s: Success", p.addr), p.max)}
}

// listen returns an error if there was one before the deadline of ctx.
func (p *udpProbe) listen(ctx context.Context, conn net.Conn) error {
	stop, err := bound(ctx, conn)
	if err != nil {
		return err
	}
	defer stop()
	if _, err := conn.Write(nil); err != nil {
		return err
	}
	_, err = conn.Read(make([]byte, 1))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	return err
}

// bound makes a connection end with ctx: at its deadline with
// os.ErrDeadlineExceeded, and at once when the check is removed. stop must be
// called when the connection is done with.
func bound(ctx context.Context, conn net.Conn) (stop func() bool, err error) {
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(DefaultTimeout)
	}
	if err := conn.SetDeadline(deadline); err != nil {
		return nil, err
	}
	return context.AfterFunc(ctx, func() {
		if errors.Is(ctx.Err(), context.Canceled) {
			conn.Close()
		}
	}), nil
}

// critical is a result with an output for humans.
func critical(limit int, format string, args ...any) Result {
	return Result{Status: model.StatusCritical, Output: Tail(fmt.Sprintf(format, args...), limit)}
}
