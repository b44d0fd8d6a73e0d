package mirror

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-discovery/muster/internal/discovery"
	"github.com/muster-discovery/muster/internal/model"
)

// servers is a fake stream.
type servers struct {
	mu        sync.Mutex
	open      map[string]func(discovery.Update)
	limit     int
	connected bool
	heard     time.Time
	published []model.Topic
}

func (s *servers) send(service string, u discovery.Update) {
	s.mu.Lock()
	f := s.open[service]
	s.mu.Unlock()
	f(u)
}

type watch func()

func (w watch) Close() { w() }

func (s *servers) mirror(t *testing.T) *Mirror {
	s.open = map[string]func(discovery.Update){}
	m, err := New(Config{
		Watch: func(q discovery.Query, f func(discovery.Update)) (Watch, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if len(s.open) == s.limit {
				return nil, model.Errorf(model.KindLimit, "too many")
			}
			s.open[q.Service] = f
			return watch(func() { delete(s.open, q.Service) }), nil
		},
		Connected: func() bool { return s.connected },
		Heard:     func() time.Time { return s.heard },
		Publish: func(topics []model.Topic) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.published = append(s.published, topics...)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func service(name string) model.Topic { return model.NewTopic(model.TopicService, name) }

func update(index uint64, ids ...string) discovery.Update {
	u := discovery.Update{Index: index}
	for _, id := range ids {
		u.Instances = append(u.Instances, &model.Instance{Node: &model.Node{}, Service: &model.Service{ID: id}})
	}
	return u
}

func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &servers{limit: 2, connected: true}
		m := s.mirror(t)
		go func() {
			time.Sleep(2 * time.Millisecond)
			s.send("web", update(7, "a", "b"))
		}()
		name := []byte("web")
		start := time.Now()
		if !m.Follow(t.Context(), model.Topic{Kind: model.TopicService, Name: string(name)}) || time.Since(start) != 2*time.Millisecond {
			t.Fatalf("not there after %s", time.Since(start))
		}
		if items, index := m.Items(service("web")); len(items) != 2 || index != 7 {
			t.Errorf("%v at %d", items, index)
		}
		if len(s.published) != 1 || s.published[0] != service("web") {
			t.Errorf("published %v", s.published)
		}
		s.send("web", discovery.Update{Err: model.Errorf(model.KindDenied, "no")})
		if items, index := m.Items(service("web")); len(items) != 2 || index != 7 {
			t.Errorf("after a refusal: %v at %d", items, index)
		}

		// What never comes is not waited for without end, and not at all by who can't.
		start = time.Now()
		if m.Follow(t.Context(), service("slow")) || time.Since(start) != time.Second {
			t.Errorf("there after %s", time.Since(start))
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		start = time.Now()
		if m.Follow(ended, service("slow")) || time.Since(start) > 0 {
			t.Errorf("there after %s", time.Since(start))
		}
		// A refusal ends the wait.
		go s.send("slow", discovery.Update{Err: model.Errorf(model.KindDenied, "no")})
		if m.Follow(t.Context(), service("slow")) || time.Since(start) > 0 {
			t.Errorf("refused, and there after %s", time.Since(start))
		}
		s.connected = false
		start = time.Now()
		if m.Follow(t.Context(), service("slow")) || time.Since(start) > 0 {
			t.Errorf("not connected, and there after %s", time.Since(start))
		}
		if m.Follow(t.Context(), service("third")) {
			t.Error("followed more than there is room for")
		}
		if m.Follow(t.Context(), model.Topic{Kind: model.TopicNodes}) {
			t.Error("followed nodes")
		}
	})
}

func TestExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &servers{limit: 2}
		m := s.mirror(t)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); _ = m.Run(ctx) }()
		for _, name := range []string{"used", "unused"} {
			m.Follow(ctx, service(name))
			s.send(name, update(3, "a"))
		}
		for range 4 {
			time.Sleep(m.cfg.Idle / 2)
			m.Follow(ctx, service("used"))
		}
		synctest.Wait()
		if s.open["used"] == nil || s.open["unused"] != nil || m.followed() != 1 {
			t.Errorf("%d followed", m.followed())
		}
		if items, _ := m.Items(service("unused")); items != nil {
			t.Errorf("forgotten, and has %v", items)
		}
		cancel()
		<-done
	})
}

func TestAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &servers{}
		m := s.mirror(t)
		if age, known := m.Age(service("web")); age != 0 || known {
			t.Errorf("never connected: %s %t", age, known)
		}
		s.connected, s.heard = true, time.Now()
		time.Sleep(time.Second)
		if age, known := m.Age(service("web")); age != 0 || !known {
			t.Errorf("connected: %s %t", age, known)
		}
		s.connected = false
		if age, known := m.Age(service("web")); age != time.Second || known {
			t.Errorf("cut off: %s %t", age, known)
		}
	})
}
