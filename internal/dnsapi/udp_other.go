//go:build !linux

package dnsapi

import (
	"context"
	"net"
	"net/netip"
	"time"
)

// listenUDP opens one socket: sharing a port evenly between sockets is Linux's.
func listenUDP(network, addr string, _ int) ([]*net.UDPConn, error) {
	a, err := net.ResolveUDPAddr(network, addr)
	if err != nil {
		return nil, err
	}
	c, err := net.ListenUDP(network, a)
	if err != nil {
		return nil, err
	}
	return []*net.UDPConn{c}, nil
}

func (s *Server) serveUDP(ctx context.Context, c *net.UDPConn) {
	w := s.newReader()
	in, out := make([]byte, maxQuestion), make([]byte, maxUDPSize)
	for {
		n, from, err := c.ReadFromUDPAddrPort(in)
		if err != nil {
			if ctx.Err() != nil {
				return
			}
			continue // an ICMP error of an earlier answer
		}
		s.answerOne(ctx, c, w, in[:n], out, from)
	}
}

func (s *Server) answerOne(ctx context.Context, c *net.UDPConn, w *worker, in, out []byte, from netip.AddrPort) {
	defer s.survive()
	start := time.Now()
	if set := s.settings.Load(); set.limiter != nil {
		reply, limited := w.limited(set, from.Addr(), start, in, out[:0])
		if reply != nil {
			c.WriteToUDPAddrPort(reply, from)
		}
		if limited {
			return
		}
	}
	reply, general := w.handle(ctx, in, out[:0], true)
	if general {
		reply = s.later(ctx, in, out, func(b []byte) { c.WriteToUDPAddrPort(b, from) })
	} else {
		w.counts.took(time.Since(start), 1)
	}
	if reply != nil {
		c.WriteToUDPAddrPort(reply, from)
	}
}
