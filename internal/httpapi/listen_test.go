package httpapi

import (
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
)

// TestLimitPerClient: connections above the limit are closed, and one that ends
// makes room.
func TestLimitPerClient(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refused := make(chan netip.Addr, 1)
	l := LimitPerClient(inner, 2, func(a netip.Addr) { refused <- a })
	accepted := make(chan net.Conn)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- conn
		}
	}()
	defer func() { _ = l.Close(); <-done }()
	dial := func() net.Conn {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	dial()
	first := <-accepted
	dial()
	defer func(c net.Conn) { _ = c.Close() }(<-accepted)

	third := dial()
	if a := <-refused; a != netip.MustParseAddr("127.0.0.1") {
		t.Errorf("refused %s", a)
	}
	answer, err := io.ReadAll(third)
	if err != nil || !strings.Contains(string(answer), "429") || !strings.Contains(string(answer), "limits.http_max_conns_per_client") {
		t.Errorf("the third connection got %q, %v; want 429 and the limit's name", answer, err)
	}
	_ = first.Close()
	_ = first.Close() // counts once
	dial()
	defer func(c net.Conn) { _ = c.Close() }(<-accepted)
	dial()
	<-refused
	if LimitPerClient(inner, 0, nil) != inner {
		t.Error("a limit of 0 is one")
	}
}
