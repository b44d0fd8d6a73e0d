package httpapi

import (
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// ServerConfig bounds what a connection may take. Start from DefaultServerConfig.
type ServerConfig struct {
	ReadHeaderTimeout time.Duration
	IdleTimeout       time.Duration
	// WriteTimeout bounds a whole answer, the wait of a blocking query included.
	// 0: no bound.
	WriteTimeout   time.Duration
	MaxHeaderBytes int
	// ConnState is called at every change of a connection's state; may be nil.
	ConnState func(net.Conn, http.ConnState)
	Logger    *slog.Logger
}

// DefaultServerConfig has bounds that no client of Consul meets: its longest wait
// is 10 minutes and a sixteenth.
func DefaultServerConfig() ServerConfig {
	return ServerConfig{
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		WriteTimeout:      12 * time.Minute,
		MaxHeaderBytes:    256 << 10,
	}
}

// NewServer makes the HTTP server for a handler. There is no ReadTimeout: it would
// end blocking queries. Handlers bound the reading of bodies themselves.
func NewServer(h http.Handler, c ServerConfig) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: c.ReadHeaderTimeout,
		IdleTimeout:       c.IdleTimeout,
		WriteTimeout:      c.WriteTimeout,
		MaxHeaderBytes:    c.MaxHeaderBytes,
		ConnState:         c.ConnState,
		ErrorLog:          slog.NewLogLogger(c.Logger.Handler(), slog.LevelDebug),
		// OPTIONS * too is for the handler to refuse.
		DisableGeneralOptionsHandler: true,
	}
}

// LimitPerClient is a listener that closes new connections of an address which has
// limit of them open already. Clients without an IP address, on a Unix socket, are
// not limited. A limit of 0 is none. Refused is called for each connection that is
// closed; it may be nil.
func LimitPerClient(l net.Listener, limit int, refused func(netip.Addr)) net.Listener {
	if limit <= 0 {
		return l
	}
	if refused == nil {
		refused = func(netip.Addr) {}
	}
	return &limitListener{Listener: l, limit: limit, refused: refused, open: map[netip.Addr]int{}}
}

type limitListener struct {
	net.Listener
	limit   int
	refused func(netip.Addr)

	mu   sync.Mutex
	open map[netip.Addr]int // guarded by mu
}

func (l *limitListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		tcp, ok := conn.RemoteAddr().(*net.TCPAddr)
		if !ok {
			return conn, nil
		}
		addr := tcp.AddrPort().Addr().Unmap()
		if l.take(addr) {
			return &limitedConn{Conn: conn, release: sync.OnceFunc(func() { l.give(addr) })}, nil
		}
		_ = conn.Close() // the refusal is all there is to tell
		l.refused(addr)
	}
}

func (l *limitListener) take(addr netip.Addr) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[addr] >= l.limit {
		return false
	}
	l.open[addr]++
	return true
}

func (l *limitListener) give(addr netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[addr]--; l.open[addr] <= 0 {
		delete(l.open, addr)
	}
}

type limitedConn struct {
	net.Conn
	release func()
}

func (c *limitedConn) Close() error {
	c.release()
	return c.Conn.Close()
}
