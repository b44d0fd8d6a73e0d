package failover

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/raft"
)

// simNet joins hosts by pipes, in simulated time.
type simNet struct {
	mu    sync.Mutex
	hosts map[string]*simHost
	// reject and drop say what becomes of new connections, by "from>to kind"; both empty
	// parts of the key stand for all.
	reject, drop map[string]bool
}

// simHost is a host with a process that listens for connections by their kind.
type simHost struct {
	net   *simNet
	addr  string
	ports map[string]*simPort

	// guarded by net.mu
	dead  bool
	conns []*simConn
}

type simPort struct {
	host   *simHost
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

type simConn struct {
	net.Conn
	kind, peer string
}

func newSimNet() *simNet {
	return &simNet{hosts: map[string]*simHost{}, reject: map[string]bool{}, drop: map[string]bool{}}
}

func (n *simNet) host(addr string) *simHost {
	n.mu.Lock()
	defer n.mu.Unlock()
	h := &simHost{net: n, addr: addr, ports: map[string]*simPort{}}
	for _, kind := range []string{"raft", "hint", "gossip"} {
		h.ports[kind] = &simPort{host: h, conns: make(chan net.Conn), closed: make(chan struct{})}
	}
	n.hosts[addr] = h
	return h
}

func refused() error {
	return &net.OpError{Op: "dial", Net: "sim", Err: syscall.ECONNREFUSED}
}

func (n *simNet) dial(ctx context.Context, from, to, kind string) (net.Conn, error) {
	n.mu.Lock()
	a, b := n.hosts[from], n.hosts[to]
	key := fmt.Sprintf("%s>%s %s", from, to, kind)
	switch {
	case n.drop[key]:
		n.mu.Unlock()
		ctx, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
		defer cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	case b == nil || b.dead || a.dead || n.reject[key]:
		n.mu.Unlock()
		return nil, refused()
	}
	near, far := net.Pipe()
	a.conns = append(a.conns, &simConn{near, kind, to})
	b.conns = append(b.conns, &simConn{far, kind, from})
	port := b.ports[kind]
	n.mu.Unlock()
	if kind == "gossip" {
		return near, nil // nobody reads: a knock only
	}
	select {
	case port.conns <- far:
		return near, nil
	case <-port.closed:
		_ = far.Close() // rpc's port greets before it looks for who serves the kind
		return near, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// kill ends a process: its connections end, new ones are refused.
func (n *simNet) kill(addr string) { n.end(addr, true, func(*simConn) bool { return true }) }

// hang has a host fall silent for its peers: connections neither end nor begin.
func (n *simNet) hang(addr string, kinds ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for other := range n.hosts {
		for _, kind := range kinds {
			n.drop[fmt.Sprintf("%s>%s %s", other, addr, kind)] = true
			n.drop[fmt.Sprintf("%s>%s %s", addr, other, kind)] = true
		}
	}
}

// heal undoes hang.
func (n *simNet) heal() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.drop)
}

// cut ends the connections of a kind between two hosts, once.
func (n *simNet) cut(a, b, kind string) {
	n.end(a, false, func(c *simConn) bool { return c.kind == kind && c.peer == b })
}

func (n *simNet) end(addr string, dead bool, which func(*simConn) bool) {
	n.mu.Lock()
	h := n.hosts[addr]
	h.dead = h.dead || dead
	var ended []*simConn
	h.conns = slices.DeleteFunc(h.conns, func(c *simConn) bool {
		if which(c) {
			ended = append(ended, c)
			return true
		}
		return false
	})
	n.mu.Unlock()
	for _, c := range ended {
		_ = c.Close()
	}
}

func (n *simNet) setReject(from, to, kind string, on bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.reject[fmt.Sprintf("%s>%s %s", from, to, kind)] = on
}

func (n *simNet) revive(addr string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hosts[addr].dead = false
}

// knock is a Config.Knock.
func (h *simHost) knock(ctx context.Context, addr string) error {
	host, _, _ := net.SplitHostPort(addr)
	conn, err := h.net.dial(ctx, h.addr, host, "gossip")
	if err == nil {
		_ = conn.Close()
	}
	return err
}

func (h *simHost) dialHint(ctx context.Context, addr string) (net.Conn, error) {
	return h.net.dial(ctx, h.addr, addr, "hint")
}

// simPort is a net.Listener, and with Dial a raft.StreamLayer.
func (p *simPort) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *simPort) Close() error {
	p.once.Do(func() {
		close(p.closed)
		for kind, port := range p.host.ports {
			if port == p {
				p.host.net.end(p.host.addr, false, func(c *simConn) bool { return c.kind == kind })
			}
		}
	})
	return nil
}

func (p *simPort) Addr() net.Addr { return simAddr(p.host.addr) }

func (p *simPort) Dial(addr raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return p.host.net.dial(ctx, p.host.addr, string(addr), "raft")
}

type simAddr string

func (simAddr) Network() string  { return "sim" }
func (a simAddr) String() string { return string(a) }
