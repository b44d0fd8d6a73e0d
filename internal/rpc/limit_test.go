package rpc

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/muster-discovery/muster/internal/model"
)

// TestAdmit: who is not admitted hears why, and holds nothing for long.
func TestAdmit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem, reg := newMemNet(), prometheus.NewRegistry()
		ln := mem.listen("s")
		closed := 0
		mux, err := Listen(MuxConfig{Listener: ln, Registry: reg, HandshakeTimeout: time.Second, Admit: func(c net.Conn) (net.Conn, error) {
			if closed++; closed > 1 {
				return nil, model.Errorf(model.KindLimit, "too many: close some%s", strings.Repeat("!", 600))
			}
			return c, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer mux.Close()
		first, err := mem.dialer().Dial(t.Context(), "s", KindGRPC)
		if err != nil {
			t.Fatal(err)
		}
		defer first.Close()
		_, err = mem.dialer().Dial(t.Context(), "s", KindGRPC)
		if model.KindOf(err) != model.KindLimit || !strings.Contains(err.Error(), "refused: too many: close some") {
			t.Errorf("%v", err)
		}
		silent, err := ln.dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		if b, err := io.ReadAll(silent); len(b) > 0 || err != nil || time.Since(begin) != refusedHandshake {
			t.Errorf("a silent one that is refused: %q, %v after %v", b, err, time.Since(begin))
		}
		synctest.Wait()
		if got := refusals(t, reg); got != "incomplete 1, limit 1" {
			t.Errorf("counted %q", got)
		}
	})
}

func TestCallsAreLimited(t *testing.T) {
	p, err := NewPool(PoolConfig{
		Resolve: func(string) (string, error) { t.Error("dialed"); return "", io.EOF },
		Admit:   func() error { return model.Errorf(model.KindLimit, "limits.rpc_rate") },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, err := p.Identity(t.Context(), "x"); model.KindOf(err) != model.KindLimit {
		t.Errorf("%v", err)
	}
	if _, _, err := p.Forward(t.Context(), "x", "", nil, true); model.KindOf(err) != model.KindLimit {
		t.Errorf("%v", err)
	}
}

// TestHostileServerPort: garbage on the port costs neither memory nor goroutines, and
// honest calls go on.
func TestHostileServerPort(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serve(t, ln, handler{})
	settle := func() (heap uint64, goroutines int) {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc, runtime.NumGoroutine()
	}
	heap, goroutines := settle()
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(worker)))
			for i := range 40 {
				assault(t.Context(), ln.Addr().String(), i, r)
			}
		})
	}
	wg.Wait()
	deadline := time.Now().Add(10 * time.Second)
	for {
		h, g := settle()
		if g <= goroutines+20 && h < heap+16<<20 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d MiB and %d goroutines more than before", (int64(h)-int64(heap))>>20, g-goroutines)
		}
		time.Sleep(20 * time.Millisecond) // the kernel hands over the ends of connections
	}
	var d Dialer
	conn, err := d.Dial(t.Context(), ln.Addr().String(), KindGRPC)
	if err != nil {
		t.Fatalf("an honest connection afterwards: %v", err)
	}
	conn.Close()
}

// assault does one hostile thing.
func assault(ctx context.Context, addr string, what int, r *rand.Rand) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(200 * time.Millisecond))
	junk := make([]byte, 64<<10)
	for i := range junk {
		junk[i] = byte(r.Uint32())
	}
	switch what % 5 {
	case 0:
	case 1:
		junk = junk[:3]
	case 2: // gRPC's port, but no HTTP/2
		junk = append([]byte("MSTg"), junk...)
	case 3: // HTTP/2 with a frame that claims 16 MiB
		junk = append([]byte("MSTgPRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00\xff\xff\xff\x00\x00\x00\x00\x00\x01"), junk...)
	case 4: // Raft, which nobody serves here
		junk = append([]byte("MSTr"), bytes.Repeat([]byte{0xff}, 1<<16)...)
	}
	_, _ = conn.Write(junk)
	_, _ = io.Copy(io.Discard, conn)
}
