package check

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-discovery/muster/internal/model"
)

func TestUDPAnswerAndRefusal(t *testing.T) {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := conn.LocalAddr().String()
	received := make(chan int, 1)
	go func() {
		n, from, err := conn.ReadFrom(make([]byte, 100))
		if err != nil {
			return
		}
		received <- n
		_, _ = conn.WriteTo([]byte("pong"), from)
	}()
	if got := probe(t, &model.CheckDefinition{UDP: addr}); got != (Result{model.StatusPassing, "UDP connect " + addr + ": Success"}) {
		t.Errorf("a target that answers gives %+v", got)
	}
	if n := <-received; n != 0 {
		t.Errorf("target received %d bytes, want an empty datagram", n)
	}
	conn.Close()
	if got := probe(t, &model.CheckDefinition{UDP: addr}); got.Status != model.StatusCritical || !strings.Contains(got.Output, "refused") {
		t.Errorf("a port where nobody listens gives %+v", got)
	}
}

// silent is a target that takes all and says nothing.
func silent(_ context.Context, _, _ string) (net.Conn, error) {
	a, b := net.Pipe()
	go func() {
		defer b.Close()
		_, _ = io.Copy(io.Discard, b)
	}()
	return a, nil
}

func TestUDPSilenceIsWellAtTheTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := New(&model.CheckDefinition{UDP: "x:1"}, &Env{Dial: silent})
		if err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			timeout, cancel, want time.Duration // 0: none
			status                string
		}{
			{timeout: 3 * time.Second, want: 3 * time.Second, status: model.StatusPassing},
			{want: DefaultTimeout, status: model.StatusPassing},
			{timeout: 3 * time.Second, cancel: time.Second, want: time.Second, status: model.StatusCritical},
		} {
			ctx, cancel := context.WithCancel(context.Background())
			if tt.timeout > 0 {
				ctx, cancel = context.WithTimeout(ctx, tt.timeout)
			}
			if tt.cancel > 0 {
				time.AfterFunc(tt.cancel, cancel)
			}
			began := time.Now()
			got := p.Run(ctx)
			cancel()
			if took := time.Since(began); got.Status != tt.status || took != tt.want {
				t.Errorf("timeout %v, canceled after %v: %+v after %v, want %s after %v", tt.timeout, tt.cancel, got, took, tt.status, tt.want)
			}
		}
	})
}

// A name that can't be resolved in time is no silent target.
func TestUDPThatCannotDial(t *testing.T) {
	dial := func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.DNSError{Err: "i/o timeout", Name: "x", IsTimeout: true}
	}
	p, err := New(&model.CheckDefinition{UDP: "x:1"}, &Env{Dial: dial})
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Run(context.Background()); got.Status != model.StatusCritical || !strings.Contains(got.Output, "i/o timeout") {
		t.Errorf("an unknown name gives %+v", got)
	}
}
