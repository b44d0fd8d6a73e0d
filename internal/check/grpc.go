package check

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/muster-discovery/muster/internal/model"
)

// maxGRPCAnswer bounds an answer, which is a single number.
const maxGRPCAnswer = 64 << 10

// grpcProbe asks once by the gRPC health checking protocol (grpc_health_v1).
// SERVING is passing, everything else critical.
type grpcProbe struct {
	target  string // as in the definition
	addr    string
	service string // empty: the server as a whole
	options []grpc.DialOption
	max     int
}

func newGRPCProbe(def *model.CheckDefinition, env *Env) (Probe, error) {
	addr, service, err := splitGRPCTarget(def.GRPC)
	if err != nil {
		return nil, fmt.Errorf("target of check %q: %w", def.ID, err)
	}
	dial := env.dial()
	creds := insecure.NewCredentials()
	if def.GRPCUseTLS {
		creds = credentials.NewTLS(tlsConfig(def))
	}
	return &grpcProbe{
		target: def.GRPC, addr: addr, service: service, max: env.OutputSize(def),
		options: []grpc.DialOption{
			grpc.WithTransportCredentials(creds),
			grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) { return dial(ctx, "tcp", addr) }),
			grpc.WithUserAgent(userAgent),
			grpc.WithDisableServiceConfig(),
			grpc.WithDisableRetry(), // the scheduler decides when to ask again
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxGRPCAnswer)),
		},
	}, nil
}

// splitGRPCTarget splits host:port or host:port/service.
func splitGRPCTarget(target string) (addr, service string, err error) {
	addr, service, _ = strings.Cut(target, "/")
	if _, port, err := net.SplitHostPort(addr); err != nil || port == "" {
		return "", "", fmt.Errorf("%q must be host:port or host:port/service", target)
	}
	return addr, service, nil
}

func (p *grpcProbe) Run(ctx context.Context) Result {
	// A connection for each run, as for HTTP: a new client must be able to connect.
	// passthrough leaves names to the dialer.
	conn, err := grpc.NewClient("passthrough:///"+p.addr, p.options...)
	if err != nil {
		return critical(p.max, "%v", err)
	}
	defer conn.Close()
	answer, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{Service: p.service})
	if err != nil {
		return critical(p.max, "%v", err)
	}
	if s := answer.GetStatus(); s != healthpb.HealthCheckResponse_SERVING {
		return critical(p.max, "gRPC application didn't report service healthy: %s", s)
	}
	return Result{Status: model.StatusPassing, Output: Tail(fmt.Sprintf("gRPC check %s: success", p.target), p.max)}
}

// h2Config is tlsConfig for a protocol that is agreed on in the handshake.
func h2Config(def *model.CheckDefinition) *tls.Config {
	c := tlsConfig(def)
	c.NextProtos = []string{"h2"}
	return c
}
