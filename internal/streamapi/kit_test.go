package streamapi

import (
	"context"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/test/bufconn"

	"github.com/muster-discovery/muster/internal/acl"
	"github.com/muster-discovery/muster/internal/consumer"
	"github.com/muster-discovery/muster/internal/lookup"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/state"
	"github.com/muster-discovery/muster/internal/view"
	v1 "github.com/muster-discovery/muster/proto/muster/discovery/v1"
)

// registry is a real state behind the service.
type registry struct {
	t         testing.TB
	store     *state.Store
	hub       *view.Hub
	lookup    *lookup.Lookup
	consumers *consumer.Registry
	listener  *bufconn.Listener
}

type leader struct{}

func (leader) Known() bool                { return true }
func (leader) IsLeader() bool             { return true }
func (leader) LastContact() time.Duration { return 0 }
func (leader) ReadTopic(context.Context, model.Topic, uint64, bool) (lookup.TopicState, error) {
	return lookup.TopicState{Index: 1}, nil
}

func newRegistry(t testing.TB, resolve func(string) (acl.Authorizer, error), options ...grpc.ServerOption) *registry {
	t.Helper()
	return makeRegistry(t, resolve, nil, options...)
}

// newRegistryWith has the service's settings changed.
func newRegistryWith(t testing.TB, change func(*Config), options ...grpc.ServerOption) *registry {
	t.Helper()
	return makeRegistry(t, nil, change, options...)
}

func makeRegistry(t testing.TB, resolve func(string) (acl.Authorizer, error), change func(*Config), options ...grpc.ServerOption) *registry {
	t.Helper()
	r := &registry{t: t, store: state.New(), listener: bufconn.Listen(64 << 10)}
	r.hub = view.NewHub(r.store, view.Config{})
	if resolve == nil {
		resolve = func(string) (acl.Authorizer, error) { return acl.AllowAll{}, nil }
	}
	var err error
	if r.consumers, err = consumer.New(consumer.Config{}); err != nil {
		t.Fatal(err)
	}
	r.lookup = lookup.New(lookup.Config{Hub: r.hub, Leader: leader{}, Datacenter: "dc1", Resolve: resolve})
	c := Config{Consumers: r.consumers, Node: "server-1", Lookup: r.lookup}
	if change != nil {
		change(&c)
	}
	s := New(c)
	server := grpc.NewServer(options...)
	s.Register(server)
	served := make(chan struct{})
	go func() {
		_ = server.Serve(r.listener)
		close(served)
	}()
	t.Cleanup(func() {
		server.Stop()
		<-served
		s.Wait()
		if left := r.consumers.Streams(model.Topic{}); len(left) > 0 {
			t.Errorf("%d streams are left", len(left))
		}
	})
	return r
}

// run applies commands as one batch.
func (r *registry) run(commands ...func(*state.Batch)) {
	b := r.store.Batch()
	for _, c := range commands {
		c(b)
	}
	touched := b.Commit()
	if touched == nil {
		touched = []model.Topic{}
	}
	r.hub.Publish(touched)
}

var noMeta = &model.CommandMeta{}

func register(node, service, id string, port int, status string) func(*state.Batch) {
	return func(b *state.Batch) {
		_, _ = b.Register(noMeta, &model.Registration{
			Node:    model.Node{Name: node, Address: "10.0.0.1", Datacenter: "dc1", Meta: map[string]string{"rack": "r1"}},
			Service: &model.Service{ID: id, Name: service, Port: port, Tags: []string{"v1"}},
			Checks:  []*model.Check{{ID: "c-" + id, Name: "alive", Status: status, ServiceID: id}},
		})
	}
}

func deregister(node, id string) func(*state.Batch) {
	return func(b *state.Batch) { _, _ = b.Deregister(noMeta, &model.Deregistration{Node: node, ServiceID: id}) }
}

// dial makes a connection that counts the bytes of received messages.
func (r *registry) dial() (*grpc.ClientConn, *counter) {
	r.t.Helper()
	c := new(counter)
	conn, err := grpc.NewClient("passthrough:///registry", grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithStatsHandler(c),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return r.listener.DialContext(ctx) }))
	if err != nil {
		r.t.Fatal(err)
	}
	return conn, c
}

type counter struct{ bytes atomic.Int64 }

func (c *counter) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (c *counter) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (c *counter) HandleConn(context.Context, stats.ConnStats)                       {}
func (c *counter) HandleRPC(_ context.Context, s stats.RPCStats) {
	if in, ok := s.(*stats.InPayload); ok {
		c.bytes.Add(int64(in.WireLength))
	}
}

// stream is a raw stream.
type stream struct {
	t testing.TB
	grpc.BidiStreamingClient[v1.WatchRequest, v1.WatchResponse]
	bytes *counter
	id    string
}

func (r *registry) open(ctx context.Context) *stream {
	r.t.Helper()
	conn, c := r.dial()
	r.t.Cleanup(func() { _ = conn.Close() })
	s, err := v1.NewDiscoveryClient(conn).Watch(ctx)
	if err != nil {
		r.t.Fatal(err)
	}
	x := &stream{t: r.t, BidiStreamingClient: s, bytes: c}
	first := x.next()
	if x.id = first.GetStarted().GetStream(); x.id == "" || first.GetStarted().GetNode() != "server-1" {
		r.t.Fatalf("%v", first)
	}
	return x
}

func (s *stream) next() *v1.WatchResponse {
	s.t.Helper()
	m, err := s.Recv()
	if err != nil {
		s.t.Fatal(err)
	}
	if len(m.ProtoReflect().GetUnknown()) > 0 {
		s.t.Fatalf("fields that the schema does not know: %v", m)
	}
	return m
}

func (s *stream) subscribe(q *v1.Subscribe) {
	s.t.Helper()
	if err := s.Send(&v1.WatchRequest{Request: &v1.WatchRequest_Subscribe{Subscribe: q}}); err != nil && err != io.EOF {
		s.t.Fatal(err)
	}
}

func (s *stream) ack(watch, index uint64) {
	s.t.Helper()
	if err := s.Send(&v1.WatchRequest{Request: &v1.WatchRequest_Ack{Ack: &v1.Ack{Watch: watch, Index: index}}}); err != nil {
		s.t.Fatal(err)
	}
}
