// Package gossiptest is a network in memory for gossip pools, made for synctest
// bubbles: packets go through bounded channels that drop, streams are net.Pipe,
// dead hosts refuse, cut links swallow. It starts no goroutine of its own.
//
// memberlist's own MockNetwork does not serve: it blocks a sender for ever once
// its peer is shut down.
package gossiptest

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/memberlist"
)

// backlog is the capacity of a host's packet and stream queues; what does not fit
// is dropped, as by a kernel.
const backlog = 256

// Network connects the transports made by Host. All methods may be called at the
// same time.
type Network struct {
	mu    sync.Mutex
	hosts map[string]*Transport
	cuts  map[[2]string]bool
	delay time.Duration
}

// New is a network without hosts.
func New() *Network {
	return &Network{hosts: make(map[string]*Transport), cuts: make(map[[2]string]bool)}
}

// Host makes the transport of one pool at ip:port. A host that was shut down may
// be made again.
func (n *Network) Host(ip string, port int) *Transport {
	t := &Transport{
		net: n, ip: net.ParseIP(ip).To4(), port: port,
		packets: make(chan *memberlist.Packet, backlog),
		streams: make(chan net.Conn, backlog),
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.hosts[t.String()] != nil {
		panic("gossiptest: " + t.String() + " is in use")
	}
	n.hosts[t.String()] = t
	return t
}

// Cut makes the link between two IPs swallow everything, both ways.
func (n *Network) Cut(a, b string) { n.setCut(a, b, true) }

// Heal undoes Cut.
func (n *Network) Heal(a, b string) { n.setCut(a, b, false) }

func (n *Network) setCut(a, b string, cut bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, link := range [][2]string{{a, b}, {b, a}} {
		if cut {
			n.cuts[link] = true
		} else {
			delete(n.cuts, link)
		}
	}
}

// Delay makes each packet, and the opening of each stream, take d.
func (n *Network) Delay(d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.delay = d
}

// Send delivers raw bytes to addr, as anyone on the network could.
func (n *Network) Send(from net.Addr, addr string, b []byte) {
	n.mu.Lock()
	to := n.hosts[addr]
	n.mu.Unlock()
	if to != nil {
		to.receive(from, b)
	}
}

// route finds the host at addr. It is nil with cut false if there is none.
func (n *Network) route(from *Transport, addr string) (to *Transport, cut bool, delay time.Duration) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, false, 0
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.hosts[addr], n.cuts[[2]string{from.ip.String(), host}], n.delay
}

// Transport is one host's end. It implements memberlist.NodeAwareTransport.
type Transport struct {
	net     *Network
	ip      net.IP
	port    int
	packets chan *memberlist.Packet
	streams chan net.Conn

	mu     sync.Mutex
	closed bool
}

var _ memberlist.NodeAwareTransport = (*Transport)(nil)

// Network and String make the transport its own net.Addr.
func (t *Transport) Network() string { return "gossiptest" }

func (t *Transport) String() string { return net.JoinHostPort(t.ip.String(), strconv.Itoa(t.port)) }

// FinalAdvertiseAddr implements memberlist.Transport.
func (t *Transport) FinalAdvertiseAddr(string, int) (net.IP, int, error) { return t.ip, t.port, nil }

// WriteTo implements memberlist.Transport.
func (t *Transport) WriteTo(b []byte, addr string) (time.Time, error) {
	now := time.Now()
	if t.isClosed() {
		return now, net.ErrClosed
	}
	to, cut, delay := t.net.route(t, addr)
	if to == nil || cut {
		return now, nil
	}
	b = append([]byte(nil), b...)
	if delay == 0 {
		to.receive(t, b)
	} else {
		time.AfterFunc(delay, func() { to.receive(t, b) })
	}
	return now, nil
}

// WriteToAddress implements memberlist.NodeAwareTransport.
func (t *Transport) WriteToAddress(b []byte, a memberlist.Address) (time.Time, error) {
	return t.WriteTo(b, a.Addr)
}

func (t *Transport) receive(from net.Addr, b []byte) {
	if t.isClosed() {
		return
	}
	select {
	case t.packets <- &memberlist.Packet{Buf: b, From: from, Timestamp: time.Now()}:
	default:
	}
}

// PacketCh implements memberlist.Transport.
func (t *Transport) PacketCh() <-chan *memberlist.Packet { return t.packets }

// StreamCh implements memberlist.Transport.
func (t *Transport) StreamCh() <-chan net.Conn { return t.streams }

// DialTimeout implements memberlist.Transport.
func (t *Transport) DialTimeout(addr string, timeout time.Duration) (net.Conn, error) {
	to, cut, delay := t.net.route(t, addr)
	if cut {
		time.Sleep(timeout)
		return nil, dialError(addr, os.ErrDeadlineExceeded)
	}
	time.Sleep(delay)
	if to == nil {
		return nil, dialError(addr, syscall.ECONNREFUSED)
	}
	near, far := net.Pipe()
	if !to.accept(conn{far, t}) {
		return nil, dialError(addr, syscall.ECONNREFUSED)
	}
	return conn{near, to}, nil
}

// DialAddressTimeout implements memberlist.NodeAwareTransport.
func (t *Transport) DialAddressTimeout(a memberlist.Address, timeout time.Duration) (net.Conn, error) {
	return t.DialTimeout(a.Addr, timeout)
}

func (t *Transport) accept(c net.Conn) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return false
	}
	select {
	case t.streams <- c:
		return true
	default:
		return false
	}
}

func (t *Transport) isClosed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.closed
}

// Shutdown implements memberlist.Transport: the host disappears.
func (t *Transport) Shutdown() error {
	t.net.mu.Lock()
	if t.net.hosts[t.String()] == t {
		delete(t.net.hosts, t.String())
	}
	t.net.mu.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	for {
		select {
		case c := <-t.streams:
			_ = c.Close()
		default:
			return nil
		}
	}
}

func dialError(addr string, err error) error {
	return &net.OpError{Op: "dial", Net: "tcp", Err: fmt.Errorf("%s: %w", addr, err)}
}

// conn is a pipe's end that knows its peer, and fails as TCP does.
type conn struct {
	net.Conn
	peer net.Addr
}

func (c conn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if errors.Is(err, io.ErrClosedPipe) {
		err = &net.OpError{Op: "write", Net: "tcp", Err: syscall.ECONNRESET}
	}
	return n, err
}

func (c conn) RemoteAddr() net.Addr { return c.peer }
