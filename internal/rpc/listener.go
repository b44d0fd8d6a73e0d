package rpc

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// listenerBacklog is how many connections wait for the kind's owner to accept
// them. gRPC and Raft accept at once; the rest is for a moment of load.
const listenerBacklog = 64

// listener hands out the connections of one kind.
type listener struct {
	addr  net.Addr
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newListener(addr net.Addr) *listener {
	return &listener{addr: addr, conns: make(chan net.Conn, listenerBacklog), done: make(chan struct{})}
}

// offer passes a connection on; false if the listener is closed or its owner too
// slow, and then the connection is still the caller's.
func (l *listener) offer(conn net.Conn, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-l.done:
		return false
	default:
	}
	select {
	case l.conns <- conn:
		return true
	case <-l.done:
	case <-timer.C:
	}
	return false
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case <-l.done:
		return nil, net.ErrClosed
	default:
	}
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener. It closes the connections that nobody accepted.
func (l *listener) Close() error {
	l.once.Do(func() { close(l.done) })
	l.sweep()
	return nil
}

// sweep closes what is queued. Mux calls it again once nobody offers any more.
func (l *listener) sweep() {
	for {
		select {
		case conn := <-l.conns:
			_ = conn.Close()
		default:
			return
		}
	}
}

// Addr implements net.Listener: the advertised address.
func (l *listener) Addr() net.Addr { return l.addr }

// raftLayer adds the dialling side that Raft wants.
type raftLayer struct {
	*listener
	dialer *Dialer
}

var _ raft.StreamLayer = raftLayer{}

// Dial implements raft.StreamLayer.
func (r raftLayer) Dial(address raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	ctx := context.Background()
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	return r.dialer.Dial(ctx, string(address), KindRaft)
}
