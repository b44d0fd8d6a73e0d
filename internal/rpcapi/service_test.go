package rpcapi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/rpc"
	"github.com/muster-discovery/muster/internal/rpc/rpcpb"
)

type fakeApplier func(ctx context.Context, token string, command []byte) (uint64, []byte, error)

func (f fakeApplier) ForwardedApply(ctx context.Context, token string, command []byte) (uint64, []byte, error) {
	return f(ctx, token, command)
}

type fakeReader func(context.Context, model.Topic, bool) (uint64, error)

func (f fakeReader) ReadIndex(ctx context.Context, t model.Topic, consistent bool) (uint64, error) {
	return f(ctx, t, consistent)
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
	New(fakeApplier(func(_ context.Context, token string, command []byte) (uint64, []byte, error) {
		if token != "good" {
			return 0, nil, fmt.Errorf("authorize: %w", denied)
		}
		return uint64(len(command)), nil, nil
	}), fakeReader(func(_ context.Context, topic model.Topic, consistent bool) (uint64, error) {
		if topic != (model.Topic{Kind: model.TopicService, Name: "web"}) || !consistent {
			return 0, errors.New("wrong question")
		}
		return 17, nil
	}), testIdentity).Register(server)
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
	if n, _, err := p.Forward(t.Context(), "s", "good", []byte("12345")); n != 5 || err != nil {
		t.Error(n, err)
	}
	var e *model.Error
	if _, _, err := p.Forward(t.Context(), "s", "bad", nil); !errors.As(err, &e) || *e != *denied {
		t.Errorf("denied arrives as %#v", err)
	}
	if n, err := p.ReadIndex(t.Context(), "s", model.Topic{Kind: model.TopicService, Name: "web"}, true); n != 17 || err != nil {
		t.Error(n, err)
	}
	want := rpc.Identity{NodeID: "id", NodeName: "n1", Datacenter: "dc1", Version: "0.1.0", RPCFormat: RPCFormat, LogFormat: 1, SnapshotFormat: 1}
	if id, err := p.Identity(t.Context(), "s"); id != want || err != nil {
		t.Errorf("%+v, %v", id, err)
	}
	if _, _, err := pool("dc2").Forward(t.Context(), "s", "good", nil); model.KindOf(err) != model.KindNoPath || !strings.Contains(err.Error(), `"dc2"`) {
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
	var err error
	s := New(fakeApplier(func(context.Context, string, []byte) (uint64, []byte, error) { return 0, nil, err }),
		fakeReader(func(context.Context, model.Topic, bool) (uint64, error) { return 0, err }), testIdentity)
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
		err = tt.err
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
