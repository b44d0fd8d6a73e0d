package dnsapi

import (
	"context"
	"net"
	"net/netip"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// batchSize is how many datagrams one system call moves. 16 was as fast as more
// (prototypes.md, section 4) and keeps a reader's buffers at 100 kB.
const batchSize = 16

// maxDatagram is the room for a question. Longer ones are cut by the kernel and
// answered with FORMERR.
const maxDatagram = 1500

// receiveBuffer holds the questions that arrive while a reader works.
const receiveBuffer = 1 << 20

// listenUDP opens several sockets on one port, between which the kernel spreads
// clients.
func listenUDP(network, addr string, sockets int) ([]*net.UDPConn, error) {
	// Sockets that share a port would also share it with another agent's, so the
	// first bind is an exclusive one that finds out whether the port is free.
	probe, err := net.ListenPacket(network, addr)
	if err != nil {
		return nil, err
	}
	probe.Close()
	lc := net.ListenConfig{Control: func(network, _ string, c syscall.RawConn) error {
		var err error
		if e := c.Control(func(fd uintptr) { err = setOptions(network, int(fd)) }); e != nil {
			return e
		}
		return err
	}}
	var out []*net.UDPConn
	for range sockets {
		c, err := lc.ListenPacket(context.Background(), network, addr)
		if err != nil {
			for _, c := range out {
				c.Close()
			}
			return nil, err
		}
		out = append(out, c.(*net.UDPConn))
	}
	return out, nil
}

func setOptions(network string, fd int) error {
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1); err != nil {
		return err
	}
	// What follows is better to have, but not needed: errors are of no interest.
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, receiveBuffer)
	// On an unspecified address answers must leave from the address that was asked.
	if network == "udp6" {
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_RECVPKTINFO, 1)
	} else {
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_PKTINFO, 1)
	}
	return nil
}

// message is the kernel's struct mmsghdr.
type message struct {
	header unix.Msghdr
	length uint32
}

// batch is the memory of one reader, made once: message headers that point to
// buffers and addresses beside them.
type batch struct {
	in, out  [batchSize]message
	inVec    [batchSize]unix.Iovec
	outVec   [batchSize]unix.Iovec
	from     [batchSize]unix.RawSockaddrInet6
	control  [batchSize][64]byte
	question [batchSize][maxDatagram]byte
	answer   [batchSize][maxUDPSize]byte

	received, queued, sent int
	errno                  syscall.Errno
}

// pktinfo tells whether the socket's address is unspecified, so that the answer's
// source has to be given.
func newBatch(pktinfo bool) *batch {
	b := &batch{}
	for i := range b.in {
		b.inVec[i].Base = &b.question[i][0]
		b.inVec[i].SetLen(maxDatagram)
		h := &b.in[i].header
		h.Iov = &b.inVec[i]
		h.SetIovlen(1)
		h.Name = (*byte)(unsafe.Pointer(&b.from[i]))
		if pktinfo {
			h.Control = &b.control[i][0]
		}
		b.out[i].header.Iov = &b.outVec[i]
		b.out[i].header.SetIovlen(1)
	}
	return b
}

// receive is called by the runtime when the socket is readable.
func (b *batch) receive(fd uintptr) bool {
	for i := range b.in {
		h := &b.in[i].header
		h.Namelen = unix.SizeofSockaddrInet6
		if h.Control != nil {
			h.SetControllen(len(b.control[i]))
		}
	}
	for {
		n, _, errno := syscall.Syscall6(unix.SYS_RECVMMSG, fd, uintptr(unsafe.Pointer(&b.in[0])), batchSize, unix.MSG_DONTWAIT, 0, 0)
		if errno == unix.EINTR {
			continue
		}
		if b.errno = errno; errno == 0 {
			b.received = int(n)
		}
		return errno != unix.EAGAIN
	}
}

// send is called by the runtime when the socket takes data.
func (b *batch) send(fd uintptr) bool {
	for b.sent < b.queued {
		n, _, errno := syscall.Syscall6(unix.SYS_SENDMMSG, fd, uintptr(unsafe.Pointer(&b.out[b.sent])), uintptr(b.queued-b.sent), unix.MSG_DONTWAIT, 0, 0)
		switch errno {
		case 0:
			b.sent += int(n)
		case unix.EINTR:
		case unix.EAGAIN:
			return false
		default:
			b.sent++ // this one can't be sent; the client will ask again
		}
	}
	return true
}

