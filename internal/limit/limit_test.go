package limit

import (
	"errors"
	"log/slog"
	"math"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/muster-discovery/muster/internal/model"
)

func TestBucket(t *testing.T) {
	start := time.Unix(1000, 0)
	for _, c := range []struct {
		name        string
		rate, burst float64
		at          []time.Duration // of each try
		want        string          // y or n for each
	}{
		{"no limit", -1, 0, []time.Duration{0, 0, 0}, "yyy"},
		{"burst", 1, 2, []time.Duration{0, 0, 0}, "yyn"},
		{"flows in", 10, 1, []time.Duration{0, 0, 99 * time.Millisecond, 100 * time.Millisecond}, "ynny"},
		{"no more than the burst", 10, 2, []time.Duration{0, time.Hour, time.Hour, time.Hour}, "yyyn"},
		{"nothing flows in", 0, 0, []time.Duration{0, time.Hour}, "nn"},
		{"clock goes back", 1, 1, []time.Duration{time.Second, 0, 0}, "ynn"},
		{"infinite", math.Inf(1), math.Inf(1), []time.Duration{0, 0}, "yy"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b bucket
			b.set(c.rate, c.burst)
			got := ""
			for _, d := range c.at {
				wait, ok := b.take(start.Add(d))
				if ok != (wait == 0) || wait < 0 || wait > maxPause {
					t.Errorf("%v, %v", wait, ok)
				}
				got += map[bool]string{true: "y", false: "n"}[ok]
			}
			if got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func TestReloadIsNoWayAround(t *testing.T) {
	var b bucket
	now := time.Unix(1000, 0)
	b.set(1, 1)
	b.take(now)
	b.set(1, 100)
	if _, ok := b.take(now); ok {
		t.Error("a reload filled the bucket")
	}
	b.set(-1, 0)
	b.take(now)
	b.set(1, 5)
	if _, ok := b.take(now); !ok {
		t.Error("after having had no limit the bucket is empty")
	}
}

func FuzzBucket(f *testing.F) {
	f.Add(1.0, 5.0, int64(0), int64(1))
	f.Add(math.NaN(), math.Inf(-1), int64(5), int64(-1))
	f.Fuzz(func(t *testing.T, rate, burst float64, a, b int64) {
		var k bucket
		k.set(rate, burst)
		for _, at := range []int64{a, b, a, math.MaxInt64} {
			if wait, _ := k.take(time.Unix(0, at)); wait < 0 || wait > maxPause {
				t.Fatalf("wait %v", wait)
			}
		}
	})
}

func TestModes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewRegistry()
		l := New(Config{Mode: Permissive, ReadRate: 2, WriteRate: -1, RPCRate: -1}, slog.New(slog.DiscardHandler), reg)
		for range 3 {
			if err := l.Reads.Admit(); err != nil {
				t.Fatal(err)
			}
		}
		if got := value(t, reg, "muster_limit_exceeded_total", "read_rate"); got != 1 {
			t.Errorf("%v let in over the limit, want 1", got)
		}
		l.Reload(Config{Mode: Enforcing, ReadRate: 2, WriteRate: 0.5, RPCRate: -1})
		err := l.Reads.Admit()
		wantRefusal(t, err, "limits.request_limits.read_rate", "more than 2 a second", "ask another server")
		var r interface{ RetryAfter() time.Duration }
		if !errors.As(err, &r) || r.RetryAfter() != 500*time.Millisecond {
			t.Errorf("retry after %v", r)
		}
		if err := l.Writes.Admit(); err != nil {
			t.Errorf("less than one a second refuses the first one: %v", err)
		}
		wantRefusal(t, l.Writes.Admit(), "limits.request_limits.write_rate", "0.5")
		time.Sleep(500 * time.Millisecond) // the bubble's clock
		if err := l.Reads.Admit(); err != nil {
			t.Error(err)
		}
		l.Reload(Config{Mode: Disabled, ReadRate: 0, WriteRate: 0})
		if err := errors.Join(l.Reads.Admit(), l.Writes.Admit()); err != nil {
			t.Error(err)
		}
		if got := value(t, reg, "muster_limit_refused_total", "read_rate"); got != 1 {
			t.Errorf("%v refused, want 1", got)
		}
		var none *Rate
		if err := none.Admit(); err != nil {
			t.Error(err)
		}
	})
}

// value is a counter's.
func value(t *testing.T, reg *prometheus.Registry, name, limit string) float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name && m.GetLabel()[0].GetValue() == limit {
				return m.GetCounter().GetValue()
			}
		}
	}
	t.Fatalf("no %s of %s", name, limit)
	return 0
}

func TestOutgoing(t *testing.T) {
	l := New(Config{RPCRate: 1, RPCMaxBurst: 3, Mode: Disabled}, nil, nil)
	for range 3 {
		if err := l.RPC.Admit(); err != nil {
			t.Fatal(err)
		}
	}
	wantRefusal(t, l.RPC.Admit(), "limits.rpc_rate", "this agent")
}

func wantRefusal(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil || model.KindOf(err) != model.KindLimit {
		t.Fatalf("%v, want a refusal", err)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("%q does not say %q", err, p)
		}
	}
}

// end is a connection from an address.
type end struct {
	net.Conn
	from net.Addr
}

func (e end) RemoteAddr() net.Addr { return e.from }
func (end) Close() error           { return nil }

func from(ip string, port int) end { return end{from: &net.TCPAddr{IP: net.ParseIP(ip), Port: port}} }

func TestConns(t *testing.T) {
	l := New(Config{RPCMaxConns: 2, HTTPMaxConns: 1}, nil, nil)
	first, err := l.RPCConns.Admit(from("10.0.0.1", 1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.RPCConns.Admit(from("::ffff:10.0.0.1", 2)); err != nil {
		t.Fatal(err)
	}
	_, err = l.RPCConns.Admit(from("10.0.0.1", 3))
	wantRefusal(t, err, "10.0.0.1", "limits.rpc_max_conns_per_client is 2", "close some")
	if _, err := l.RPCConns.Admit(from("10.0.0.2", 4)); err != nil {
		t.Errorf("another client: %v", err)
	}
	if _, err := l.HTTPConns.Admit(from("10.0.0.1", 5)); err != nil {
		t.Errorf("another port: %v", err)
	}
	first.Close()
	first.Close() // counts once
	if _, err := l.RPCConns.Admit(from("10.0.0.1", 6)); err != nil {
		t.Errorf("after one was closed: %v", err)
	}
	_, err = l.RPCConns.Admit(from("10.0.0.1", 7))
	wantRefusal(t, err)
	l.Reload(Config{})
	if _, err := l.RPCConns.Admit(from("10.0.0.1", 8)); err != nil {
		t.Errorf("without a limit: %v", err)
	}
	for range 5 {
		if _, err := l.HTTPConns.Admit(end{from: &net.UnixAddr{}}); err != nil {
			t.Errorf("on a Unix socket: %v", err)
		}
	}
}

func TestListener(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	limits := New(Config{HTTPMaxConns: 1}, nil, nil)
	refused := make(chan error, 1)
	l := Listener(inner, limits.HTTPConns, func(c net.Conn, err error) { c.Close(); refused <- err })
	defer l.Close()
	accepted := make(chan net.Conn, 2)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				close(accepted)
				return
			}
			accepted <- c
		}
	}()
	dial := func() net.Conn {
		c, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	dial()
	one := <-accepted
	dial()
	wantRefusal(t, <-refused, "limits.http_max_conns_per_client is 1")
	one.Close()
	dial()
	(<-accepted).Close()
}
