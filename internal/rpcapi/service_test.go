package rpcapi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/rpc"
	"github.com/muster-discovery/muster/internal/rpc/rpcpb"
)

type fakeApplier func(ctx context.Context, token string, command []byte) (uint64, []byte, error)

func (f fakeApplier) RelayedApply(ctx context.Context, token string, command []byte) (uint64, []byte, error) {
	return f(ctx, token+" relayed", command)
}

func (f fakeApplier) ForwardedApply(ctx context.Context, token string, command []byte) (uint64, []byte, error) {
	return f(ctx, token, command)
}

type fakeReader struct {
	err   error
	index func(t rpc.TopicQuestion, consistent bool) rpc.TopicAnswer
	read  func(*rpc.Question) (*rpc.Answer, [][]byte)
}

func (f fakeReader) ReadIndex(_ context.Context, topics []rpc.TopicQuestion, consistent bool) ([]rpc.TopicAnswer, error) {
	if f.err != nil {
		return nil, f.err
	}
	var answers []rpc.TopicAnswer
	for _, t := range topics {
		answers = append(answers, f.index(t, consistent))
	}
	return answers, nil
}

func (f fakeReader) Read(_ context.Context, q *rpc.Question) (*rpc.Answer, [][]byte, error) {
	if f.err != nil {
		return nil, nil, f.err
	}
	a, parts := f.read(q)
	return a, parts, nil
}

var testIdentity = Identity{NodeID: "id", NodeName: "n1", Datacenter: "dc1", Version: "0.1.0", LogFormat: 1, SnapshotFormat: 1}

// TestThroughThePort goes the whole way: pool, port, gRPC, service.
func TestThroughThePort(t *testing.T) {
	mux, err := rpc.Listen(rpc.MuxConfig{Addr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	server := rpc.NewServer(nil)
	denied := &model.Error{Kind: model.KindDenied, Field: "Token", Text: "Permission denied"}
	asked := rpc.Question{
		Token: "t", Topic: model.Topic{Kind: model.TopicService, Name: "web"}, Encoder: "health service", Passing: true, Healthy: true,
		Tags: []string{"a"}, NodeMeta: map[string]string{"b": "c"}, Filter: "x", Mode: 1, MaxStale: time.Second, MinIndex: 5, Wait: time.Minute,
	}
	New(fakeApplier(func(_ context.Context, token string, command []byte) (uint64, []byte, error) {
		if token != "good" && token != "client relayed" {
			return 0, nil, fmt.Errorf("authorize: %w", denied)
		}
		return uint64(len(command)), nil, nil
	}), fakeReader{
		index: func(q rpc.TopicQuestion, consistent bool) rpc.TopicAnswer {
			if !consistent || q.Have > 16 {
				return rpc.TopicAnswer{Index: 17}
			}
			return rpc.TopicAnswer{Index: 17, Items: []byte(q.Topic.Name)}
		},
		read: func(q *rpc.Question) (*rpc.Answer, [][]byte) {
			if !reflect.DeepEqual(*q, asked) {
				t.Errorf("asked %+v, want %+v", *q, asked)
			}
			return &rpc.Answer{Index: 9, KnownLeader: true, LastContact: time.Second}, [][]byte{[]byte("ab"), []byte("cd")}
		},
	}, testIdentity).Register(server)
	served := make(chan error, 1)
	go func() { served <- server.Serve(mux.Listener(rpc.KindGRPC)) }()
	pool := func(dc string) *rpc.Pool {
		p, err := rpc.NewPool(rpc.PoolConfig{Datacenter: dc, Resolve: func(string) (string, error) { return mux.Addr().String(), nil }})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = p.Close() })
		return p
	}
	p := pool("dc1")
	if n, _, err := p.Forward(t.Context(), "s", "good", []byte("12345"), false); n != 5 || err != nil {
		t.Error(n, err)
	}
	var e *model.Error
	if _, _, err := p.Forward(t.Context(), "s", "bad", nil, false); !errors.As(err, &e) || *e != *denied {
		t.Errorf("denied arrives as %#v", err)
	}
	if n, _, err := p.Forward(t.Context(), "s", "client", []byte("123"), true); n != 3 || err != nil {
		t.Error(n, err)
	}
	answers, err := p.ReadIndex(t.Context(), "s", []rpc.TopicQuestion{
		{Topic: model.Topic{Kind: model.TopicService, Name: "web"}, Have: 3}, {Topic: model.Topic{Kind: model.TopicNodes}},
		{Topic: model.Topic{Kind: model.TopicNodes}, Have: 17},
	}, true)
	if want := []rpc.TopicAnswer{{Index: 17, Items: []byte("web")}, {Index: 17, Items: []byte{}}, {Index: 17}}; err != nil || !reflect.DeepEqual(answers, want) {
		t.Errorf("%v, %v", answers, err)
	}
	if a, err := p.Read(t.Context(), "s", &asked); err != nil ||
		!reflect.DeepEqual(*a, rpc.Answer{Items: []byte("abcd"), Index: 9, KnownLeader: true, LastContact: time.Second}) {
		t.Errorf("%+v, %v", a, err)
	}
	want := rpc.Identity{NodeID: "id", NodeName: "n1", Datacenter: "dc1", Version: "0.1.0", RPCFormat: RPCFormat, LogFormat: 1, SnapshotFormat: 1}
	if id, err := p.Identity(t.Context(), "s"); id != want || err != nil {
		t.Errorf("%+v, %v", id, err)
	}
	if _, _, err := pool("dc2").Forward(t.Context(), "s", "good", nil, false); model.KindOf(err) != model.KindNoPath || !strings.Contains(err.Error(), `"dc2"`) {
		t.Errorf("for another datacenter: %v", err)
	}
	server.Stop()
	if err := mux.Close(); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil && !errors.Is(err, grpc.ErrServerStopped) && !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}

