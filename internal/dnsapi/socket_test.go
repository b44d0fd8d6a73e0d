package dnsapi

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/muster-discovery/muster/internal/lookup"
)

// start runs a server on sockets until the test ends, and returns its address.
func start(t testing.TB, c *catalog, change func(*Config)) (*Server, string) {
	t.Helper()
	s := newServer(t, c, func(cfg *Config) {
		cfg.Addrs = []string{"127.0.0.1:0"}
		if change != nil {
			change(cfg)
		}
	})
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(10 * time.Second):
			buf := make([]byte, 1<<16)
			t.Errorf("Run does not return:\n%s", buf[:runtime.Stack(buf, true)])
		}
	})
	return s, s.Addrs()[0].String()
}

func TestSockets(t *testing.T) {
	_, addr := start(t, standard(), nil)
	for _, network := range []string{"udp", "tcp"} {
		c := &dns.Client{Net: network, Timeout: 5 * time.Second}
		for _, qtype := range []uint16{dns.TypeA, dns.TypeANY} { // hot, general
			m, _, err := c.Exchange(asking{name: "web.service.consul", qtype: qtype}.message(), addr)
			if err != nil {
				t.Fatal(network, err)
			}
			if len(m.Answer) != 2 {
				t.Errorf("%s: %v", network, m)
			}
		}
	}
}

// Many clients at once, each with its own questions: nobody gets another's answer.
func TestManyClients(t *testing.T) {
	_, addr := start(t, standard(), nil)
	var wg sync.WaitGroup
	for n := range 16 {
		wg.Go(func() {
			c := &dns.Client{Net: []string{"udp", "tcp"}[n%2], Timeout: 5 * time.Second}
			conn, err := c.Dial(addr)
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			for i := range 200 {
				a := asking{name: []string{"web.service.consul", "six.service.consul", "nope.service.consul", "n1.node.consul"}[i%4], qtype: []uint16{dns.TypeA, dns.TypeANY, dns.TypeSRV}[i%3]}
				m, _, err := c.ExchangeWithConn(a.message(), conn)
				if err != nil {
					t.Error(err)
					return
				}
				if m.Question[0].Name != dns.Fqdn(a.name) || m.Question[0].Qtype != a.qtype || (m.Rcode == dns.RcodeNameError) != (i%4 == 2) {
					t.Errorf("%+v: %v", a, m)
				}
			}
		})
	}
	wg.Wait()
}

