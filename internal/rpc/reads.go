package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"

	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/rpc/rpcpb"
)

// TopicQuestion asks the leader for a topic of which the asking server has an index.
type TopicQuestion struct {
	Topic model.Topic
	Have  uint64
}

// TopicAnswer is the leader's word on a topic.
type TopicAnswer struct {
	Index uint64
	Items []byte // what is in it, encoded; nil where the asker has it or it is too much to send
}

// ReadIndex asks a server, the leader as far as the caller knows, for the indexes of
// topics; with consistent it verifies its leadership first. Errors are as Forward's,
// never Uncertain. A server of an older version may answer fewer topics than asked,
// the first ones, at least one.
func (p *Pool) ReadIndex(ctx context.Context, serverID string, topics []TopicQuestion, consistent bool) ([]TopicAnswer, error) {
	req := &rpcpb.ReadIndexRequest{
		Datacenter: p.cfg.Datacenter, Consistent: consistent,
		TopicKind: uint32(topics[0].Topic.Kind), TopicName: []byte(topics[0].Topic.Name),
		Topics: make([]*rpcpb.TopicQuestion, len(topics)),
	}
	for i, t := range topics {
		req.Topics[i] = &rpcpb.TopicQuestion{Kind: uint32(t.Topic.Kind), Name: []byte(t.Topic.Name), Have: t.Have}
	}
	reply, err := call(ctx, p, serverID, "ReadIndex", true, func(ctx context.Context, c rpcpb.ServerClient, opt grpc.CallOption) (*rpcpb.ReadIndexReply, error) {
		return c.ReadIndex(ctx, req, opt)
	})
	if err != nil {
		return nil, err
	}
	if len(reply.GetAnswers()) == 0 {
		return []TopicAnswer{{Index: reply.GetTopicIndex()}}, nil
	}
	answers := make([]TopicAnswer, len(reply.GetAnswers()))
	for i, a := range reply.GetAnswers() {
		answers[i] = TopicAnswer{Index: a.GetIndex(), Items: a.Items}
	}
	return answers, nil
}

// Question is a lookup that a client agent has a server do. The fields are
// lookup.Request's; what the agent can do by itself is not among them.
type Question struct {
	Token    string
	Topic    model.Topic
	Encoder  string
	Passing  bool
	Healthy  bool
	Tags     []string
	NodeMeta map[string]string
	Filter   string
	Mode     uint8
	MaxStale time.Duration
	MinIndex uint64
	Wait     time.Duration
}

// Answer is what a server found.
type Answer struct {
	Items       []byte // encoded
	Index       uint64
	KnownLeader bool
	LastContact time.Duration
}

// Read has a server answer. Errors are as Forward's, never Uncertain.
func (p *Pool) Read(ctx context.Context, serverID string, q *Question) (*Answer, error) {
	limit := p.cfg.CallTimeout
	if q.MinIndex > 0 {
		limit += q.Wait + q.Wait/16 // which the server lengthens by a sixteenth
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	req := &rpcpb.ReadRequest{
		Datacenter: p.cfg.Datacenter, Token: q.Token, TopicKind: uint32(q.Topic.Kind), TopicName: []byte(q.Topic.Name),
		Encoder: q.Encoder, Question: &rpcpb.Question{
			Passing: q.Passing, Healthy: q.Healthy, Tags: q.Tags, NodeMeta: q.NodeMeta, Filter: q.Filter,
		},
		Mode: uint32(q.Mode), MaxStaleNanos: int64(q.MaxStale), MinIndex: q.MinIndex, WaitNanos: int64(q.Wait),
	}
	var a Answer
	_, err := callFor(ctx, p, serverID, "Read", true, func(ctx context.Context, c rpcpb.ServerClient, opt grpc.CallOption) (*rpcpb.ReadHead, error) {
		stream, err := c.Read(ctx, req, opt)
		if err != nil {
			return nil, err
		}
		return a.receive(stream)
	})
	if err != nil {
		return nil, err
	}
	return &a, nil
}

// receive gathers the parts. Its own errors travel as the server's would: they
// don't mean that the server is away.
func (a *Answer) receive(stream grpc.ServerStreamingClient[rpcpb.ReadReply]) (head *rpcpb.ReadHead, err error) {
	refuse := func(kind model.ErrorKind, text string) (*rpcpb.ReadHead, error) {
		return &rpcpb.ReadHead{Error: rpcpb.FromError(&model.Error{Kind: kind, Text: text})}, nil
	}
	for {
		part, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF) && head == nil:
			return refuse(model.KindInternal, "the server's answer has no head")
		case errors.Is(err, io.EOF):
			return head, nil
		case err != nil:
			return nil, err
		}
		if h := part.GetHead(); h != nil {
			head = h
			a.Index, a.KnownLeader, a.LastContact = h.GetIndex(), h.GetKnownLeader(), time.Duration(h.GetLastContactNanos())
		}
		if len(a.Items)+len(part.GetItems()) > maxAnswer {
			return refuse(model.KindTooLarge, fmt.Sprintf("the answer has more than %d MiB: ask a server directly, or for less", maxAnswer>>20))
		}
		a.Items = append(a.Items, part.GetItems()...)
	}
}
