package rpcapi

import (
	"context"
	"errors"
	"math"

	"google.golang.org/grpc"

	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/rpc"
	"github.com/muster-discovery/muster/internal/rpc/rpcpb"
)

// RPCFormat is the version of rpcpb that this server speaks.
const RPCFormat = 1

// Applier is the write path for commands that another server forwarded. It
// authorizes the token again and commits here or refuses: it never forwards, so
// that two servers that take each other for the leader can't play ball. The
// command is the callee's to keep. Calls may overlap.
type Applier interface {
	ForwardedApply(ctx context.Context, token string, command []byte) (index uint64, data []byte, err error)
}

// Reader answers from which index on a topic may be served. It answers only if
// this server is the leader; with consistent it verifies that with a majority.
// Calls may overlap.
type Reader interface {
	ReadIndex(ctx context.Context, topic model.Topic, consistent bool) (topicIndex uint64, err error)
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
	index, data, err := s.applier.ForwardedApply(ctx, req.GetToken(), req.GetCommand())
	return &rpcpb.ForwardReply{Index: index, Data: data, Error: rpcpb.FromError(ended(err, model.KindUncertain))}, nil
}

// ReadIndex implements rpcpb.ServerServer.
func (s *Service) ReadIndex(ctx context.Context, req *rpcpb.ReadIndexRequest) (*rpcpb.ReadIndexReply, error) {
	if err := s.checkDatacenter(req.GetDatacenter()); err != nil {
		return &rpcpb.ReadIndexReply{Error: rpcpb.FromError(err)}, nil
	}
	if k := req.GetTopicKind(); k == 0 || k > math.MaxUint8 {
		err := model.Errorf(model.KindInvalid, "unknown topic kind %d", k)
		return &rpcpb.ReadIndexReply{Error: rpcpb.FromError(err)}, nil
	}
	topic := model.Topic{Kind: model.TopicKind(req.GetTopicKind()), Name: string(req.GetTopicName())}
	index, err := s.reader.ReadIndex(ctx, topic, req.GetConsistent())
	return &rpcpb.ReadIndexReply{TopicIndex: index, Error: rpcpb.FromError(ended(err, model.KindUnavailable))}, nil
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