// Questions that come together are answered together, hot ones and others.
func TestBatch(t *testing.T) {
	_, addr := start(t, standard(), nil)
	conn, err := net.Dial("udp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const count = 100
	for id := range uint16(count) {
		m := asking{name: "web.service.consul", qtype: []uint16{dns.TypeA, dns.TypeMX}[id%2]}.message()
		m.Id = id
		if _, err := conn.Write(pack(t, m)); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[uint16]bool{}
	buf := make([]byte, 512)
	conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	for len(seen) < count {
		n, err := conn.Read(buf)
		if err != nil {
			t.Fatalf("%d of %d answers: %v", len(seen), count, err)
		}
		m := unpack(t, buf[:n])
		if seen[m.Id] || (len(m.Answer) == 2) != (m.Id%2 == 0) {
			t.Errorf("%v", m)
		}
		seen[m.Id] = true
	}
}

// On an unspecified address the answer comes from the address that was asked.
func TestUnspecifiedAddress(t *testing.T) {
	for _, listen := range []string{"0.0.0.0:0", "[::]:0"} {
		s, _ := start(t, standard(), func(c *Config) { c.Addrs = []string{listen} })
		_, port, _ := net.SplitHostPort(s.Addrs()[0].String())
		for _, host := range []string{"127.0.0.1", "127.0.0.2"} {
			for _, qtype := range []uint16{dns.TypeA, dns.TypeANY} {
				// A connected socket takes answers from the address it asked only.
				c := &dns.Client{Timeout: 2 * time.Second}
				m, _, err := c.Exchange(asking{name: "web.service.consul", qtype: qtype}.message(), net.JoinHostPort(host, port))
				if err != nil || len(m.Answer) != 2 {
					t.Errorf("%s asked at %s: %v %v", listen, host, err, m)
				}
			}
		}
	}
}

func TestIPv6(t *testing.T) {
	if c, err := net.ListenPacket("udp", "[::1]:0"); err != nil {
		t.Skip("no IPv6 here: ", err)
	} else {
		c.Close()
	}
	_, addr := start(t, standard(), func(c *Config) { c.Addrs = []string{"[::1]:0"} })
	for _, qtype := range []uint16{dns.TypeA, dns.TypeANY} {
		m, _, err := (&dns.Client{Timeout: 2 * time.Second}).Exchange(asking{name: "web.service.consul", qtype: qtype}.message(), addr)
		if err != nil || len(m.Answer) != 2 {
			t.Errorf("%v %v", err, m)
		}
	}
}

func TestPortInUse(t *testing.T) {
	_, addr := start(t, standard(), nil)
	s := newServer(t, standard(), func(c *Config) { c.Addrs = []string{addr} })
	err := s.Run(context.Background())
	if err == nil || !strings.Contains(err.Error(), addr) || !strings.Contains(err.Error(), "ports.dns") {
		t.Errorf("%v", err)
	}
	// The same where only UDP is taken.
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s = newServer(t, standard(), func(cfg *Config) { cfg.Addrs = []string{c.LocalAddr().String()} })
	if err := s.Run(context.Background()); err == nil || !strings.Contains(err.Error(), c.LocalAddr().String()) {
		t.Errorf("%v", err)
	}
}

func TestAddressErrors(t *testing.T) {
	for addr, want := range map[string]string{"192.0.2.1:0": "no interface has this address", "nonsense": "nonsense"} {
		err := newServer(t, standard(), func(c *Config) { c.Addrs = []string{addr} }).Run(context.Background())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", addr, err)
		}
	}
}

// tcpFrame is a message with its length in front.
func tcpFrame(b []byte) []byte {
	return append(binary.BigEndian.AppendUint16(nil, uint16(len(b))), b...)
}

// Questions in one write are answered in their order.
func TestPipelining(t *testing.T) {
	_, addr := start(t, standard(), nil)
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var all []byte
	for id := range uint16(20) {
		m := asking{name: "web.service.consul", qtype: []uint16{dns.TypeA, dns.TypeMX, dns.TypeSRV}[id%3]}.message()
		m.Id = id
		all = append(all, tcpFrame(pack(t, m))...)
	}
	conn.Write(all)
	conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	for id := range uint16(20) {
		head := make([]byte, 2)
		if _, err := io.ReadFull(conn, head); err != nil {
			t.Fatal(err)
		}
		body := make([]byte, binary.BigEndian.Uint16(head))
		if _, err := io.ReadFull(conn, body); err != nil {
			t.Fatal(err)
		}
		if m := unpack(t, body); m.Id != id {
			t.Errorf("answer %d has id %d", id, m.Id)
		}
	}
}

// closed reports whether the server closes the connection before the test does.
func closed(conn net.Conn) bool {
	conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	_, err := conn.Read(make([]byte, 1))
	return err != nil && !strings.Contains(err.Error(), "timeout")
}

func TestTCPLimits(t *testing.T) {
	s, addr := start(t, standard(), func(c *Config) { c.TCPConns, c.TCPIdle = 2, 200*time.Millisecond })
	dial := func() net.Conn {
		t.Helper()
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	for what, bytes := range map[string][]byte{
		"too long a question":  {0xff, 0xff, 1},
		"too short a question": {0, 5, 1, 2, 3, 4, 5},
		"half a question":      {0, 30, 1},
	} {
		conn := dial()
		conn.Write(bytes)
		if !closed(conn) {
			t.Errorf("%s: the connection stays open", what)
		}
	}
	a, b := dial(), dial()
	c := dial()
	if !closed(c) || s.metrics.refused.Load() == 0 {
		t.Error("a third connection is served")
	}
	if !closed(a) || !closed(b) {
		t.Error("idle connections stay open")
	}
}

// Beyond the places on the general path the answer is SERVFAIL at once, and the
// hot path goes on.
func TestGeneralPathIsBounded(t *testing.T) {
	s, addr := start(t, standard(), func(c *Config) { c.Pending = 1 })
	s.pending <- struct{}{} // the only place is taken
	client := &dns.Client{Timeout: 2 * time.Second}
	m, _, err := client.Exchange(asking{name: "web.service.consul", qtype: dns.TypeMX}.message(), addr)
	if err != nil || m.Rcode != dns.RcodeServerFailure {
		t.Errorf("%v %v", err, m)
	}
	m, _, err = client.Exchange(asking{name: "web.service.consul", qtype: dns.TypeA}.message(), addr)
	if err != nil || len(m.Answer) != 2 {
		t.Errorf("%v %v", err, m)
	}
	<-s.pending
}

func TestOversizedDatagram(t *testing.T) {
	_, addr := start(t, standard(), nil)
	conn, err := net.Dial("udp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	m := asking{name: "web.service.consul", qtype: dns.TypeA}.message()
	conn.Write(append(pack(t, m), make([]byte, 5000)...))
	conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	buf := make([]byte, 512)
	n, err := conn.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	if out := unpack(t, buf[:n]); out.Id != m.Id || out.Rcode != dns.RcodeFormatError {
		t.Errorf("%v", out)
	}
}

func TestMetrics(t *testing.T) {
	reg := prometheus.NewRegistry()
	s, addr := start(t, standard(), func(c *Config) { c.Registry = reg })
	client := &dns.Client{Timeout: 2 * time.Second}
	for _, qtype := range []uint16{dns.TypeA, dns.TypeMX} {
		if _, _, err := client.Exchange(asking{name: "web.service.consul", qtype: qtype}.message(), addr); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := New(s.config); err == nil {
		t.Error("a second server on the same registry is accepted")
	}
	// The counters are written after the answer is sent.
	deadline := time.Now().Add(5 * time.Second)
	for {
		found := map[string]float64{}
		all, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range all {
			for _, m := range f.Metric {
				key := f.GetName()
				for _, l := range m.Label {
					key += " " + l.GetValue()
				}
				found[key] = m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
		if found["muster_dns_answers_total hot NOERROR A"] == 1 && found["muster_dns_answers_total general NOERROR other"] == 1 &&
			found["muster_dns_answer_seconds hot"] == 1 && found["muster_dns_answer_seconds general"] == 1 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%v", found)
		}
		runtime.Gosched()
	}
}

// Nothing is left over when Run has returned.
func TestNoLeaks(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Run("serve", func(t *testing.T) {
		_, addr := start(t, standard(), nil)
		for range 5 {
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { conn.Close() })
		}
		c := &dns.Client{Timeout: 2 * time.Second}
		if _, _, err := c.Exchange(asking{name: "web.service.consul", qtype: dns.TypeMX}.message(), addr); err != nil {
			t.Fatal(err)
		}
	})
	for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(deadline) {
			buf := make([]byte, 1<<16)
			t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, buf[:runtime.Stack(buf, true)])
		}
	}
}

// panicking fails like a bug for one name.
type panicking struct{ Lookup }

func (p panicking) Find(ctx context.Context, r *lookup.Request, a *lookup.Answer) error {
	if r.Topic.Name == "bug" {
		panic("bug")
	}
	return p.Lookup.Find(ctx, r, a)
}

// A question that hits a bug gets no answer; the others still do.
func TestPanicIsContained(t *testing.T) {
	s, addr := start(t, standard(), func(c *Config) { c.Lookup = panicking{c.Lookup} })
	for _, network := range []string{"udp", "tcp"} {
		c := &dns.Client{Net: network, Timeout: 100 * time.Millisecond}
		for _, qtype := range []uint16{dns.TypeA, dns.TypeANY} {
			if m, _, err := c.Exchange(asking{name: "bug.service.consul", qtype: qtype}.message(), addr); err == nil {
				t.Errorf("%s: %v", network, m)
			}
			c.Timeout = 5 * time.Second
			if m, _, err := c.Exchange(asking{name: "web.service.consul", qtype: qtype}.message(), addr); err != nil || len(m.Answer) != 2 {
				t.Errorf("%s: %v %v", network, err, m)
			}
			c.Timeout = 100 * time.Millisecond
		}
	}
	if n := s.metrics.panics.Load(); n != 4 {
		t.Errorf("%d panics counted", n)
	}
}
