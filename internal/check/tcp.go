package check

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"

	"github.com/muster-discovery/muster/internal/model"
)

// DialFunc opens a connection, like net.Dialer.DialContext.
type DialFunc func(ctx context.Context, network, addr string) (net.Conn, error)

func (e *Env) dial() DialFunc {
	if e != nil && e.Dial != nil {
		return e.Dial
	}
	// No keep-alives: a probe's connection lives for milliseconds.
	return (&net.Dialer{KeepAlive: -1}).DialContext
}

// tcpProbe connects and, if asked to, shakes hands.
type tcpProbe struct {
	addr string
	dial DialFunc
	tls  *tls.Config // nil: plain
	max  int
}

func newTCPProbe(def *model.CheckDefinition, env *Env) (Probe, error) {
	p := &tcpProbe{addr: def.TCP, dial: env.dial(), max: env.OutputSize(def)}
	if def.TCPUseTLS {
		p.tls = tlsConfig(def)
		if p.tls.ServerName == "" {
			// Without a name there is nothing to verify against.
			p.tls.ServerName, _, _ = net.SplitHostPort(def.TCP)
		}
	}
	return p, nil
}

func (p *tcpProbe) Run(ctx context.Context) Result {
	conn, err := p.dial(ctx, "tcp", p.addr)
	if err != nil {
		return critical(p.max, "%v", err)
	}
	defer conn.Close()
	if p.tls != nil {
		if err := tls.Client(conn, p.tls).HandshakeContext(ctx); err != nil {
			return critical(p.max, "TLS handshake with %s: %v", p.addr, err)
		}
	}
	return Result{Status: model.StatusPassing, Output: Tail(fmt.Sprintf("TCP connect %s: Success", p.addr), p.max)}
}

// tlsConfig is the TLS side of a definition.
func tlsConfig(def *model.CheckDefinition) *tls.Config {
	return &tls.Config{
		ServerName:         def.TLSServerName,
		InsecureSkipVerify: def.TLSSkipVerify, // the operator's explicit choice
	}
}
