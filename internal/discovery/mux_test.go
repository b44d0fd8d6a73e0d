package discovery

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/test/bufconn"

	"github.com/muster-discovery/muster/internal/model"
	v1 "github.com/muster-discovery/muster/proto/muster/discovery/v1"
)

// script is a server that does what a test says, stream by stream.
type script struct {
	v1.UnimplementedDiscoveryServer
	t       *testing.T
	mu      sync.Mutex
	streams []func(*conversation) error // guarded by mu; the next ones
	opened  []time.Time                 // guarded by mu
	dialed  int                         // guarded by mu
	conn    *grpc.ClientConn
}

type conversation struct {
	t *testing.T
	s grpc.BidiStreamingServer[v1.WatchRequest, v1.WatchResponse]
}

func newScript(t *testing.T, streams ...func(*conversation) error) *script {
	s := &script{t: t, streams: streams}
	l := bufconn.Listen(1 << 20)
	server := grpc.NewServer()
	v1.RegisterDiscoveryServer(server, s)
	served := make(chan struct{})
	go func() {
		_ = server.Serve(l)
		close(served)
	}()
	var err error
	s.conn, err = grpc.NewClient("passthrough:///script", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.conn.Close()
		server.Stop()
		<-served
	})
	return s
}

func (s *script) dial(context.Context) (grpc.ClientConnInterface, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dialed++
	return s.conn, nil
}

func (s *script) Watch(stream grpc.BidiStreamingServer[v1.WatchRequest, v1.WatchResponse]) error {
	s.mu.Lock()
	s.opened = append(s.opened, time.Now())
	if len(s.streams) == 0 {
		s.mu.Unlock()
		<-stream.Context().Done()
		return nil
	}
	f := s.streams[0]
	s.streams = s.streams[1:]
	s.mu.Unlock()
	return f(&conversation{s.t, stream})
}

// expect reads until a request fits.
func (c *conversation) expect(fits func(*v1.WatchRequest) bool) *v1.WatchRequest {
	for {
		r, err := c.s.Recv()
		if err != nil {
			c.t.Errorf("waiting for a request: %v", err)
			return new(v1.WatchRequest)
		}
		if fits(r) {
			return r
		}
	}
}

func (c *conversation) subscription() *v1.Subscribe {
	return c.expect(func(r *v1.WatchRequest) bool { return r.GetSubscribe() != nil }).GetSubscribe()
}

func (c *conversation) ack(index uint64) {
	c.expect(func(r *v1.WatchRequest) bool { return r.GetAck().GetIndex() == index })
}

func (c *conversation) started() {
	c.send(&v1.WatchResponse{Event: &v1.WatchResponse_Started{Started: &v1.Started{Stream: "s", Node: "server-1"}}})
}

func (c *conversation) send(r *v1.WatchResponse) { _ = c.s.Send(r) }

func (c *conversation) snapshot(watch, index uint64, last bool, list ...*model.Instance) {
	m := &v1.Snapshot{Last: last}
	for _, i := range list {
		m.Instances = append(m.Instances, Encode(i))
	}
	c.send(&v1.WatchResponse{Watch: watch, Index: index, Event: &v1.WatchResponse_Snapshot{Snapshot: m}})
}

func (c *conversation) delta(watch, index uint64, upsert []*model.Instance, remove ...*model.Instance) {
	m := new(v1.Delta)
	for _, i := range upsert {
		m.Upsert = append(m.Upsert, Encode(i))
	}
	for _, i := range remove {
		m.Remove = append(m.Remove, &v1.Removal{Node: i.Node.Name, Id: i.Service.ID})
	}
	c.send(&v1.WatchResponse{Watch: watch, Index: index, Event: &v1.WatchResponse_Delta{Delta: m}})
}

func inst(node, id string, port int) *model.Instance {
	return &model.Instance{
		Node:    &model.Node{Name: node},
		Service: &model.Service{Node: node, ID: id, Name: "web", Port: port},
	}
}

// shown is an update as text.
func shown(u Update) string {
	if u.Err != nil {
		return "error: " + u.Err.Error()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d:", u.Index)
	for _, i := range u.Instances {
		fmt.Fprintf(&b, " %s/%s:%d", i.Node.Name, i.Service.ID, i.Service.Port)
	}
	return b.String()
}

// rig runs a Mux against a script in a bubble.
type rig struct {
	*Mux
	mu      sync.Mutex
	updates []string
	last    Update
}

func (g *rig) take(u Update) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.updates, g.last = append(g.updates, shown(u)), u
}

func (g *rig) want(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	if !slices.Equal(g.updates, want) {
		t.Errorf("updates %q, want %q", g.updates, want)
	}
}

