package dnsapi

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"time"
)

// maxQuestion bounds a question by TCP. Real ones are below 512 bytes; the rest is
// room for EDNS options.
const maxQuestion = 4096

func (s *Server) serveTCP(ctx context.Context, l *net.TCPListener) {
	for {
		c, err := l.AcceptTCP()
		if err != nil {
			if ctx.Err() != nil {
				return
			}
			s.log.Warn("dns tcp accept", "err", err)
			// Out of files, most likely: give others time to close theirs.
			select {
			case <-ctx.Done():
				return
			case <-time.After(50 * time.Millisecond):
			}
			continue
		}
		select {
		case s.conns <- struct{}{}:
		default:
			s.metrics.refused.Add(1)
			c.Close()
			continue
		}
		s.running.Go(func() {
			defer func() { <-s.conns }()
			s.serveConn(ctx, c)
		})
	}
}

// serveConn answers the questions of one connection in their order.
func (s *Server) serveConn(ctx context.Context, c *net.TCPConn) {
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	defer s.survive()
	w := s.workers.Get().(*worker)
	defer s.workers.Put(w)
	in, out := make([]byte, 512), make([]byte, 2, 1024)
	for {
		// One deadline for the whole question: a client that trickles bytes is cut.
		c.SetReadDeadline(time.Now().Add(s.config.TCPIdle))
		if _, err := io.ReadFull(c, in[:2]); err != nil {
			return
		}
		n := int(binary.BigEndian.Uint16(in))
		if n < headerSize || n > maxQuestion {
			return
		}
		if n > len(in) {
			in = make([]byte, n)
		}
		if _, err := io.ReadFull(c, in[:n]); err != nil {
			return
		}
		start := time.Now()
		reply, general := w.handle(ctx, in[:n], out[2:2:cap(out)], false)
		if general {
			reply = s.slow(ctx, in[:n], false)
		} else {
			w.counts.took(time.Since(start), 1)
		}
		if reply == nil {
			continue
		}
		// The reply stands in out unless it outgrew it.
		if len(reply)+2 > cap(out) {
			out = make([]byte, 2, len(reply)+2)
		}
		out = append(out[:2], reply...)
		binary.BigEndian.PutUint16(out, uint16(len(reply)))
		c.SetWriteDeadline(time.Now().Add(s.config.TCPIdle))
		if _, err := c.Write(out); err != nil {
			return
		}
	}
}
