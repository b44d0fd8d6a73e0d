package rpc

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/muster-discovery/muster/internal/rpc/rpcpb"
)

// memListener is a listener in memory.
type memListener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newMemListener() *memListener {
	return &memListener{conns: make(chan net.Conn), done: make(chan struct{})}
}

func (l *memListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *memListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

func (l *memListener) Addr() net.Addr { return memAddr{} }

func (l *memListener) dial(ctx context.Context) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case l.conns <- far:
		return near, nil
	case <-l.done:
		return nil, syscall.ECONNREFUSED
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type memAddr struct{}

func (memAddr) Network() string { return "mem" }
func (memAddr) String() string  { return "mem:8300" }

// memNet leads addresses to listeners in memory.
type memNet struct {
	mu        sync.Mutex
	listeners map[string]*memListener
}

func newMemNet() *memNet { return &memNet{listeners: make(map[string]*memListener)} }

func (n *memNet) listen(addr string) *memListener {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := newMemListener()
	n.listeners[addr] = l
	return l
}

func (n *memNet) dialer() *Dialer {
	return &Dialer{Connect: func(ctx context.Context, addr string) (net.Conn, error) {
		n.mu.Lock()
		l := n.listeners[addr]
		n.mu.Unlock()
		if l == nil {
			return nil, syscall.ECONNREFUSED
		}
		return l.dial(ctx)
	}}
}

// handler answers calls with functions.
type handler struct {
	rpcpb.UnimplementedServerServer
	forward   func(context.Context, *rpcpb.ForwardRequest) (*rpcpb.ForwardReply, error)
	readIndex func(context.Context, *rpcpb.ReadIndexRequest) (*rpcpb.ReadIndexReply, error)
}

func (h handler) Forward(ctx context.Context, r *rpcpb.ForwardRequest) (*rpcpb.ForwardReply, error) {
	return h.forward(ctx, r)
}

func (h handler) ReadIndex(ctx context.Context, r *rpcpb.ReadIndexRequest) (*rpcpb.ReadIndexReply, error) {
	return h.readIndex(ctx, r)
}

// server is a running port with a handler behind it.
type server struct {
	mux  *Mux
	grpc *grpc.Server
	wg   sync.WaitGroup
}

func serve(t testing.TB, ln net.Listener, h rpcpb.ServerServer) *server {
	t.Helper()
	cfg := MuxConfig{Addr: "127.0.0.1:0", Listener: ln}
	mux, err := Listen(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s := &server{mux: mux, grpc: NewServer(nil)}
	rpcpb.RegisterServerServer(s.grpc, h)
	s.wg.Go(func() {
		if err := s.grpc.Serve(mux.Listener(KindGRPC)); err != nil && !errors.Is(err, grpc.ErrServerStopped) && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	})
	t.Cleanup(s.stop)
	return s
}

// stop is the death of the server: connections break. Stopping twice is harmless.
func (s *server) stop() {
	s.grpc.Stop()
	_ = s.mux.Close()
	s.wg.Wait()
}

func newPool(t testing.TB, d *Dialer, resolve func(string) (string, error)) *Pool {
	t.Helper()
	if resolve == nil {
		resolve = func(id string) (string, error) { return id, nil }
	}
	p, err := NewPool(PoolConfig{Resolve: resolve, Datacenter: "dc1", NodeName: "tester", Dialer: d})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// syncBuffer is a log that may be read while it is written.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func logTo(b *syncBuffer) *slog.Logger { return slog.New(slog.NewTextHandler(b, nil)) }

func within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}
