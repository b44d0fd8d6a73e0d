package rpc

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/rpc/rpcpb"
)

// maxAnswer bounds what a client agent takes at once: it is held in memory.
const maxAnswer = 256 << 20

// maxCommand leaves room for the rest of the message.
const maxCommand = maxMessage - 64<<10

// Forward hands an encoded command to a server, the leader as far as the caller
// knows, and returns the index that it got and the outcome's bytes. With relay any
// server will do: it hands the command on. Errors are *model.Error: the ones that
// the leader made, unchanged; Unavailable if the command was not sent; Uncertain if
// it was, and no answer came.
func (p *Pool) Forward(ctx context.Context, serverID, token string, command []byte, relay bool) (index uint64, data []byte, err error) {
	if len(command) > maxCommand {
		return 0, nil, model.Errorf(model.KindTooLarge, "the command has %d bytes, at most %d can be forwarded to the leader", len(command), maxCommand)
	}
	req := &rpcpb.ForwardRequest{Datacenter: p.cfg.Datacenter, Token: token, Command: command, From: p.cfg.NodeName, Relay: relay}
	reply, err := call(ctx, p, serverID, "Forward", false, func(ctx context.Context, c rpcpb.ServerClient, opt grpc.CallOption) (*rpcpb.ForwardReply, error) {
		return c.Forward(ctx, req, opt)
	})
	return reply.GetIndex(), reply.GetData(), err
}

// Identity is who a server says it is.
type Identity struct {
	NodeID, NodeName, Datacenter, Version string
	RPCFormat, LogFormat, SnapshotFormat  uint32
	HasState                              bool // is or was part of a cluster
}

// Identity asks a server who it is; it also serves as a ping.
func (p *Pool) Identity(ctx context.Context, serverID string) (Identity, error) {
	r, err := call(ctx, p, serverID, "Identity", true, func(ctx context.Context, c rpcpb.ServerClient, opt grpc.CallOption) (*rpcpb.IdentityReply, error) {
		return c.Identity(ctx, &rpcpb.IdentityRequest{}, opt)
	})
	if err != nil {
		return Identity{}, err
	}
	return Identity{
		NodeID: r.GetNodeId(), NodeName: r.GetNodeName(), Datacenter: r.GetDatacenter(), Version: r.GetVersion(),
		RPCFormat: r.GetRpcFormat(), LogFormat: r.GetLogFormat(), SnapshotFormat: r.GetSnapshotFormat(),
		HasState: r.GetHasState(),
	}, nil
}

// ServerStats is how far a server's log is.
type ServerStats struct {
	LastContact         time.Duration // since it heard from the leader; negative: never
	LastTerm, LastIndex uint64
}

// ServerStats asks a server how far its log is.
func (p *Pool) ServerStats(ctx context.Context, serverID string) (ServerStats, error) {
	r, err := call(ctx, p, serverID, "ServerStats", true, func(ctx context.Context, c rpcpb.ServerClient, opt grpc.CallOption) (*rpcpb.ServerStatsReply, error) {
		return c.ServerStats(ctx, &rpcpb.ServerStatsRequest{}, opt)
	})
	if err != nil {
		return ServerStats{}, err
	}
	return ServerStats{LastContact: time.Duration(r.GetLastContactNanos()), LastTerm: r.GetLastTerm(), LastIndex: r.GetLastIndex()}, nil
}

// reply is an answer that may carry an error of the handler's.
type reply interface{ GetError() *rpcpb.Error }

// call does one call with a deadline, metrics, and the translation of errors.
// mayRepeat says that the call changes nothing.
func call[R any](ctx context.Context, p *Pool, serverID, method string, mayRepeat bool,
	do func(context.Context, rpcpb.ServerClient, grpc.CallOption) (R, error)) (r R, err error) {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.CallTimeout)
	defer cancel()
	return callFor(ctx, p, serverID, method, mayRepeat, do)
}

// callFor is call with the deadline left to the caller.
func callFor[R any](ctx context.Context, p *Pool, serverID, method string, mayRepeat bool,
	do func(context.Context, rpcpb.ServerClient, grpc.CallOption) (R, error)) (r R, err error) {
	start, result := time.Now(), "ok"
	defer func() {
		p.m.calls.WithLabelValues(method, result).Inc()
		p.m.seconds.WithLabelValues(method).Observe(time.Since(start).Seconds())
	}()
	if p.cfg.Admit != nil {
		if err := p.cfg.Admit(); err != nil {
			result = "limited"
			return r, err
		}
	}
	conn, err := p.conn(serverID)
	if err != nil {
		result = "not_sent"
		return r, err
	}
	// gRPC fills in the peer once the request was handed to a connection: without
	// it the request can't have left this process.
	var to peer.Peer
	r, err = do(ctx, rpcpb.NewServerClient(conn), grpc.Peer(&to))
	if err != nil {
		e := &transportError{server: serverID, method: method, sent: to.Addr != nil, status: status.Convert(err), cause: ctx.Err()}
		result = e.result()
		return r, e.callError(mayRepeat)
	}
	if r, ok := any(r).(reply); ok && r.GetError() != nil {
		result, err = "refused", r.GetError().Err()
	}
	return r, err
}
