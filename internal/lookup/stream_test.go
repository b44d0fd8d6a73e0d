package lookup

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-discovery/muster/internal/acl"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/state"
	"github.com/muster-discovery/muster/internal/view"
	"github.com/muster-discovery/muster/internal/wire"
)

// some allows the named nodes, and every service.
type some struct{ nodes string }

func (s some) Allowed(r acl.Resource, name string, _ acl.Access) bool {
	return r != acl.Node || strings.Contains(s.nodes, name)
}
func (some) AllowsAll(r acl.Resource, _ acl.Access) bool { return r != acl.Node }

// rig is one server with a real state, and who may see what.
type rig struct {
	*server
	leader *leader
	auth   atomic.Value // of acl.Authorizer
}

func newRig() *rig {
	r := &rig{server: &server{store: state.New()}, leader: &leader{known: true, self: true}}
	r.hub = view.NewHub(r.store, view.Config{})
	r.auth.Store(holder{acl.AllowAll{}})
	r.lookup = New(Config{Hub: r.hub, Leader: r.leader, Datacenter: "dc1",
		Resolve: func(string) (acl.Authorizer, error) {
			a := r.auth.Load().(holder).Authorizer
			if a == nil {
				return nil, model.Errorf(model.KindDenied, "no such token")
			}
			return a, nil
		}})
	return r
}

// far is a leader that takes a while to answer.
type far struct{ *leader }

func (f far) ReadTopic(ctx context.Context, t model.Topic, have uint64, consistent bool) (TopicState, error) {
	time.Sleep(10 * time.Millisecond)
	return f.leader.ReadTopic(ctx, t, have, consistent)
}

type holder struct{ acl.Authorizer }

func (r *rig) register(node, service string, port int) {
	b := r.store.Batch()
	_, _ = b.Register(&model.CommandMeta{}, &model.Registration{
		Node: model.Node{Name: node, Address: "10.0.0.1"}, Service: &model.Service{ID: service, Name: service, Port: port},
	})
	r.hub.Publish(b.Commit())
}

// told collects and names what came.
func told(t *testing.T, s *Stream) string {
	t.Helper()
	var all []string
	for _, e := range s.Collect(nil) {
		text := [...]string{EventReset: "reset", EventSnapshot: "snapshot", EventDelta: "delta", EventCurrent: "current"}[e.Kind]
		if e.Kind == EventSnapshot || e.Kind == EventDelta {
			frame, n, err := e.Frame(s)
			if err != nil {
				t.Fatal(err)
			}
			text += fmt.Sprint(" ", n)
			b, isDelta := frame.([]byte)
			if !isDelta {
				b = frame.(*wire.Frame).Body
			}
			for _, node := range []string{"n1", "n2"} {
				if strings.Contains(string(b), `"Node":"`+node+`"`) {
					text += " " + node
				}
			}
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

func webStream(t testing.TB, r *rig, q StreamRequest) *Stream {
	t.Helper()
	s, err := r.lookup.OpenStream("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	q.Topic, q.Encoder = model.NewTopic(model.TopicService, "web"), wire.HealthServiceJSON
	if err := s.Watch(t.Context(), 1, q); err != nil {
		t.Fatal(err)
	}
	return s
}

// Permissions apply to each item, also when they change while the stream is open.
func TestStreamPermissions(t *testing.T) {
	r := newRig()
	r.auth.Store(holder{some{"n1"}})
	r.register("n1", "web", 80)
	r.register("n2", "web", 80)
	s := webStream(t, r, StreamRequest{})
	expect := func(want string) {
		t.Helper()
		if got := told(t, s); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	expect("snapshot 1 n1")
	r.register("n2", "web", 81)
	expect("delta 0") // which the edges leave out
	r.register("n1", "web", 81)
	expect("delta 1 n1")
	if err := s.Recheck(); err != nil {
		t.Error(err)
	}
	expect("")
	r.auth.Store(holder{some{"n1 n2"}})
	if err := s.Recheck(); err != nil {
		t.Error(err)
	}
	expect("reset, snapshot 2 n1 n2")
	r.auth.Store(holder{acl.AllowAll{}})
	_ = s.Recheck()
	expect("reset, snapshot 2 n1 n2")
	r.auth.Store(holder{})
	if err := s.Recheck(); model.KindOf(err) != model.KindDenied {
		t.Error(err)
	}
	if _, err := r.lookup.OpenStream(""); model.KindOf(err) != model.KindDenied {
		t.Error(err)
	}
}

func TestStreamRefuses(t *testing.T) {
	r := newRig()
	s, err := r.lookup.OpenStream("")
	if err != nil {
		t.Fatal(err)
	}
	near, err := r.lookup.Prepare(wire.HealthServiceJSON, Question{Near: "n1"})
	if err != nil {
		t.Fatal(err)
	}
	web := model.NewTopic(model.TopicService, "web")
	for _, tt := range []struct {
		q    StreamRequest
		kind model.ErrorKind
	}{
		{StreamRequest{Topic: web, Encoder: wire.HealthServiceJSON, Datacenter: "dc2"}, model.KindNoPath},
		{StreamRequest{Topic: web, Encoder: wire.HealthServiceJSON, Variant: near}, model.KindInvalid},
		{StreamRequest{Topic: model.NewTopic(model.TopicCARoots, ""), Encoder: wire.CARootsJSON}, model.KindInvalid},
	} {
		if err := s.Watch(t.Context(), 1, tt.q); model.KindOf(err) != tt.kind {
			t.Errorf("%+v: %v", tt.q, err)
		}
	}
	s.Unwatch(1)
	s.Close()
	if n := r.hub.Stats().Waiters; n != 0 {
		t.Errorf("%d followers are left", n)
	}
}

// A server that does not lead asks once, for all watches and streams that come at
// the same time, and waits until it has what the leader had.
func TestStreamAsksTheLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig()
		r.leader.self = false
		r.leader.index = 2
		r.lookup.config.Leader = far{r.leader}
		var done sync.WaitGroup
		for range 50 {
			done.Go(func() {
				s, err := r.lookup.OpenStream("")
				if err != nil {
					t.Error(err)
					return
				}
				defer s.Close()
				for k, name := range []string{"web", "db", "mail"} {
					q := StreamRequest{Topic: model.NewTopic(model.TopicService, name), Encoder: wire.HealthServiceJSON}
					if err := s.Watch(t.Context(), uint64(k), q); err != nil {
						t.Error(err)
					}
				}
				if got := told(t, s); !strings.Contains(got, "snapshot 1 n1") {
					t.Error(got)
				}
			})
		}
		time.Sleep(100 * time.Millisecond)
		r.register("n1", "web", 80) // arrives from the leader
		done.Wait()
		if n := len(r.leader.asked); n < 1 || n > 3 {
			t.Errorf("the leader was asked %d times: %q", n, r.leader.asked)
		}
		// One that is behind for good says so.
		r.leader.index = 99
		time.Sleep(time.Second)
		s, _ := r.lookup.OpenStream("")
		q := StreamRequest{Topic: model.NewTopic(model.TopicService, "web"), Encoder: wire.HealthServiceJSON}
		if err := s.Watch(t.Context(), 1, q); model.KindOf(err) != model.KindUnavailable || !strings.Contains(err.Error(), "allow stale reads") {
			t.Error(err)
		}
		q.Mode = ModeStale
		if err := s.Watch(t.Context(), 1, q); err != nil {
			t.Error(err)
		}
		s.Close()
	})
}

// A server that is behind waits for what its client has already, and no longer than
// a moment for what nobody has.
func TestStreamResumesAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig()
		r.register("n1", "web", 80)
		start := time.Now()
		go func() {
			time.Sleep(100 * time.Millisecond)
			r.register("n1", "web", 81)
		}()
		s := webStream(t, r, StreamRequest{Resume: 3, Mode: ModeStale})
		if got := told(t, s); got != "current" || time.Since(start) != 100*time.Millisecond {
			t.Errorf("%q after %s", got, time.Since(start))
		}
		s = webStream(t, r, StreamRequest{Resume: 999, Mode: ModeStale})
		if got := told(t, s); got != "reset, snapshot 1 n1" || time.Since(start) > 2*time.Second {
			t.Errorf("%q after %s", got, time.Since(start))
		}
	})
}

