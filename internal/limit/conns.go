package limit

import (
	"net"
	"net/netip"
	"sync"
)

// Conns bounds the connections of one client: an IP address. Clients without one, on
// a Unix socket, are not limited.
type Conns struct {
	*meter
	key string

	mu    sync.Mutex
	limit int                // guarded by mu; 0: none
	open  map[netip.Addr]int // guarded by mu
}

func (c *Conns) set(limit int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.limit = limit
}

// Admit counts a connection until the returned one is closed, which then has to be
// used in its place. On an error, a *Refusal, conn is still the caller's. A nil Conns
// lets everything in.
func (c *Conns) Admit(conn net.Conn) (net.Conn, error) {
	if c == nil {
		return conn, nil
	}
	tcp, ok := conn.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return conn, nil
	}
	addr := tcp.AddrPort().Addr().Unmap().WithZone("")
	if limit, ok := c.take(addr); !ok {
		return nil, c.over(true, connPause, "too many connections: %s has %d open, and %s is %d; close some, use each for more requests, or raise it",
			addr, limit, c.key, limit)
	}
	return &counted{Conn: conn, release: sync.OnceFunc(func() { c.give(addr) })}, nil
}

func (c *Conns) take(addr netip.Addr) (limit int, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.limit > 0 && c.open[addr] >= c.limit {
		return c.limit, false
	}
	c.open[addr]++
	return c.limit, true
}

func (c *Conns) give(addr netip.Addr) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open[addr]--; c.open[addr] <= 0 {
		delete(c.open, addr)
	}
}

type counted struct {
	net.Conn
	release func()
}

func (c *counted) Close() error {
	c.release()
	return c.Conn.Close()
}

// Listener accepts what c admits. Refused is given every other connection with the
// reason; it must close it, and not wait long.
func Listener(l net.Listener, c *Conns, refused func(net.Conn, error)) net.Listener {
	return &listener{Listener: l, conns: c, refused: refused}
}

type listener struct {
	net.Listener
	conns   *Conns
	refused func(net.Conn, error)
}

func (l *listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		admitted, err := l.conns.Admit(conn)
		if err == nil {
			return admitted, nil
		}
		l.refused(conn, err)
	}
}
