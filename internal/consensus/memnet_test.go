package consensus

import (
	"errors"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// memNet joins servers by pipes: the real network transport, and time that is
// simulated.
type memNet struct {
	mu      sync.Mutex
	streams map[raft.ServerAddress]*memStream
}

func newMemNet() *memNet { return &memNet{streams: map[raft.ServerAddress]*memStream{}} }

// listen puts a server at an address.
func (n *memNet) listen(addr string) *memStream {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := &memStream{net: n, addr: raft.ServerAddress(addr), accepts: make(chan net.Conn), closed: make(chan struct{})}
	n.streams[s.addr] = s
	return s
}

// cut ends an address's connections and refuses new ones, or allows them again.
func (n *memNet) cut(addr string, cut bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := n.streams[raft.ServerAddress(addr)]
	s.cut = cut
	for _, c := range s.conns {
		c.Close()
	}
	s.conns = nil
}

// memStream is one server's raft.StreamLayer.
type memStream struct {
	net     *memNet
	addr    raft.ServerAddress
	accepts chan net.Conn
	closed  chan struct{}
	once    sync.Once

	// guarded by net.mu
	cut   bool
	conns []net.Conn
}

func (s *memStream) Accept() (net.Conn, error) {
	select {
	case c := <-s.accepts:
		return c, nil
	case <-s.closed:
		return nil, net.ErrClosed
	}
}

// Close also ends the connections: the transport leaves the idle ones that it has
// accepted to the stream layer.
func (s *memStream) Close() error {
	s.once.Do(func() {
		close(s.closed)
		s.net.cut(string(s.addr), true)
	})
	return nil
}

func (s *memStream) Addr() net.Addr { return memAddr(s.addr) }

type memAddr string

func (memAddr) Network() string  { return "mem" }
func (a memAddr) String() string { return string(a) }

var errRefused = errors.New("connection refused")

func (s *memStream) Dial(addr raft.ServerAddress, _ time.Duration) (net.Conn, error) {
	s.net.mu.Lock()
	peer := s.net.streams[addr]
	if peer == nil || peer.cut || s.cut {
		s.net.mu.Unlock()
		return nil, errRefused
	}
	near, far := net.Pipe()
	s.conns = append(s.conns, near)
	peer.conns = append(peer.conns, far)
	s.net.mu.Unlock()
	select {
	case peer.accepts <- far:
		return near, nil
	case <-peer.closed:
		return nil, errRefused
	}
}