// Where topics have no common index (on client agents) one index resumes one watch
// only.
func TestStreamWithoutCommonIndex(t *testing.T) {
	src := &store{floor: 1, topics: map[model.Topic]stored{}}
	hub := view.NewHub(src, view.Config{})
	l := New(Config{Hub: hub, Leader: &leader{known: true, self: true}, Resolve: func(string) (acl.Authorizer, error) { return acl.AllowAll{}, nil }})
	web, db := model.NewTopic(model.TopicService, "web"), model.NewTopic(model.TopicService, "db")
	src.set(web, 7)
	s, _ := l.OpenStream("")
	defer s.Close()
	watch := func(id uint64, topic model.Topic) {
		if err := s.Watch(t.Context(), id, StreamRequest{Topic: topic, Encoder: wire.HealthServiceJSON}); err != nil {
			t.Fatal(err)
		}
	}
	watch(1, web)
	if e := s.Collect(nil); len(e) != 1 || e[0].ID != 7 || s.ID() != 7 {
		t.Errorf("%+v, %d", e, s.ID())
	}
	watch(2, db)
	if e := s.Collect(nil); len(e) != 1 || e[0].ID != 0 || s.ID() != 0 || s.Index() != 1 {
		t.Errorf("%+v, %d, %d", e, s.ID(), s.Index())
	}
}

// Ten thousand streams come back at once after a change: the change is computed and
// encoded once, and each costs a look at the record.
func TestTenThousandStreamsComeBack(t *testing.T) {
	const streams = 10_000
	r := newRig()
	for i := range 200 {
		r.register(fmt.Sprintf("n%d", i), "web", 80)
	}
	s := webStream(t, r, StreamRequest{})
	index := s.Collect(nil)[0].Index
	r.register("n7", "web", 81)
	r.register("n8", "web", 81)
	builds := r.hub.Stats().Builds
	start := time.Now()
	frames := map[*byte]int{}
	all := make([]*Stream, streams)
	for k := range all {
		all[k] = webStream(t, r, StreamRequest{Resume: index})
	}
	for _, x := range all {
		events := x.Collect(nil)
		frame, n, err := events[0].Frame(x)
		if err != nil || n != 2 || events[0].Kind != EventDelta {
			t.Fatal(events, n, err)
		}
		frames[&frame.([]byte)[0]]++
	}
	took := time.Since(start)
	t.Logf("%d streams in %s, %.1f µs each", streams, took.Round(time.Millisecond), float64(took.Microseconds())/streams)
	if n := r.hub.Stats().Builds - builds; n > 1 || len(frames) != 1 {
		t.Errorf("%d builds, %d different frames", n, len(frames))
	}
}
