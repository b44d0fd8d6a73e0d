//go:build unix

package dnsapi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// What an answer costs over reading and sending a datagram.
func BenchmarkHot(b *testing.B) {
	c := newCatalog()
	for _, n := range []int{3, 50, 1000} {
		many(c, fmt.Sprintf("web%d", n), n)
	}
	s := newServer(b, c, nil)
	for _, bc := range []struct {
		instances int
		edns      uint16
		qtype     uint16
	}{{3, 0, dns.TypeA}, {50, 0, dns.TypeA}, {1000, 0, dns.TypeA}, {50, 4096, dns.TypeA}, {50, 0, dns.TypeSRV}, {50, 4096, dns.TypeSRV}, {3, 0, dns.TypeAAAA}} {
		b.Run(fmt.Sprintf("%s/%d/edns%d", dns.TypeToString[bc.qtype], bc.instances, bc.edns), func(b *testing.B) {
			in := pack(b, asking{name: fmt.Sprintf("web%d.service.consul", bc.instances), qtype: bc.qtype, edns: bc.edns}.message())
			w := s.newReader()
			out := make([]byte, maxUDPSize)
			ctx := context.Background()
			b.ReportAllocs()
			begin := cpuTime(b)
			for b.Loop() {
				if reply, general := w.handle(ctx, in, out, true); general || len(reply) == 0 {
					b.Fatal("not hot")
				}
			}
			b.ReportMetric(float64(cpuTime(b)-begin)/float64(b.N), "cpu-ns/op")
		})
	}
}

// cpuTime is what the process has used so far, in nanoseconds: on a busy machine
// a better measure than the clock.
func cpuTime(b *testing.B) int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

func BenchmarkGeneral(b *testing.B) {
	c := newCatalog()
	many(c, "web", 50)
	s := newServer(b, c, nil)
	in := pack(b, asking{name: "web.service.consul", qtype: dns.TypeANY}.message())
	b.ReportAllocs()
	for b.Loop() {
		s.slow(context.Background(), in, true)
	}
}

// The whole way over sockets beside an echo with answers of the same size: 64
// questions in flight, as in shared/bench. Metric ratio is the server's rate by the
// echo's.
func BenchmarkSockets(b *testing.B) {
	c := newCatalog()
	many(c, "web3", 3)
	many(c, "web50", 50)
	_, addr := start(b, c, nil)
	for _, bc := range []asking{{name: "web3.service.consul", qtype: dns.TypeA}, {name: "web50.service.consul", qtype: dns.TypeA, edns: 4096}, {name: "web50.service.consul", qtype: dns.TypeSRV, edns: 4096}} {
		b.Run(fmt.Sprintf("%s/%s/edns%d", dns.TypeToString[bc.qtype], bc.name, bc.edns), func(b *testing.B) {
			in := pack(b, bc.message())
			size := len(load(b, addr, in, 1))
			echo := echoServer(b, size)
			load(b, echo, in, 1000)
			load(b, addr, in, 1000)
			b.ResetTimer()
			load(b, echo, in, b.N)
			base := b.Elapsed()
			load(b, addr, in, b.N)
			own := b.Elapsed() - base
			b.ReportMetric(float64(base)/float64(own), "ratio")
			b.ReportMetric(float64(own.Nanoseconds())/float64(b.N), "ns/query")
		})
	}
}

// echoServer answers each datagram with as many bytes as an answer has.
func echoServer(b *testing.B, size int) string {
	c, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		b.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			in, out := make([]byte, 1500), make([]byte, size)
			for {
				n, from, err := c.ReadFromUDPAddrPort(in)
				if err != nil {
					return
				}
				copy(out, in[:n])
				c.WriteToUDPAddrPort(out, from)
			}
		})
	}
	b.Cleanup(func() { c.Close(); wg.Wait() })
	return c.LocalAddr().String()
}

// load asks n times with up to 64 questions in flight and returns the last answer.
// Loopback loses datagrams too, when a buffer is full: then the window is opened
// again.
func load(b *testing.B, addr string, in []byte, n int) []byte {
	b.Helper()
	conn, err := net.Dial("udp", addr)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	buf := make([]byte, maxUDPSize)
	size, flying := 0, 0
	for done := 0; done < n; {
		for ; flying < 64 && done+flying < n; flying++ {
			if _, err := conn.Write(in); err != nil {
				b.Fatal(err)
			}
		}
		conn.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
		m, err := conn.Read(buf)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			flying = 0
			continue
		} else if err != nil {
			b.Fatal(err)
		}
		size, flying, done = m, max(flying-1, 0), done+1
	}
	return buf[:size]
}
