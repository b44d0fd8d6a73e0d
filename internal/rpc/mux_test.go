package rpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"
	"github.com/prometheus/client_golang/prometheus"
)

func FuzzPreamble(f *testing.F) {
	for _, seed := range []string{"", "M", "MST", "MSTr", "MSTg", "MSTx", "MSTgg", "\x00", "\x01\x00", "GET / HTTP/1.1\r\n", "PRI * HTTP/2.0", "MXTg"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		kind, missing, err := parsePreamble(b)
		valid := false
		for kind := range kindNames {
			valid = valid || bytes.HasPrefix(b, preamble(kind))
		}
		partial := len(b) < preambleLen && strings.HasPrefix(magic, string(b))
		switch {
		case valid && (err != nil || missing != 0 || byte(kind) != b[preambleLen-1]):
			t.Errorf("%q refused: %v", b, err)
		case partial && (err != nil || missing != preambleLen-len(b)):
			t.Errorf("%q: %d missing, %v", b, missing, err)
		case !valid && !partial && err == nil:
			t.Errorf("%q taken for %q", b, kind)
		}
	})
}

// TestKinds: both kinds arrive where they belong, in both forms of dialling, and
// carry data.
func TestKinds(t *testing.T) {
	mux, err := Listen(MuxConfig{Addr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer mux.Close()
	echo := func(l net.Listener, prefix string) {
		conn, err := l.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		line := make([]byte, 4)
		_, _ = io.ReadFull(conn, line)
		_, _ = fmt.Fprintf(conn, "%s:%s", prefix, line)
	}
	go echo(mux.Raft(), "raft")
	go echo(mux.Listener(KindGRPC), "grpc")
	for _, tt := range []struct {
		kind Kind
		want string
	}{{KindRaft, "raft:ping"}, {KindGRPC, "grpc:ping"}} {
		dial := func() (net.Conn, error) {
			if tt.kind == KindRaft {
				return mux.Raft().Dial(raft.ServerAddress(mux.Addr().String()), time.Second)
			}
			return new(Dialer).Dial(t.Context(), mux.Addr().String(), tt.kind)
		}
		conn, err := dial()
		if err != nil {
			t.Fatal(err)
		}
		_, _ = conn.Write([]byte("ping"))
		got, err := io.ReadAll(conn)
		if string(got) != tt.want {
			t.Errorf("got %q, %v; want %q", got, err, tt.want)
		}
		_ = conn.Close()
	}
}

// refusals are the counters, as text.
func refusals(t *testing.T, reg *prometheus.Registry) string {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range families {
		if f.GetName() != "muster_rpc_connections_refused_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			out = append(out, fmt.Sprintf("%s %v", m.GetLabel()[0].GetValue(), m.GetCounter().GetValue()))
		}
	}
	return strings.Join(out, ", ")
}

// TestForeign: a Consul server's first byte, a browser and a silent peer.
func TestForeign(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ln, reg, log := newMemListener(), prometheus.NewRegistry(), &syncBuffer{}
		mux, err := Listen(MuxConfig{Listener: ln, Logger: logTo(log), Registry: reg})
		if err != nil {
			t.Fatal(err)
		}
		// In a pipe the refused side sees the end at once; on a real network it may
		// be a reset.
		for _, first := range []string{"\x00", "\x01", "\x03", "G", "MSTx"} {
			conn, err := ln.dial(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			begin := time.Now()
			if _, err := conn.Write([]byte(first)); err != nil {
				t.Error(err)
			}
			if b, err := io.ReadAll(conn); len(b) > 0 || err != nil {
				t.Errorf("answer to %q: %q, %v", first, b, err)
			}
			if time.Since(begin) > 0 {
				t.Errorf("%q was refused after %v only", first, time.Since(begin))
			}
		}
		silent, err := ln.dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		if b, err := io.ReadAll(silent); len(b) > 0 || err != nil || time.Since(begin) != defaultHandshake {
			t.Errorf("a silent peer got %q, %v after %v", b, err, time.Since(begin))
		}
		text := log.String()
		if strings.Count(text, "foreign connection refused") != 1 || !strings.Contains(text, "Consul servers") {
			t.Errorf("log within a minute:\n%s", text)
		}
		synctest.Wait()
		if got, want := refusals(t, reg), "foreign 5, incomplete 1"; got != want {
			t.Errorf("counted %q, want %q", got, want)
		}
		if err := mux.Close(); err != nil {
			t.Error(err)
		}
		if families, _ := reg.Gather(); len(families) > 0 {
			t.Error("metrics are still registered after Close")
		}
	})
}

// TestSilentFlood: silent connections beyond the bound push out the oldest, and
// an honest one still gets through.
func TestSilentFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem, reg := newMemNet(), prometheus.NewRegistry()
		ln := mem.listen("s")
		mux, err := Listen(MuxConfig{Listener: ln, Registry: reg})
		if err != nil {
			t.Fatal(err)
		}
		defer mux.Close()
		var flood []net.Conn
		for range maxPending + 50 {
			conn, err := ln.dial(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			flood = append(flood, conn)
		}
		synctest.Wait()
		if n := mux.pending.len(); n != maxPending {
			t.Errorf("%d pending, want %d", n, maxPending)
		}
		if _, err := flood[0].Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("the oldest: %v", err)
		}
		begin := time.Now()
		conn, err := mem.dialer().Dial(t.Context(), "s", KindGRPC)
		if err != nil || time.Since(begin) > 0 {
			t.Fatalf("honest connection: %v after %v", err, time.Since(begin))
		}
		_ = conn.Close()
		time.Sleep(defaultHandshake + time.Second)
		if n := mux.pending.len(); n != 0 {
			t.Errorf("%d pending after the time limit", n)
		}
	})
}

