//go:build !linux

package dnsapi

import (
	"context"
	"net"
	"time"
)

// listenUDP opens one socket: sharing a port evenly between sockets is Linux's.
func listenUDP(addr string, _ int) ([]*net.UDPConn, error) {
	a, err := net.ResolveUDPAddr("udp", addr)
	if err != nil {
		return nil, err
	}
	c, err := net.ListenUDP("udp", a)
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
		start := time.Now()
		reply, general := w.handle(ctx, in[:n], out[:0], true)
		if general {
			reply = s.later(ctx, in[:n], out, func(b []byte) { c.WriteToUDPAddrPort(b, from) })
		} else {
			w.counts.took(time.Since(start), 1)
		}
		if reply != nil {
			c.WriteToUDPAddrPort(reply, from)
		}
	}
}
