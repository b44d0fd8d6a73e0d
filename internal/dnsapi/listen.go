package dnsapi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"syscall"
)

// listener is one address, with a TCP listener and some UDP sockets.
type listener struct {
	tcp *net.TCPListener
	udp []*net.UDPConn
}

// Listen opens all sockets, so that errors come before anything runs.
func (s *Server) Listen() error {
	for i, addr := range s.config.Addrs {
		if slices.Contains(s.config.Addrs[:i], addr) && !strings.HasSuffix(addr, ":0") {
			continue
		}
		l, err := listen(addr, s.family(addr), s.config.Sockets)
		if err != nil {
			s.close()
			return explain(addr, err)
		}
		s.listeners = append(s.listeners, l)
		s.log.Info("dns server listens", "addr", l.tcp.Addr().String())
	}
	return nil
}

// family is "4" or "6" for a wildcard that has an address of the other family with
// the same port beside it. By itself either wildcard takes both families, and the
// other address could not be opened.
func (s *Server) family(addr string) string {
	a, err := netip.ParseAddrPort(addr)
	if err != nil || a.Port() == 0 || !a.Addr().IsUnspecified() {
		return ""
	}
	for _, other := range s.config.Addrs {
		if b, err := netip.ParseAddrPort(other); err != nil || b.Port() != a.Port() || b.Addr().Is4() == a.Addr().Is4() {
			continue
		}
		if a.Addr().Is4() {
			return "4"
		}
		return "6"
	}
	return ""
}

// listensAt reports whether a listener at own would be reached at addr. Of a
// wildcard's addresses only the loopback ones are known to be its own.
func listensAt(own, addr string) bool {
	a, err := netip.ParseAddrPort(own)
	b, err2 := netip.ParseAddrPort(addr)
	if err != nil || err2 != nil || a.Port() != b.Port() {
		return false
	}
	return a.Addr() == b.Addr() || a.Addr().IsUnspecified() && (b.Addr().IsLoopback() || b.Addr().IsUnspecified())
}

// Addrs are the addresses in use, once Listen has returned.
func (s *Server) Addrs() []net.Addr {
	var out []net.Addr
	for _, l := range s.listeners {
		out = append(out, l.tcp.Addr())
	}
	return out
}

// Run serves until ctx ends, then closes the sockets and waits for everything it
// started. It listens first if Listen was not called.
func (s *Server) Run(ctx context.Context) error {
	if s.listeners == nil {
		if err := s.Listen(); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, l := range s.listeners {
		s.running.Go(func() { s.serveTCP(ctx, l.tcp) })
		for _, c := range l.udp {
			s.running.Go(func() { s.serveUDP(ctx, c) })
		}
	}
	<-ctx.Done()
	s.close()
	s.running.Wait()
	return nil
}

func (s *Server) close() {
	for _, l := range s.listeners {
		l.close()
	}
}

func (l *listener) close() {
	if l.tcp != nil {
		l.tcp.Close()
	}
	for _, c := range l.udp {
		c.Close()
	}
}

// listen opens one address. With port 0 UDP takes the port that TCP got.
func listen(addr, family string, sockets int) (*listener, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	for attempt := 0; ; attempt++ {
		l, err := listenOnce(addr, host, family, sockets)
		// The port that TCP was given may be taken for UDP.
		if err != nil && port == "0" && attempt < 10 && errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		return l, err
	}
}

func listenOnce(addr, host, family string, sockets int) (*listener, error) {
	tcp, err := net.Listen("tcp"+family, addr)
	if err != nil {
		return nil, err
	}
	l := &listener{tcp: tcp.(*net.TCPListener)}
	_, port, _ := net.SplitHostPort(tcp.Addr().String())
	l.udp, err = listenUDP("udp"+family, net.JoinHostPort(host, port), sockets)
	if err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// explain adds the remedy to errors that operators meet.
func explain(addr string, err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("dns: listen on %s: %w: another process has this port; stop it, or set another one with -dns-port or ports.dns (-1 turns DNS off)", addr, err)
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("dns: listen on %s: %w: ports below 1024 need CAP_NET_BIND_SERVICE; set another one with -dns-port and forward to it", addr, err)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("dns: listen on %s: %w: no interface has this address; check -client and addresses.dns", addr, err)
	}
	return fmt.Errorf("dns: listen on %s: %w", addr, err)
}
