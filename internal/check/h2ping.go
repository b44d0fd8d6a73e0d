package check

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"

	"golang.org/x/net/http2"

	"github.com/muster-discovery/muster/internal/model"
)

// maxH2Frame is the largest frame that a peer may send before it was allowed
// larger ones (RFC 9113, section 4.2).
const maxH2Frame = 16 << 10

// h2PingProbe connects, begins HTTP/2 (RFC 9113) and sends one PING frame. An
// answer to it is passing.
type h2PingProbe struct {
	addr string
	dial DialFunc
	tls  *tls.Config // nil: HTTP/2 without TLS, with prior knowledge
	max  int
}

func newH2PingProbe(def *model.CheckDefinition, env *Env) (Probe, error) {
	host, _, err := net.SplitHostPort(def.H2PING)
	if err != nil {
		return nil, fmt.Errorf("target %q of check %q must be host:port", def.H2PING, def.ID)
	}
	p := &h2PingProbe{addr: def.H2PING, dial: env.dial(), max: env.OutputSize(def)}
	if def.H2PingUseTLS {
		p.tls = h2Config(def)
		if p.tls.ServerName == "" {
			p.tls.ServerName = host
		}
	}
	return p, nil
}

func (p *h2PingProbe) Run(ctx context.Context) Result {
	conn, err := p.connect(ctx)
	if err != nil {
		return critical(p.max, "Failed to dial to %s: %v", p.addr, err)
	}
	defer conn.Close()
	stop, err := bound(ctx, conn)
	if err == nil {
		defer stop()
		err = ping(conn)
	}
	if err != nil {
		return critical(p.max, "HTTP2 ping failed: %v", err)
	}
	return Result{Status: model.StatusPassing, Output: "HTTP2 ping was successful"}
}

// ping speaks as little HTTP/2 as it takes to send a ping and see its answer. The
// client of package http2 would do, but logs on its own when a target speaks
// something else.
func ping(conn net.Conn) error {
	var mark [8]byte
	rand.Read(mark[:])
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		return err
	}
	framer := http2.NewFramer(conn, bufio.NewReader(conn))
	framer.SetMaxReadFrameSize(maxH2Frame)
	if err := errors.Join(framer.WriteSettings(), framer.WritePing(false, mark)); err != nil {
		return err
	}
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			return err
		}
		switch f := frame.(type) {
		case *http2.SettingsFrame:
			if !f.IsAck() {
				if err := framer.WriteSettingsAck(); err != nil {
					return err
				}
			}
		case *http2.PingFrame:
			if f.IsAck() && f.Data == mark {
				return nil
			}
		case *http2.GoAwayFrame:
			return fmt.Errorf("server closes the connection: %v", f.ErrCode)
		}
	}
}

func (p *h2PingProbe) connect(ctx context.Context) (net.Conn, error) {
	conn, err := p.dial(ctx, "tcp", p.addr)
	if err != nil || p.tls == nil {
		return conn, err
	}
	secure := tls.Client(conn, p.tls)
	if err := secure.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, fmt.Errorf("TLS handshake: %w", err)
	}
	return secure, nil
}
