package rpcapi

import (
	"context"
	"errors"

	"google.golang.org/grpc"

	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/rpc"
	"github.com/muster-discovery/muster/internal/rpc/rpcpb"
)

// RPCFormat is the version of rpcpb that this server speaks.
const RPCFormat = 1

// Applier is the write path for commands that another agent forwarded. It
// authorizes the token again. ForwardedApply commits here or refuses: it never
// forwards, so that two servers that take each other for the leader can't play
// ball. RelayedApply, for client agents, hands the command on to the leader once.
// The command is the callee's to keep. Calls may overlap.
type Applier interface {
	ForwardedApply(ctx context.Context, token string, command []byte) (index uint64, data []byte, err error)
	RelayedApply(ctx context.Context, token string, command []byte) (index uint64, data []byte, err error)
}

// Reader is the read path for other agents. Calls may overlap.
type Reader interface {
	// ReadIndex answers from which index on topics may be served, only if this
	// server is the leader; with consistent it verifies that with a majority.
	ReadIndex(ctx context.Context, topics []rpc.TopicQuestion, consistent bool) ([]rpc.TopicAnswer, error)
	// Read answers a lookup: the head, and the encoded items in parts that fit a
	// message each.
	Read(ctx context.Context, q *rpc.Question) (head *rpc.Answer, parts [][]byte, err error)
}

// Identity is what this server says about itself.
type Identity struct {
	NodeID, NodeName, Datacenter, Version string
	LogFormat, SnapshotFormat             uint32
	// HasState reports whether this server is or was part of a cluster.
	HasState func() bool
	// Stats is how far this server's log is; nil: nothing is known.
	Stats func() rpc.ServerStats
}

// Service answers the calls of rpcpb.
type Service struct {
	rpcpb.UnimplementedServerServer
	applier  Applier
	reader   Reader
	identity Identity
}

// New makes the service.
func New(applier Applier, reader Reader, identity Identity) *Service {
	return &Service{applier: applier, reader: reader, identity: identity}
}

// Register adds the service to a gRPC server that is not serving yet.
func (s *Service) Register(r grpc.ServiceRegistrar) { rpcpb.RegisterServerServer(r, s) }

// Forward implements rpcpb.ServerServer.
func (s *Service) Forward(ctx context.Context, req *rpcpb.ForwardRequest) (*rpcpb.ForwardReply, error) {
	if err := s.checkDatacenter(req.GetDatacenter()); err != nil {
		return &rpcpb.ForwardReply{Error: rpcpb.FromError(err)}, nil
	}
	do := s.applier.ForwardedApply
	if req.GetRelay() {
		do = s.applier.RelayedApply
	}
	index, data, err := do(ctx, req.GetToken(), req.GetCommand())
	return &rpcpb.ForwardReply{Index: index, Data: data, Error: rpcpb.FromError(ended(err, model.KindUncertain))}, nil
}

// Identity implements rpcpb.ServerServer.
func (s *Service) Identity(context.Context, *rpcpb.IdentityRequest) (*rpcpb.IdentityReply, error) {
	id := s.identity
	return &rpcpb.IdentityReply{
		NodeId: id.NodeID, NodeName: id.NodeName, Datacenter: id.Datacenter, Version: id.Version,
		RpcFormat: RPCFormat, LogFormat: id.LogFormat, SnapshotFormat: id.SnapshotFormat,
		HasState: id.HasState != nil && id.HasState(),
	}, nil
}

// ServerStats implements rpcpb.ServerServer.
func (s *Service) ServerStats(context.Context, *rpcpb.ServerStatsRequest) (*rpcpb.ServerStatsReply, error) {
	if s.identity.Stats == nil {
		return &rpcpb.ServerStatsReply{LastContactNanos: -1}, nil
	}
	st := s.identity.Stats()
	return &rpcpb.ServerStatsReply{LastContactNanos: int64(st.LastContact), LastTerm: st.LastTerm, LastIndex: st.LastIndex}, nil
}

// checkDatacenter refuses calls that are for another datacenter. Empty means
// this one.
func (s *Service) checkDatacenter(dc string) error {
	if dc == "" || dc == s.identity.Datacenter {
		return nil
	}
	return model.Errorf(model.KindNoPath, "no path to datacenter %q: this server is of %q", dc, s.identity.Datacenter)
}

// ended gives an error without a kind that comes from the end of the call's
// context the given one: the caller's deadline passed here, which is not this
// server's fault.
func ended(err error, kind model.ErrorKind) error {
	var e *model.Error
	if err == nil || errors.As(err, &e) {
		return err
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return &model.Error{Kind: kind, Text: err.Error()}
	}
	return err
}