// reply queues an answer to question i.
func (b *batch) reply(i int, data []byte) {
	o := &b.out[b.queued].header
	in := &b.in[i].header
	o.Name, o.Namelen = in.Name, in.Namelen
	o.Control = nil
	o.SetControllen(0)
	if in.Control != nil && in.Controllen > 0 {
		o.Control, o.Controllen = in.Control, in.Controllen
		anyInterface(b.control[i][:in.Controllen])
	}
	b.outVec[b.queued].Base = &data[0]
	b.outVec[b.queued].SetLen(len(data))
	b.queued++
}

// anyInterface leaves the choice of the interface to the routing table: only the
// source address is to be kept. Link-local addresses keep theirs.
func anyInterface(control []byte) {
	if len(control) < unix.CmsgLen(0) {
		return
	}
	h := (*unix.Cmsghdr)(unsafe.Pointer(&control[0]))
	at := unix.CmsgLen(0)
	switch {
	case h.Level == unix.IPPROTO_IP && h.Type == unix.IP_PKTINFO && len(control) >= at+unix.SizeofInet4Pktinfo:
		(*unix.Inet4Pktinfo)(unsafe.Pointer(&control[at])).Ifindex = 0
	case h.Level == unix.IPPROTO_IPV6 && h.Type == unix.IPV6_PKTINFO && len(control) >= at+unix.SizeofInet6Pktinfo:
		if p := (*unix.Inet6Pktinfo)(unsafe.Pointer(&control[at])); !netip.AddrFrom16(p.Addr).IsLinkLocalUnicast() {
			p.Ifindex = 0
		}
	}
}

// sender captures where question i came from, for an answer sent later.
func (b *batch) sender(i int, c *net.UDPConn) func([]byte) {
	to := addrPort(&b.from[i])
	var control []byte
	if h := &b.in[i].header; h.Control != nil {
		control = append(control, b.control[i][:h.Controllen]...)
		anyInterface(control)
	}
	return func(data []byte) { c.WriteMsgUDPAddrPort(data, control, to) }
}

func addrPort(sa *unix.RawSockaddrInet6) netip.AddrPort {
	port := func(p *uint16) uint16 {
		b := (*[2]byte)(unsafe.Pointer(p))
		return uint16(b[0])<<8 | uint16(b[1])
	}
	if sa.Family == unix.AF_INET {
		sa4 := (*unix.RawSockaddrInet4)(unsafe.Pointer(sa))
		return netip.AddrPortFrom(netip.AddrFrom4(sa4.Addr), port(&sa4.Port))
	}
	a := netip.AddrFrom16(sa.Addr)
	if sa.Scope_id != 0 {
		if i, err := net.InterfaceByIndex(int(sa.Scope_id)); err == nil {
			a = a.WithZone(i.Name)
		}
	}
	return netip.AddrPortFrom(a, port(&sa.Port))
}

// serveUDP reads, answers and sends in batches until the socket is closed.
func (s *Server) serveUDP(ctx context.Context, c *net.UDPConn) {
	raw, err := c.SyscallConn()
	if err != nil {
		s.log.Error("dns udp socket", "err", err)
		return
	}
	local := c.LocalAddr().(*net.UDPAddr)
	w := s.newReader()
	b := newBatch(local.IP.IsUnspecified())
	receive, send := b.receive, b.send // made once: method values allocate
	for {
		if err := raw.Read(receive); err != nil {
			return
		}
		if b.errno != 0 {
			continue // an ICMP error of an earlier answer
		}
		s.answerBatch(ctx, c, w, b)
		if b.queued > 0 {
			if err := raw.Write(send); err != nil {
				return
			}
		}
	}
}

func (s *Server) answerBatch(ctx context.Context, c *net.UDPConn, w *worker, b *batch) {
	// What a bug in here leaves out is asked again.
	defer s.survive()
	start := time.Now()
	b.queued, b.sent = 0, 0
	hot := 0
	set := s.settings.Load()
	for i := range b.received {
		in, out := b.question[i][:min(b.in[i].length, maxDatagram)], b.answer[i][:0]
		if b.in[i].header.Flags&unix.MSG_TRUNC != 0 {
			w.counts.add(0, rcodeFormErr)
			if len(in) >= headerSize && in[2]&0x80 == 0 {
				b.reply(i, bareReply(in, out, set.ra, rcodeFormErr))
			}
			continue
		}
		if set.limiter != nil {
			reply, limited := w.limited(set, addrPort(&b.from[i]).Addr(), start, in, out)
			if reply != nil {
				b.reply(i, reply)
			}
			if limited {
				continue
			}
		}
		reply, general := w.handle(ctx, in, out, true)
		if general {
			reply = s.later(ctx, in, out, b.sender(i, c))
		} else {
			hot++
		}
		if reply != nil {
			b.reply(i, reply)
		}
	}
	w.counts.took(time.Since(start), hot)
}
