package rpc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/raft"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/muster-discovery/muster/internal/telemetry"
)

const (
	// defaultHandshake is ample for four bytes, which a Muster server sends with its
	// first packet, and for what Wrap does.
	defaultHandshake = 5 * time.Second
	// refusedHandshake is how long a connection that is refused may take to hear so.
	refusedHandshake = 250 * time.Millisecond
	// maxPending bounds connections whose preamble is outstanding. Beyond it the
	// one that has been silent for longest is closed: an honest one is hardly
	// ever that.
	maxPending = 256
	// acceptPause keeps a failing accept (no file descriptors left) from spinning.
	acceptPause = 50 * time.Millisecond
)

// MuxConfig is what Listen needs.
type MuxConfig struct {
	Addr string // host:port to listen on
	// Advertise is the address under which other servers reach this one; empty:
	// the one listened on.
	Advertise string
	Wrap      Wrap // around accepted connections; nil: plain
	// HandshakeTimeout bounds preamble and Wrap; 0: 5 s.
	HandshakeTimeout time.Duration
	// Admit decides on each connection and returns the one to use in its place; the text
	// of its error is for the other side. Nil: all are admitted.
	Admit    func(net.Conn) (net.Conn, error)
	Dialer   *Dialer // for Raft's connections; nil: a plain one
	Logger   *slog.Logger
	Registry prometheus.Registerer
	// Listener replaces the network, for tests; Addr is then only a name.
	Listener net.Listener
}

// Mux shares the server port between the kinds of connections.
type Mux struct {
	cfg     MuxConfig
	ln      net.Listener
	addr    net.Addr
	kinds   map[Kind]*listener // read-only
	m       *muxMetrics
	pending *pending
	foreign telemetry.Rarely
	wg      sync.WaitGroup
	ctx     context.Context // canceled by Close: ends handshakes
	cancel  context.CancelFunc
	once    sync.Once
	err     error
}

// Listen opens the server port and starts to accept. Connections of a kind whose
// listener nobody serves are closed after a while.
func Listen(cfg MuxConfig) (*Mux, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	cfg.Logger = cfg.Logger.With("component", "rpc")
	if cfg.Dialer == nil {
		cfg.Dialer = &Dialer{}
	}
	if cfg.HandshakeTimeout <= 0 {
		cfg.HandshakeTimeout = defaultHandshake
	}
	ln, err := listen(cfg)
	if err != nil {
		return nil, err
	}
	m := &Mux{cfg: cfg, ln: ln, pending: newPending(maxPending)}
	if m.addr, err = advertised(cfg.Advertise, ln.Addr()); err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	if m.m, err = newMuxMetrics(cfg.Registry, m.pending); err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	m.kinds = make(map[Kind]*listener, len(kindNames))
	for kind := range kindNames {
		m.kinds[kind] = newListener(m.addr)
	}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	m.wg.Go(m.acceptLoop)
	return m, nil
}

func listen(cfg MuxConfig) (net.Listener, error) {
	if cfg.Listener != nil {
		return cfg.Listener, nil
	}
	ln, err := net.Listen("tcp", cfg.Addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("rpc: the server port %s is taken (is another agent running? stop it, or choose another port with ports.server): %w", cfg.Addr, err)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return nil, fmt.Errorf("rpc: %s is not an address of this machine (correct bind_addr): %w", cfg.Addr, err)
	case err != nil:
		return nil, fmt.Errorf("rpc: open the server port %s: %w", cfg.Addr, err)
	}
	return ln, nil
}

// advertised is the address that Raft announces. The port may be left out of it
// or 0 to mean the one listened on.
func advertised(addr string, actual net.Addr) (net.Addr, error) {
	if addr == "" {
		return actual, nil
	}
	tcp, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("rpc: advertise address %q: %w", addr, err)
	}
	if own, ok := actual.(*net.TCPAddr); ok && tcp.Port == 0 {
		tcp.Port = own.Port
	}
	return tcp, nil
}