func newRig(t *testing.T, s *script, change ...func(*Config)) *rig {
	c := Config{Dial: s.dial, Node: "client-1", Agent: "test", Token: func() string { return "secret" }}
	for _, f := range change {
		f(&c)
	}
	m, err := NewMux(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := m.Run(ctx); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return &rig{Mux: m}
}

func TestMux(t *testing.T) {
	a, b, c := inst("n1", "a", 1), inst("n1", "b", 1), inst("N2", "c", 1)
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, func(k *conversation) error {
			if md, _ := metadata.FromIncomingContext(k.s.Context()); !slices.Equal(md.Get(TokenKey), []string{"secret"}) {
				t.Errorf("token: %v", md)
			}
			k.started()
			hello := k.expect(func(r *v1.WatchRequest) bool { return r.GetHello() != nil }).GetHello()
			if hello.GetNode() != "client-1" || hello.GetHeartbeat().AsDuration() != 5*time.Second {
				t.Errorf("%v", hello)
			}
			q := k.subscription()
			if q.GetService() != "web" || !q.GetPassing() || q.GetKind() != v1.Kind_KIND_CONNECT || q.GetResume() != 0 || !slices.Equal(q.GetTags(), []string{"x"}) {
				t.Errorf("%v", q)
			}
			id := q.GetWatch()
			k.snapshot(id, 7, false, a)
			k.snapshot(id, 7, true, b)
			k.ack(7)
			k.delta(id, 8, []*model.Instance{inst("n1", "a", 2), c})
			k.ack(8)
			k.delta(id, 9, nil, b)
			k.ack(9)
			return errors.New("server restarts")
		}, func(k *conversation) error {
			k.started()
			q := k.subscription()
			if q.GetResume() != 9 {
				t.Errorf("resumes from %d", q.GetResume())
			}
			k.delta(q.GetWatch(), 12, []*model.Instance{b})
			k.ack(12)
			k.send(&v1.WatchResponse{Watch: q.GetWatch(), Index: 5, Event: &v1.WatchResponse_Reset_{Reset_: &v1.Reset{}}})
			k.snapshot(q.GetWatch(), 5, true, c, a)
			k.ack(5)
			k.expect(func(r *v1.WatchRequest) bool { return r.GetUnsubscribe().GetWatch() == q.GetWatch() })
			k.delta(q.GetWatch(), 13, []*model.Instance{b}) // was under way
			return nil
		})
		g := newRig(t, s)
		if !g.LastHeard().IsZero() || g.Healthy() {
			t.Error("healthy before it began")
		}
		w, err := g.Watch(Query{Service: "web", Connect: true, Passing: true, Tags: []string{"x"}}, g.take)
		if err != nil {
			t.Fatal(err)
		}
		first := []string{"7: n1/a:1 n1/b:1", "8: n1/a:2 n1/b:1 N2/c:1", "9: n1/a:2 N2/c:1"}
		g.want(t, first...)
		time.Sleep(time.Second) // the pause before the next stream
		all := append(first, "12: n1/a:2 n1/b:1 N2/c:1", "5: n1/a:1 N2/c:1")
		g.want(t, all...)
		if !g.Healthy() || g.Server() != "server-1" || g.LastHeard().IsZero() {
			t.Error("not healthy")
		}
		if u, ok := w.Latest(); !ok || u.Index != 5 {
			t.Errorf("%+v", u)
		}
		w.Close()
		w.Close()
		g.want(t, all...)
	})
}

// An instance that did not change keeps its address, also over a reset.
func TestMuxKeepsAddresses(t *testing.T) {
	a, b := inst("n1", "a", 1), inst("n1", "b", 1)
	next := make(chan struct{})
	synctest.Test(t, func(t *testing.T) {
		next = make(chan struct{})
		s := newScript(t, func(k *conversation) error {
			k.started()
			q := k.subscription()
			k.snapshot(q.GetWatch(), 7, true, a, b)
			<-next
			k.snapshot(q.GetWatch(), 8, true, a, inst("n1", "b", 2))
			<-k.s.Context().Done()
			return nil
		})
		g := newRig(t, s)
		if _, err := g.Watch(Query{Service: "web"}, g.take); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		old := g.last.Instances
		close(next)
		synctest.Wait()
		if now := g.last.Instances; now[0] != old[0] || now[1] == old[1] {
			t.Errorf("%p %p, before %p %p", now[0], now[1], old[0], old[1])
		}
	})
}

// A silent server is given up after three heartbeats, and the next one asked soon.
func TestMuxGivesUpASilentServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent := func(k *conversation) error {
			k.started()
			<-k.s.Context().Done()
			return nil
		}
		s := newScript(t, silent, silent)
		start := time.Now()
		newRig(t, s)
		time.Sleep(32 * time.Second)
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.opened) < 3 || s.dialed != len(s.opened) {
			t.Fatalf("%d streams, %d dials", len(s.opened), s.dialed)
		}
		if at := s.opened[1].Sub(start); at < 15*time.Second || at > 16*time.Second {
			t.Errorf("the second stream came after %s", at)
		}
	})
}

