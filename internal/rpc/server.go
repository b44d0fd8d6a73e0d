package rpc

import (
	"context"
	"log/slog"
	"runtime/debug"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
)

const (
	// maxMessage bounds a request and an answer. The largest command is a KV
	// value or a transaction of them, and an answer may carry a whole topic.
	maxMessage = 16 << 20
	// maxStreams bounds the calls that one connection may have under way; each
	// waits for a log append at most.
	maxStreams = 4096
	// maxHeaders bounds a call's headers; the largest is a token.
	maxHeaders = 64 << 10
	// window is the flow control window. A fixed one saves the pings with which
	// gRPC would look for it.
	window = 1 << 20

	keepaliveTime    = 10 * time.Second // gRPC's lowest
	keepaliveTimeout = 3 * time.Second
)

// NewServer makes the gRPC server for the port's GRPC listener, with the limits
// of this package. The caller registers services, serves and stops it.
func NewServer(logger *slog.Logger) *grpc.Server {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	logger = logger.With("component", "rpc")
	return grpc.NewServer(
		grpc.MaxRecvMsgSize(maxMessage),
		grpc.MaxSendMsgSize(maxMessage),
		grpc.MaxConcurrentStreams(maxStreams),
		grpc.MaxHeaderListSize(maxHeaders),
		grpc.InitialWindowSize(window),
		grpc.InitialConnWindowSize(window),
		grpc.ConnectionTimeout(dialTimeout),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: keepaliveTime, Timeout: keepaliveTimeout}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: keepaliveTime / 2, PermitWithoutStream: true}),
		grpc.ChainUnaryInterceptor(survive(logger)),
	)
}

// survive keeps a panic in one call from ending the agent.
func survive(logger *slog.Logger) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (resp any, err error) {
		defer func() {
			if p := recover(); p != nil {
				logger.Error("panic in a call", "method", info.FullMethod, "panic", p, "stack", string(debug.Stack()))
				err = status.Error(codes.Internal, "the server met an internal error; its log has the details")
			}
		}()
		return handler(ctx, req)
	}
}
