package httpapi

import (
	"fmt"
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

// LimitPerClient is a listener that refuses new connections of an address which has
// limit of them open already, with an answer that names the limit. Clients without an IP address, on a Unix socket, are
// not limited. A limit of 0 is none. Refused is called for each of them; it may be
// nil.
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
		l.tell(conn, addr)
		l.refused(addr)
	}
}

const tooMany = "HTTP/1.1 429 Too Many Requests\r\nConnection: close\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\n\r\n%s"

// tell closes a connection with an answer that names the limit: a bare close looks
// like a fault of the network. A client that does not read it must not hold up
// the others.
func (l *limitListener) tell(conn net.Conn, addr netip.Addr) {
	text := fmt.Sprintf("more than %d connections from %s: close some, or raise limits.http_max_conns_per_client\n", l.limit, addr)
	_ = conn.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
	_, _ = fmt.Fprintf(conn, tooMany, len(text), text)
	_ = conn.Close()
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