// A server that can't be reached is asked less and less often.
func TestMuxBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at []time.Time
		m, err := NewMux(Config{Dial: func(context.Context) (grpc.ClientConnInterface, error) {
			at = append(at, time.Now())
			return nil, errors.New("no server")
		}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		_ = m.Run(ctx)
		if n := len(at); n < 30 || n > 70 {
			t.Errorf("%d attempts in five minutes", n)
		}
		for k := 12; k < len(at); k++ {
			if d := at[k].Sub(at[k-1]); d < 5*time.Second || d > 10*time.Second {
				t.Errorf("pause of %s", d)
			}
		}
	})
}

// A refused watch tries again, and keeps what it has.
func TestMuxRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refusal := func(watch uint64) *v1.WatchResponse {
			return &v1.WatchResponse{Watch: watch, Event: &v1.WatchResponse_Error{Error: &v1.Error{Kind: uint32(model.KindDenied), Text: "Permission denied"}}}
		}
		s := newScript(t, func(k *conversation) error {
			k.started()
			q := k.subscription()
			k.snapshot(q.GetWatch(), 7, true, inst("n1", "a", 1))
			k.ack(7)
			k.send(refusal(q.GetWatch()))
			q = k.subscription()
			k.send(refusal(q.GetWatch()))
			if q = k.subscription(); q.GetResume() != 7 {
				t.Errorf("resumes from %d", q.GetResume())
			}
			k.send(&v1.WatchResponse{Watch: q.GetWatch(), Index: 7, Event: &v1.WatchResponse_Heartbeat{}})
			<-k.s.Context().Done()
			return nil
		})
		g := newRig(t, s, func(c *Config) { c.Heartbeat = time.Minute })
		w, err := g.Watch(Query{Service: "web"}, g.take)
		if err != nil {
			t.Fatal(err)
		}
		g.want(t, "7: n1/a:1", "error: Permission denied")
		if u, _ := w.Latest(); model.KindOf(u.Err) != model.KindDenied || len(u.Instances) != 1 {
			t.Errorf("%+v", u)
		}
		time.Sleep(5 * time.Second)
		g.want(t, "7: n1/a:1", "error: Permission denied", "error: Permission denied", "7: n1/a:1")
		if !g.Healthy() {
			t.Error("not healthy")
		}
	})
}

// What a broken or hostile server sends ends its stream and changes nothing.
func TestMuxRefusesNonsense(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		good := func(then func(k *conversation, watch uint64)) func(*conversation) error {
			return func(k *conversation) error {
				k.started()
				q := k.subscription()
				if q.GetResume() == 0 {
					k.snapshot(q.GetWatch(), 7, true, inst("n1", "a", 1))
				}
				then(k, q.GetWatch())
				<-k.s.Context().Done()
				return nil
			}
		}
		s := newScript(t,
			good(func(k *conversation, w uint64) { k.delta(w, 7, []*model.Instance{inst("n1", "b", 1)}) }),
			good(func(k *conversation, w uint64) { k.delta(w, 3, nil) }),
			good(func(k *conversation, w uint64) {
				k.send(&v1.WatchResponse{Watch: w, Index: 9, Event: &v1.WatchResponse_Delta{Delta: &v1.Delta{Upsert: []*v1.Instance{{}}}}})
			}),
			good(func(k *conversation, w uint64) {
				k.snapshot(w, 9, false, inst("n1", "b", 1), inst("n1", "c", 1))
				k.snapshot(w, 9, false, inst("n1", "d", 1), inst("n1", "e", 1))
			}),
			good(func(k *conversation, w uint64) { k.send(&v1.WatchResponse{Watch: 99, Index: 1}) }),
		)
		g := newRig(t, s, func(c *Config) { c.MaxInstances = 3 })
		if _, err := g.Watch(Query{Service: "web"}, g.take); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		g.want(t, "7: n1/a:1")
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.streams) != 0 {
			t.Errorf("%d streams were not asked for", len(s.streams))
		}
	})
}

func TestMuxBounds(t *testing.T) {
	m, err := NewMux(Config{Dial: func(context.Context) (grpc.ClientConnInterface, error) { return nil, nil }, MaxWatches: 2})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Watch(Query{}, nil); model.KindOf(err) != model.KindInvalid {
		t.Error(err)
	}
	w, _ := m.Watch(Query{Service: "a"}, nil)
	_, _ = m.Watch(Query{Service: "b"}, nil)
	if _, err := m.Watch(Query{Service: "c"}, nil); model.KindOf(err) != model.KindLimit {
		t.Error(err)
	}
	w.Close()
	if _, err := m.Watch(Query{Service: "c"}, nil); err != nil {
		t.Error(err)
	}
	if _, err := NewMux(Config{}); err == nil {
		t.Error("a Mux without Dial")
	}
}
