package agent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"

	"github.com/muster-discovery/muster/internal/config"
	"github.com/muster-discovery/muster/internal/consumer"
	"github.com/muster-discovery/muster/internal/limit"
	"github.com/muster-discovery/muster/internal/streamapi"
	"github.com/muster-discovery/muster/internal/telemetry"
	discoveryv1 "github.com/muster-discovery/muster/proto/muster/discovery/v1"
)

// streams is what all ports have in common that serve delta streams: who follows
// them, and the gRPC service.
type streams struct {
	consumers *consumer.Registry
	service   *streamapi.Service
}

// openStreams makes them at the first call; the lookup must be there.
func (n *node) openStreams(tel *telemetry.Telemetry) error {
	if n.streams != nil {
		return nil
	}
	consumers, err := consumer.New(consumer.Config{Registry: tel.Registry()})
	if err != nil {
		return err
	}
	n.streams = &streams{consumers: consumers, service: streamapi.New(streamapi.Config{
		Lookup: limitedStreams{n.lookup, n.limits}, Gate: n.limits.Snapshots,
		Consumers: consumers, Node: n.cfg.Node.Name, Logger: tel.Logger("stream"),
	})}
	return nil
}

const (
	// maxPublicStreams bounds the calls on one connection of the public port. One
	// stream has any number of watches, so that a client needs no more than a few.
	maxPublicStreams = 128
	// maxPublicMessage bounds a request: a subscription or a confirmation.
	maxPublicMessage = 64 << 10

	dialPatience   = 10 * time.Second // for a new connection's first words
	idleConnection = 5 * time.Minute  // without a call
	minPing        = 10 * time.Second // what gRPC's clients never go below
)

// serveGRPC opens the public gRPC ports.
func (a *Agent) serveGRPC() error {
	if len(a.cfg.Listen.GRPCTLS) > 0 && a.cfg.TLS.GRPC.CertFile != "" {
		a.log.Warn("gRPC with TLS is configured, but this version does not serve it yet")
	}
	for _, e := range a.cfg.Listen.GRPC {
		l, err := a.listenGRPC(e)
		if err != nil {
			return err
		}
		server := publicGRPC(a.cfg)
		a.node.streams.service.Register(server)
		status := health.NewServer()
		status.SetServingStatus(discoveryv1.Discovery_ServiceDesc.ServiceName, healthpb.HealthCheckResponse_SERVING)
		healthpb.RegisterHealthServer(server, status)
		a.group.start("grpc "+e.String(), func(ctx context.Context) error {
			done := make(chan error, 1)
			go func() { done <- server.Serve(limit.Listener(l, a.node.limits.HTTPConns, refuseGRPC)) }()
			select {
			case err := <-done:
				return err
			case <-ctx.Done():
				status.Shutdown()
				server.Stop()
				<-done
				a.node.streams.service.Wait()
				return nil
			}
		})
	}
	return nil
}

func (a *Agent) listenGRPC(e config.Endpoint) (net.Listener, error) {
	if e.Network == "unix" {
		return listenOn(e, a.cfg.Addresses)
	}
	l, err := net.Listen("tcp", e.Address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("gRPC address %s is in use: choose another with ports.grpc or -grpc-port, or -1 for none", e.Address)
	}
	if err != nil {
		return nil, fmt.Errorf("listen for gRPC: %w", err)
	}
	return l, nil
}

// publicGRPC is a server for whoever can reach the port: without reflection, and
// with bounds that its protocol does not meet.
func publicGRPC(cfg *config.Config) *grpc.Server {
	return grpc.NewServer(
		grpc.MaxRecvMsgSize(maxPublicMessage),
		grpc.MaxConcurrentStreams(maxPublicStreams),
		grpc.MaxHeaderListSize(64<<10),
		grpc.ConnectionTimeout(dialPatience),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			MaxConnectionIdle: idleConnection,
			Time:              cfg.RPC.KeepaliveInterval, Timeout: cfg.RPC.KeepaliveTimeout,
		}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: minPing, PermitWithoutStream: true}),
	)
}
