package check

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/muster-discovery/muster/internal/model"
)

// grpcServer serves the health protocol, or nothing if h is nil.
func grpcServer(t *testing.T, h healthpb.HealthServer, options ...grpc.ServerOption) (addr string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := grpc.NewServer(options...)
	if h != nil {
		healthpb.RegisterHealthServer(srv, h)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(ln)
	}()
	t.Cleanup(func() { srv.Stop(); <-done })
	return ln.Addr().String()
}

func TestGRPCHealth(t *testing.T) {
	h := health.NewServer()
	h.SetServingStatus("well", healthpb.HealthCheckResponse_SERVING)
	h.SetServingStatus("pkg.Ill", healthpb.HealthCheckResponse_NOT_SERVING)
	h.SetServingStatus("odd/name", healthpb.HealthCheckResponse_SERVING)
	addr, bare := grpcServer(t, h), grpcServer(t, nil)
	for _, tt := range []struct{ target, status, output string }{
		{addr, model.StatusPassing, "gRPC check " + addr + ": success"},
		{addr + "/", model.StatusPassing, ": success"},
		{addr + "/well", model.StatusPassing, "gRPC check " + addr + "/well: success"},
		{addr + "/odd/name", model.StatusPassing, ": success"},
		{addr + "/pkg.Ill", model.StatusCritical, "gRPC application didn't report service healthy: NOT_SERVING"},
		{addr + "/unknown", model.StatusCritical, "code = NotFound"},
		{bare, model.StatusCritical, "code = Unimplemented"},
		{closedPort(t), model.StatusCritical, "refused"},
	} {
		got := probe(t, &model.CheckDefinition{GRPC: tt.target})
		if got.Status != tt.status || !strings.Contains(got.Output, tt.output) {
			t.Errorf("%s gives %+v, want %s with %q", tt.target, got, tt.status, tt.output)
		}
	}
}

func TestGRPCWithTLS(t *testing.T) {
	h := health.NewServer()
	creds := credentials.NewTLS(serverTLS(t, nil))
	addr := grpcServer(t, h, grpc.Creds(creds))
	for _, tt := range []struct {
		name           string
		def            model.CheckDefinition
		status, output string
	}{
		{"unknown certificate", model.CheckDefinition{GRPCUseTLS: true}, model.StatusCritical, "certificate"},
		{"not verified", model.CheckDefinition{GRPCUseTLS: true, TLSSkipVerify: true}, model.StatusPassing, "success"},
		{"no TLS", model.CheckDefinition{}, model.StatusCritical, "rpc error"},
	} {
		tt.def.GRPC = addr
		if got := probe(t, &tt.def); got.Status != tt.status || !strings.Contains(got.Output, tt.output) {
			t.Errorf("%s: %+v, want %s with %q", tt.name, got, tt.status, tt.output)
		}
	}
}

type hangingHealth struct {
	healthpb.UnimplementedHealthServer
	called chan struct{}
}

func (h hangingHealth) Check(ctx context.Context, _ *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	close(h.called)
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestGRPCTimeout(t *testing.T) {
	h := hangingHealth{called: make(chan struct{})}
	p, err := New(&model.CheckDefinition{GRPC: grpcServer(t, h)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	if got := p.Run(ctx); got.Status != model.StatusCritical || !strings.Contains(got.Output, "DeadlineExceeded") {
		t.Errorf("a server that hangs gives %+v", got)
	}
	select {
	case <-h.called:
	default:
		t.Error("the server was not asked, so the test shows nothing")
	}
}

func FuzzGRPCTarget(f *testing.F) {
	for _, s := range []string{"localhost:1", "[::1]:80/a/b", "x:1/", "/", ":", "a:b:c", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, target string) {
		addr, service, err := splitGRPCTarget(target)
		if err != nil {
			return
		}
		if _, _, err := net.SplitHostPort(addr); err != nil {
			t.Errorf("%q gives address %q: %v", target, addr, err)
		}
		if strings.Contains(addr, "/") {
			t.Errorf("address %q of %q has a slash", addr, target)
		}
		if whole := addr + "/" + service; whole != target && whole != target+"/" {
			t.Errorf("%q falls apart into %q and %q", target, addr, service)
		}
	})
}

// closedPort is an address where nobody listens.
func closedPort(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}
