package rpc

import (
	"errors"
	"net"
	"time"
)

const remedyForeign = "only Muster servers may connect to this port: Consul servers and agents can't share a cluster with Muster; take this address out of their configuration"

// refusedError is a connection that was not admitted. Its own reason has been logged.
type refusedError struct{ error }

func (e *refusedError) Unwrap() error { return e.error }

// refuse counts and logs a connection that came to nothing.
func (m *Mux) refuse(from net.Addr, err error) {
	var foreign *foreignError
	var limited *refusedError
	switch {
	case errors.As(err, &limited):
		m.m.refused.WithLabelValues("limit").Inc()
	case errors.As(err, &foreign):
		m.m.refused.WithLabelValues("foreign").Inc()
		if ok, count := m.foreign.Now(time.Now()); ok {
			m.cfg.Logger.Warn("foreign connection refused", "addr", from, "err", err, "count", count, "remedy", remedyForeign)
		}
	case errors.Is(err, errNotServed):
		m.m.refused.WithLabelValues("not_served").Inc()
	default:
		// Port scanners and health checkers connect and hang up.
		m.m.refused.WithLabelValues("incomplete").Inc()
		m.cfg.Logger.Debug("connection without preamble", "addr", from, "err", err)
	}
}