func TestEndedCalls(t *testing.T) {
	tests := []struct {
		err           error
		forward, read model.ErrorKind
	}{
		{nil, 0, 0},
		{errors.New("plain"), model.KindInternal, model.KindInternal},
		{fmt.Errorf("wait: %w", context.DeadlineExceeded), model.KindUncertain, model.KindUnavailable},
		{context.Canceled, model.KindUncertain, model.KindUnavailable},
		{model.Errorf(model.KindNotLeader, "no"), model.KindNotLeader, model.KindNotLeader},
	}
	for _, tt := range tests {
		err := tt.err
		s := New(fakeApplier(func(context.Context, string, []byte) (uint64, []byte, error) { return 0, nil, err }),
			fakeReader{err: err, index: func(rpc.TopicQuestion, bool) rpc.TopicAnswer { return rpc.TopicAnswer{} }}, testIdentity)
		f, _ := s.Forward(t.Context(), &rpcpb.ForwardRequest{})
		r, _ := s.ReadIndex(t.Context(), &rpcpb.ReadIndexRequest{TopicKind: 1})
		if (f.GetError() != nil) != (err != nil) || model.ErrorKind(f.GetError().GetKind()) != tt.forward || model.ErrorKind(r.GetError().GetKind()) != tt.read {
			t.Errorf("%v became %v and %v", tt.err, f.GetError(), r.GetError())
		}
	}
}

func TestBadTopic(t *testing.T) {
	s := New(nil, nil, testIdentity)
	for _, kind := range []uint32{0, 256, 1 << 31} {
		r, err := s.ReadIndex(t.Context(), &rpcpb.ReadIndexRequest{TopicKind: kind})
		if err != nil || model.ErrorKind(r.GetError().GetKind()) != model.KindInvalid {
			t.Errorf("kind %d: %v, %v", kind, r, err)
		}
	}
}
