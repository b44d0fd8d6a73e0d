package agent

import (
	"context"
	"net"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/muster-discovery/muster/internal/discovery"
	"github.com/muster-discovery/muster/internal/model"
)

// TestStreamsOnThePublicPort: the gRPC port serves streams and gRPC's health service,
// nothing else, and ends with the agent.
func TestStreamsOnThePublicPort(t *testing.T) {
	before := runtime.NumGoroutine()
	o := options(t, "n1")
	a, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- a.serve(ctx) }()
	eventually(t, "a leader", func() bool { return a.Leader() != "" })

	addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(o.Config.Ports.GRPC))
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	h, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{Service: "muster.discovery.v1.Discovery"})
	if err != nil || h.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		t.Error(h, err)
	}
	m, err := discovery.NewMux(discovery.Config{Dial: func(context.Context) (grpc.ClientConnInterface, error) { return conn, nil }})
	if err != nil {
		t.Fatal(err)
	}
	muxDone := make(chan struct{})
	mctx, stop := context.WithCancel(ctx)
	go func() {
		_ = m.Run(mctx)
		close(muxDone)
	}()
	w, err := m.Watch(discovery.Query{Service: "web"}, func(discovery.Update) {})
	if err != nil {
		t.Fatal(err)
	}
	has := func(n int) func() bool {
		return func() bool {
			u, ok := w.Latest()
			return ok && len(u.Instances) == n
		}
	}
	eventually(t, "an empty list", has(0))
	if err := a.local.AddService(ctx, &model.ServiceDefinition{Service: model.Service{ID: "web", Name: "web", Port: 80}}, true); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the instance", has(1))
	stop()
	<-muxDone
	_ = conn.Close()

	// A port that is taken is an error of the start, with a remedy.
	again := options(t, "n2")
	again.Config.Ports.GRPC, again.Config.Listen.GRPC = o.Config.Ports.GRPC, o.Config.Listen.GRPC
	if _, err := New(again); err == nil || !strings.Contains(err.Error(), "-grpc-port") {
		t.Error(err)
	}
	cancel()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("the agent does not end")
	}
	noLeftovers(t, before)
}
