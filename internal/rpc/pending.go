package rpc

import (
	"container/list"
	"net"
	"sync"
)

// pending holds the connections in their handshake, oldest first, and bounds
// their number by closing the oldest.
type pending struct {
	limit int

	mu     sync.Mutex
	conns  list.List // of net.Conn
	closed bool
}

func newPending(limit int) *pending { return &pending{limit: limit} }

// add takes a connection in. If there are too many, the oldest is closed, which
// ends its handshake.
func (p *pending) add(conn net.Conn) (ticket *list.Element, evicted bool) {
	p.mu.Lock()
	var victim net.Conn
	if p.closed {
		victim = conn
	} else if p.conns.Len() >= p.limit {
		victim = p.conns.Remove(p.conns.Front()).(net.Conn)
		evicted = true
	}
	ticket = p.conns.PushBack(conn)
	p.mu.Unlock()
	if victim != nil {
		_ = victim.Close()
	}
	return ticket, evicted
}

// remove forgets a connection whose handshake has ended. Removing twice is
// harmless.
func (p *pending) remove(ticket *list.Element) {
	p.mu.Lock()
	p.conns.Remove(ticket)
	p.mu.Unlock()
}

func (p *pending) len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.conns.Len()
}

// closeAll closes all connections in their handshake, and those that come later.
func (p *pending) closeAll() {
	p.mu.Lock()
	p.closed = true
	var victims []net.Conn
	for e := p.conns.Front(); e != nil; e = e.Next() {
		victims = append(victims, e.Value.(net.Conn))
	}
	p.mu.Unlock()
	for _, c := range victims {
		_ = c.Close()
	}
}
