package streamapi

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/muster-discovery/muster/internal/acl"
	"github.com/muster-discovery/muster/internal/discovery"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/state"
	v1 "github.com/muster-discovery/muster/proto/muster/discovery/v1"
)

func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry(t, nil)
		r.run(register("n1", "web", "a", 80, "passing"))
		s := r.open(t.Context())
		s.subscribe(&v1.Subscribe{Watch: 5, Service: "Web"})
		m := s.next()
		if list := m.GetSnapshot().GetInstances(); m.GetWatch() != 5 || m.GetIndex() == 0 || len(list) != 1 || !m.GetSnapshot().GetLast() || discovery.Decode(list[0]).Node.Meta["rack"] != "r1" {
			t.Errorf("%v", m)
		}
		first := m.GetIndex()
		r.run(register("n2", "web", "b", 80, "passing"))
		if m = s.next(); m.GetIndex() <= first || len(m.GetDelta().GetUpsert()) != 1 || len(m.GetDelta().GetRemove()) != 0 {
			t.Errorf("%v", m)
		}
		r.run(deregister("n1", "a"))
		if m = s.next(); len(m.GetDelta().GetUpsert()) != 0 || m.GetDelta().GetRemove()[0].GetNode() != "n1" || m.GetDelta().GetRemove()[0].GetId() != "a" {
			t.Errorf("%v", m)
		}
		s.ack(5, m.GetIndex())
		s.ack(5, m.GetIndex()+1) // never sent: not noted
		synctest.Wait()
		if list := r.consumers.Streams(model.NewTopic(model.TopicService, "web")); len(list) != 1 || list[0].ID != s.id || list[0].Watches[0].Confirmed != m.GetIndex() {
			t.Errorf("%+v", list)
		}
		// A heartbeat comes for all.
		if m = s.next(); m.GetWatch() != 0 || m.GetHeartbeat().GetTime() == nil || m.GetIndex() < first {
			t.Errorf("%v", m)
		}
		_ = s.Send(&v1.WatchRequest{Request: &v1.WatchRequest_Unsubscribe{Unsubscribe: &v1.Unsubscribe{Watch: 5}}})
		synctest.Wait()
		r.run(register("n3", "web", "c", 80, "passing"))
		if m = s.next(); m.GetHeartbeat() == nil {
			t.Errorf("%v", m)
		}
	})
}

func TestWatchQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry(t, nil)
		r.run(register("n1", "web", "a", 80, "passing"), register("n1", "web", "b", 81, "critical"))
		s := r.open(t.Context())
		for k, q := range []*v1.Subscribe{
			{Passing: true}, {Filter: "Service.Port == 81"}, {Tags: []string{"V1"}}, {Tags: []string{"v2"}}, {Kind: v1.Kind_KIND_CONNECT},
		} {
			q.Watch, q.Service = uint64(k+1), "web"
			s.subscribe(q)
			if m := s.next(); len(m.GetSnapshot().GetInstances()) != []int{1, 1, 2, 0, 0}[k] {
				t.Errorf("%v: %v", q, m)
			}
		}
		// One change is an upsert for some, a removal for another, and nothing for others.
		r.run(register("n1", "web", "a", 80, "critical"))
		got := map[uint64]string{}
		for range 2 {
			m := s.next()
			got[m.GetWatch()] = fmt.Sprint(len(m.GetDelta().GetUpsert()), len(m.GetDelta().GetRemove()))
		}
		if fmt.Sprint(got) != "map[1:0 1 3:1 0]" {
			t.Error(got)
		}
	})
}

func TestWatchRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry(t, nil)
		s := r.open(t.Context())
		for _, tt := range []struct {
			q    *v1.Subscribe
			kind model.ErrorKind
			text string
		}{
			{&v1.Subscribe{}, model.KindInvalid, "Missing service name"},
			{&v1.Subscribe{Service: strings.Repeat("x", 2000)}, model.KindInvalid, "longer"},
			{&v1.Subscribe{Service: "web", Kind: 77}, model.KindInvalid, "upgrade"},
			{&v1.Subscribe{Service: "web", Filter: "nonsense =="}, model.KindInvalid, "expression"},
			{&v1.Subscribe{Service: "web", Tags: make([]string, 100)}, model.KindInvalid, "tags"},
			{&v1.Subscribe{Service: "web", Datacenter: "dc9"}, model.KindNoPath, "No path"},
		} {
			tt.q.Watch = 3
			s.subscribe(tt.q)
			m := s.next()
			if m.GetWatch() != 3 || m.GetError().GetKind() != uint32(tt.kind) || !strings.Contains(m.GetError().GetText(), tt.text) {
				t.Errorf("%v: %v", tt.q, m)
			}
		}
		// The id is free after a refusal, and others go on.
		s.subscribe(&v1.Subscribe{Watch: 3, Service: "web"})
		if m := s.next(); m.GetSnapshot() == nil {
			t.Errorf("%v", m)
		}
		s.subscribe(&v1.Subscribe{Watch: 3, Service: "web"})
		if _, err := s.Recv(); status.Code(err) != codes.InvalidArgument {
			t.Error(err)
		}
	})
}

func TestWatchToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var revoked atomic.Bool
		r := newRegistry(t, func(token string) (acl.Authorizer, error) {
			if token != "good" || revoked.Load() {
				return nil, model.Errorf(model.KindDenied, "Permission denied")
			}
			return acl.AllowAll{}, nil
		})
		conn, _ := r.dial()
		defer conn.Close()
		bad, err := v1.NewDiscoveryClient(conn).Watch(t.Context())
		if err == nil {
			_, err = bad.Recv()
		}
		if status.Code(err) != codes.PermissionDenied {
			t.Error(err)
		}
		s := r.open(metadata.AppendToOutgoingContext(t.Context(), discovery.TokenKey, "good"))
		_ = s.Send(&v1.WatchRequest{Request: &v1.WatchRequest_Hello{Hello: &v1.Hello{Node: "c", Heartbeat: durationpb.New(time.Millisecond)}}})
		start := time.Now()
		s.next()
		if d := time.Since(start); d != minBeat {
			t.Errorf("a heartbeat after %s", d)
		}
		revoked.Store(true)
		if _, err := s.Recv(); status.Code(err) != codes.PermissionDenied {
			t.Error(err)
		}
	})
}

func TestWatchResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry(t, nil)
		r.run(register("n1", "web", "a", 80, "passing"))
		ctx, cancel := context.WithCancel(t.Context())
		s := r.open(ctx)
		s.subscribe(&v1.Subscribe{Watch: 1, Service: "web"})
		index := s.next().GetIndex()
		cancel()
		synctest.Wait()
		s = r.open(t.Context())
		s.subscribe(&v1.Subscribe{Watch: 1, Service: "web", Resume: index})
		if m := s.next(); m.GetWatch() != 1 || m.GetHeartbeat() == nil || m.GetIndex() != index {
			t.Errorf("nothing new is told as %v", m)
		}
		r.run(register("n1", "web", "b", 80, "passing"), deregister("n1", "a"))
		s.next()
		s.subscribe(&v1.Subscribe{Watch: 2, Service: "web", Resume: index})
		if m := s.next(); len(m.GetDelta().GetUpsert()) != 1 || len(m.GetDelta().GetRemove()) != 1 {
			t.Errorf("%v", m)
		}
		s.subscribe(&v1.Subscribe{Watch: 3, Service: "web", Resume: 1})
		if m := s.next(); m.GetReset_() == nil || m.GetReset_().GetReason() == "" {
			t.Errorf("%v", m)
		}
		if m := s.next(); len(m.GetSnapshot().GetInstances()) != 1 {
			t.Errorf("%v", m)
		}
	})
}

