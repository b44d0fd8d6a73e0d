package rpcapi

import (
	"context"
	"math"
	"time"

	"google.golang.org/grpc"

	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/rpc"
	"github.com/muster-discovery/muster/internal/rpc/rpcpb"
)

// maxTopics bounds the topics of one call: a server gathers those of the readers
// that wait at the same moment.
const maxTopics = 1024

// ReadIndex implements rpcpb.ServerServer.
func (s *Service) ReadIndex(ctx context.Context, req *rpcpb.ReadIndexRequest) (*rpcpb.ReadIndexReply, error) {
	answers, err := s.readIndex(ctx, req)
	if err != nil {
		return &rpcpb.ReadIndexReply{Error: rpcpb.FromError(ended(err, model.KindUnavailable))}, nil
	}
	reply := &rpcpb.ReadIndexReply{TopicIndex: answers[0].Index, Answers: make([]*rpcpb.TopicAnswer, len(answers))}
	for i, a := range answers {
		reply.Answers[i] = &rpcpb.TopicAnswer{Index: a.Index, Items: a.Items}
	}
	return reply, nil
}

func (s *Service) readIndex(ctx context.Context, req *rpcpb.ReadIndexRequest) ([]rpc.TopicAnswer, error) {
	if err := s.checkDatacenter(req.GetDatacenter()); err != nil {
		return nil, err
	}
	asked := req.GetTopics()
	if len(asked) == 0 { // from a server that asks for one at a time
		asked = []*rpcpb.TopicQuestion{{Kind: req.GetTopicKind(), Name: req.GetTopicName(), Have: math.MaxUint64}}
	}
	if len(asked) > maxTopics {
		return nil, model.Errorf(model.KindTooLarge, "%d topics in one call, at most %d can be answered", len(asked), maxTopics)
	}
	topics := make([]rpc.TopicQuestion, len(asked))
	for i, t := range asked {
		topic, err := topicOf(t.GetKind(), t.GetName())
		if err != nil {
			return nil, err
		}
		topics[i] = rpc.TopicQuestion{Topic: topic, Have: t.GetHave()}
	}
	answers, err := s.reader.ReadIndex(ctx, topics, req.GetConsistent())
	if err == nil && len(answers) != len(topics) {
		err = model.Errorf(model.KindInternal, "%d answers for %d topics", len(answers), len(topics))
	}
	return answers, err
}

func topicOf(kind uint32, name []byte) (model.Topic, error) {
	if kind == 0 || kind > math.MaxUint8 {
		return model.Topic{}, model.Errorf(model.KindInvalid, "unknown topic kind %d", kind)
	}
	return model.Topic{Kind: model.TopicKind(kind), Name: string(name)}, nil
}

// Read implements rpcpb.ServerServer.
func (s *Service) Read(req *rpcpb.ReadRequest, stream grpc.ServerStreamingServer[rpcpb.ReadReply]) error {
	head, parts, err := s.read(stream.Context(), req)
	if err != nil {
		return stream.Send(&rpcpb.ReadReply{Head: &rpcpb.ReadHead{Error: rpcpb.FromError(ended(err, model.KindUnavailable))}})
	}
	reply := &rpcpb.ReadReply{Head: &rpcpb.ReadHead{
		Index: head.Index, KnownLeader: head.KnownLeader, LastContactNanos: int64(head.LastContact),
	}}
	for _, part := range parts {
		reply.Items = part
		if err := stream.Send(reply); err != nil {
			return err
		}
		reply = &rpcpb.ReadReply{}
	}
	if reply.Head != nil {
		return stream.Send(reply)
	}
	return nil
}

func (s *Service) read(ctx context.Context, req *rpcpb.ReadRequest) (*rpc.Answer, [][]byte, error) {
	if err := s.checkDatacenter(req.GetDatacenter()); err != nil {
		return nil, nil, err
	}
	topic, err := topicOf(req.GetTopicKind(), req.GetTopicName())
	if err != nil {
		return nil, nil, err
	}
	if req.GetMode() > math.MaxUint8 {
		return nil, nil, model.Errorf(model.KindInvalid, "unknown consistency mode %d", req.GetMode())
	}
	q := req.GetQuestion()
	return s.reader.Read(ctx, &rpc.Question{
		Token: req.GetToken(), Topic: topic, Encoder: req.GetEncoder(),
		Passing: q.GetPassing(), Healthy: q.GetHealthy(), Tags: q.GetTags(), NodeMeta: q.GetNodeMeta(), Filter: q.GetFilter(),
		Mode: uint8(req.GetMode()), MaxStale: time.Duration(req.GetMaxStaleNanos()),
		MinIndex: req.GetMinIndex(), Wait: time.Duration(req.GetWaitNanos()),
	})
}