// TestDialForeign: the other direction. What this side dials is not Muster's.
func TestDialForeign(t *testing.T) {
	tests := []struct {
		name   string
		answer func(net.Conn)
		want   string
	}{
		{"hangs up", func(c net.Conn) { _ = c.Close() }, "Muster and Consul servers can't share a cluster"},
		{"answers something else", func(c net.Conn) { _, _ = c.Write([]byte("HTTP/1.1 400 Bad Request")) }, `answer "HTTP" is not a Muster server's`},
		{"answers another kind", func(c net.Conn) { _, _ = c.Write([]byte("MSTr")) }, `answer "MSTr" is not`},
		{"says nothing", func(net.Conn) {}, "no greeting"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mem := newMemNet()
				ln := mem.listen("s")
				go func() {
					conn, err := ln.Accept()
					if err != nil {
						t.Error(err)
						return
					}
					_, _ = io.ReadFull(conn, make([]byte, preambleLen))
					tt.answer(conn)
				}()
				_, err := mem.dialer().Dial(t.Context(), "s", KindGRPC)
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("%v does not say %q", err, tt.want)
				}
			})
		})
	}
}

func TestDialCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := newMemNet()
		ln := mem.listen("s")
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			if _, err := ln.Accept(); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Second)
			cancel()
		}()
		begin := time.Now()
		_, err := mem.dialer().Dial(ctx, "s", KindRaft)
		if err == nil || time.Since(begin) != time.Second {
			t.Errorf("%v after %v, want an error after 1s", err, time.Since(begin))
		}
	})
}

// TestNotServed: a kind that nobody accepts does not pile up.
func TestNotServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem, reg := newMemNet(), prometheus.NewRegistry()
		mux, err := Listen(MuxConfig{Listener: mem.listen("s"), Registry: reg})
		if err != nil {
			t.Fatal(err)
		}
		var conns []net.Conn
		for range listenerBacklog + 3 {
			conn, err := mem.dialer().Dial(t.Context(), "s", KindRaft)
			if err != nil {
				t.Fatal(err)
			}
			conns = append(conns, conn)
		}
		time.Sleep(defaultHandshake + time.Second)
		if got, want := refusals(t, reg), "not_served 3"; got != want {
			t.Errorf("counted %q, want %q", got, want)
		}
		if err := mux.Close(); err != nil {
			t.Error(err)
		}
		for i, conn := range conns {
			if _, err := conn.Read(make([]byte, 1)); err != io.EOF {
				t.Errorf("connection %d after Close: %v", i, err)
			}
		}
	})
}

func TestWrap(t *testing.T) {
	mem := newMemNet()
	var accepted, dialled int
	mux, err := Listen(MuxConfig{Listener: mem.listen("s"), Wrap: func(_ context.Context, c net.Conn) (net.Conn, error) {
		accepted++
		return c, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer mux.Close()
	d := mem.dialer()
	d.Wrap = func(_ context.Context, c net.Conn) (net.Conn, error) {
		dialled++
		return c, nil
	}
	conn, err := d.Dial(t.Context(), "s", KindGRPC)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	other, err := mux.Listener(KindGRPC).Accept()
	if err != nil {
		t.Fatal(err)
	}
	_ = other.Close()
	if accepted != 1 || dialled != 1 {
		t.Errorf("wrapped %d and %d times", accepted, dialled)
	}
	bad := errors.New("bad certificate")
	d.Wrap = func(_ context.Context, c net.Conn) (net.Conn, error) { return nil, errors.Join(bad, c.Close()) }
	if _, err := d.Dial(t.Context(), "s", KindGRPC); !errors.Is(err, bad) {
		t.Errorf("failed wrap: %v", err)
	}
}

func TestListenErrors(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	for _, tt := range []struct{ addr, advertise, want string }{
		{ln.Addr().String(), "", "ports.server"},
		{"192.0.2.1:0", "", "bind_addr"},
		{"127.0.0.1:x", "", "127.0.0.1:x"},
		{"127.0.0.1:0", "nonsense", "advertise address \"nonsense\""},
	} {
		mux, err := Listen(MuxConfig{Addr: tt.addr, Advertise: tt.advertise})
		if err == nil {
			t.Error(tt, mux.Close())
			continue
		}
		if !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), tt.addr) && tt.advertise == "" {
			t.Errorf("%q does not name %q and %q", err, tt.addr, tt.want)
		}
	}
}

func TestAdvertise(t *testing.T) {
	mux, err := Listen(MuxConfig{Addr: "127.0.0.1:0", Advertise: "10.1.2.3:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer mux.Close()
	want := fmt.Sprintf("10.1.2.3:%d", mux.ln.Addr().(*net.TCPAddr).Port)
	for _, got := range []net.Addr{mux.Addr(), mux.Raft().Addr(), mux.Listener(KindGRPC).Addr()} {
		if got.String() != want {
			t.Errorf("advertised %s, want %s", got, want)
		}
	}
}