// fill registers n instances of web.
func (r *registry) fill(n int) {
	var all []func(*state.Batch)
	for i := range n {
		all = append(all, register(fmt.Sprintf("node-%04d", i), "web", fmt.Sprintf("web-%04d", i), 8080, "passing"))
	}
	r.run(all...)
}

func TestWatchSizes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry(t, nil)
		r.fill(3000)
		s := r.open(t.Context())
		s.subscribe(&v1.Subscribe{Watch: 1, Service: "web"})
		got, parts := 0, 0
		for last := false; !last; parts++ {
			m := s.next()
			got += len(m.GetSnapshot().GetInstances())
			last = m.GetSnapshot().GetLast()
		}
		if got != 3000 || parts < 2 {
			t.Errorf("%d instances in %d parts", got, parts)
		}
		snapshot := s.bytes.bytes.Swap(0)
		r.run(register("node-0500", "web", "web-0500", 8080, "critical"))
		s.next()
		change := s.bytes.bytes.Swap(0)
		t.Logf("snapshot of 3000 instances: %d bytes, one change %d bytes", snapshot, change)
		if change >= 2000 {
			t.Errorf("one change costs %d bytes", change)
		}
		// A change that is too large for a message comes as a snapshot in parts.
		r.run(func(b *state.Batch) {
			for i := range 3000 {
				_, _ = b.Register(noMeta, &model.Registration{Node: model.Node{Name: fmt.Sprintf("node-%04d", i), Address: strings.Repeat("9", 400)}})
			}
		})
		if m := s.next(); m.GetSnapshot() == nil || m.GetSnapshot().GetLast() {
			t.Errorf("%.100v", m)
		}
	})
}

func TestWatchThousandServices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry(t, nil)
		s := r.open(t.Context())
		for i := range 1000 {
			r.run(register("n1", fmt.Sprint("s", i), fmt.Sprint("s", i), 80, "passing"))
		}
		go func() {
			for i := range 1000 {
				s.subscribe(&v1.Subscribe{Watch: uint64(i + 1), Service: fmt.Sprint("s", i)})
			}
		}()
		seen := map[uint64]bool{}
		for range 1000 {
			m := s.next()
			seen[m.GetWatch()] = len(m.GetSnapshot().GetInstances()) == 1
		}
		if len(seen) != 1000 {
			t.Errorf("%d snapshots", len(seen))
		}
		for i := range 1000 {
			r.run(register("n1", fmt.Sprint("s", i), fmt.Sprint("s", i), 81, "passing"))
			if m := s.next(); m.GetWatch() != uint64(i+1) || len(m.GetDelta().GetUpsert()) != 1 {
				t.Fatalf("%v", m)
			}
		}
	})
}

// Who does not read is cut off, and holds nobody up.
func TestWatchStuckReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry(t, nil)
		r.fill(2000)
		stuck := r.open(t.Context())
		stuck.subscribe(&v1.Subscribe{Watch: 1, Service: "web"})
		s := r.open(t.Context())
		s.subscribe(&v1.Subscribe{Watch: 1, Service: "web"})
		for !s.next().GetSnapshot().GetLast() {
		}
		r.run(register("node-0500", "web", "web-0500", 8080, "critical"))
		if m := s.next(); len(m.GetDelta().GetUpsert()) != 1 {
			t.Errorf("%v", m)
		}
		time.Sleep(19 * time.Second)
		if n := len(r.consumers.Streams(model.Topic{})); n != 2 {
			t.Fatalf("%d streams", n)
		}
		time.Sleep(2 * time.Second)
		if n := len(r.consumers.Streams(model.Topic{})); n != 1 {
			t.Errorf("%d streams", n)
		}
		for {
			if _, err := stuck.Recv(); err != nil {
				if status.Code(err) != codes.ResourceExhausted {
					t.Error(err)
				}
				break
			}
		}
	})
}