// Addr is the advertised address.
func (m *Mux) Addr() net.Addr { return m.addr }

// Raft is the stream layer for Raft's network transport.
func (m *Mux) Raft() raft.StreamLayer {
	return raftLayer{listener: m.kinds[KindRaft], dialer: m.cfg.Dialer}
}

// Listener is where connections of a kind are accepted.
func (m *Mux) Listener(k Kind) net.Listener { return m.kinds[k] }

// Close stops accepting, closes connections that nobody has taken over, and waits
// for all goroutines. Connections in use belong to Raft and gRPC.
func (m *Mux) Close() error {
	m.once.Do(func() {
		m.cancel()
		m.err = m.ln.Close()
		m.pending.closeAll()
		for _, l := range m.kinds {
			_ = l.Close()
		}
		m.wg.Wait()
		for _, l := range m.kinds {
			l.sweep()
		}
		m.m.Unregister()
	})
	return m.err
}

func (m *Mux) acceptLoop() {
	for {
		conn, err := m.ln.Accept()
		if err == nil {
			m.admit(conn)
			continue
		}
		if m.ctx.Err() != nil {
			return
		}
		m.cfg.Logger.Warn("accept failed", "err", err)
		select {
		case <-time.After(acceptPause):
		case <-m.ctx.Done():
			return
		}
	}
}

// admit starts the handshake of an accepted connection.
func (m *Mux) admit(conn net.Conn) {
	var refusal error
	if m.cfg.Admit != nil {
		if admitted, err := m.cfg.Admit(conn); err != nil {
			refusal = &refusedError{err}
		} else {
			conn = admitted
		}
	}
	ticket, evicted := m.pending.add(conn)
	if evicted {
		m.m.refused.WithLabelValues("silent").Inc()
	}
	m.wg.Go(func() {
		defer m.pending.remove(ticket)
		if err := m.handshake(conn, refusal); err != nil {
			_ = conn.Close()
			m.refuse(conn.RemoteAddr(), err)
		}
	})
}

// handshake reads the preamble, answers it and passes the connection on, unless it is
// to be refused.
func (m *Mux) handshake(conn net.Conn, refusal error) error {
	deadline := time.Now().Add(m.cfg.HandshakeTimeout)
	if refusal != nil {
		deadline = time.Now().Add(refusedHandshake)
	}
	if err := conn.SetDeadline(deadline); err != nil {
		return err
	}
	kind, err := readPreamble(conn)
	switch {
	case err != nil:
		return err
	case refusal != nil:
		_, _ = conn.Write(refusalText(refusal)) // the reason is for the other side; it is closed anyway
		return refusal
	}
	if _, err := conn.Write(preamble(kind)); err != nil {
		return fmt.Errorf("answer preamble: %w", err)
	}
	if m.cfg.Wrap != nil {
		ctx, cancel := context.WithDeadline(m.ctx, deadline)
		defer cancel()
		if conn, err = m.cfg.Wrap(ctx, conn); err != nil {
			return fmt.Errorf("wrap connection: %w", err)
		}
	}
	if err := conn.SetDeadline(time.Time{}); err != nil {
		return err
	}
	if !m.kinds[kind].offer(conn, time.Until(deadline)) {
		return errNotServed
	}
	m.m.accepted.WithLabelValues(kindNames[kind]).Inc()
	return nil
}

var errNotServed = errors.New("nobody accepts connections of this kind")

// readPreamble reads no more than needed to decide: a foreign peer that waits for
// an answer to its first byte is refused at once.
func readPreamble(conn net.Conn) (Kind, error) {
	var buf [preambleLen]byte
	n := 0
	for {
		kind, missing, err := parsePreamble(buf[:n])
		if err != nil || missing == 0 {
			return kind, err
		}
		k, err := conn.Read(buf[n:])
		if n += k; k == 0 && err != nil {
			return 0, fmt.Errorf("read preamble: %w", err)
		}
	}
}
