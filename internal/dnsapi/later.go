package dnsapi

import (
	"context"
	"slices"
)

// later answers a datagram on the general path in a goroutine of its own, so that
// the reader goes on. If too many wait already it returns the reply to send at once.
func (s *Server) later(ctx context.Context, in, out []byte, send func([]byte)) []byte {
	select {
	case s.pending <- struct{}{}:
	default:
		return s.busy(in, out)
	}
	in = slices.Clone(in)
	s.running.Go(func() {
		defer func() { <-s.pending }()
		if reply := s.slow(ctx, in, true); reply != nil {
			send(reply)
		}
	})
	return nil
}
