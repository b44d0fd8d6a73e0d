package lookup

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-discovery/muster/internal/model"
)

// servers is a fake of the servers that a client agent has.
type servers struct {
	answer   *RemoteAnswer
	err      error
	asked    []Request
	followed bool // the topic's content is in the store
	follows  int
	age      time.Duration
}

func (s *servers) Read(_ context.Context, r *Request, _ time.Duration) (*RemoteAnswer, error) {
	s.asked = append(s.asked, *r)
	return s.answer, s.err
}

func (s *servers) Follow(context.Context, model.Topic) bool {
	s.follows++
	return s.followed
}

func (s *servers) Age(model.Topic) (time.Duration, bool) { return s.age, s.err == nil }

func unsynced(err error) bool {
	return model.KindOf(err) == model.KindUnavailable && strings.HasPrefix(err.Error(), "Agent has not synchronized with the servers: no server")
}

var errAway = model.Errorf(model.KindUnavailable, "no server answers")

func TestRemote(t *testing.T) {
	item := func(f *fixture) []any { return f.store.topics[web].values[2:] }
	tests := []struct {
		name     string
		followed bool
		age      time.Duration
		err      error
		request  Request
		frame    string
		cached   bool
		contact  time.Duration
	}{
		{"stale from the view", true, time.Second, nil, Request{Mode: ModeStale}, "web-1 web-2 web-3", true, time.Second},
		{"stale that is not there yet", false, 0, nil, Request{Mode: ModeStale}, "web-3", false, time.Minute},
		{"stale past its bound", true, time.Hour, nil, Request{Mode: ModeStale, MaxStale: time.Second}, "web-3", false, time.Minute},
		{"default from a server", true, 0, nil, Request{}, "web-3", false, time.Minute},
		{"default, cached", true, time.Second, nil, Request{Cached: true}, "web-1 web-2 web-3", true, time.Second},
		{"blocking from the view", true, 0, nil, Request{MinIndex: 9}, "web-1 web-2 web-3", true, 0},
		{"consistent from a server", true, 0, nil, Request{Mode: ModeConsistent, Cached: true}, "web-3", false, time.Minute},
		{"default, no server", true, time.Hour, errAway, Request{}, "web-1 web-2 web-3", true, time.Hour},
		{"too stale, no server", true, time.Hour, errAway, Request{Mode: ModeStale, MaxStale: time.Second}, "web-1 web-2 web-3", true, time.Hour},
		{"at once", true, time.Hour, nil, Request{Mode: ModeStale, AtOnce: true}, "web-1 web-2 web-3", true, time.Hour},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &servers{followed: tt.followed, age: tt.age, err: tt.err}
				f := newFixture(func(c *Config) { c.Remote, c.Leader = s, nil })
				s.answer = &RemoteAnswer{Items: item(f), Index: 12, KnownLeader: true, LastContact: time.Minute}
				tt.request.Topic = web
				a := mustDo(t, f, tt.request)
				if a.Frame != tt.frame || a.Cached != tt.cached || a.LastContact != tt.contact || a.KnownLeader != (tt.err == nil) {
					t.Errorf("got %+v", a)
				}
			})
		})
	}
}

// What no server answers and no view has is an error, soon for who asks at once.
func TestRemoteAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &servers{err: errAway}
		f := newFixture(func(c *Config) { c.Remote, c.Hold = s, time.Second })
		for _, mode := range []Mode{ModeDefault, ModeStale, ModeConsistent} {
			start := time.Now()
			_, err := f.Do(t.Context(), &Request{Topic: web, Encoder: plain, Mode: mode})
			if !unsynced(err) || time.Since(start) > time.Second || time.Since(start) < time.Second/2 {
				t.Errorf("mode %d: %v after %s", mode, err, time.Since(start))
			}
		}
		s.followed = true
		if _, err := f.Do(t.Context(), &Request{Topic: web, Encoder: plain, Mode: ModeConsistent}); !unsynced(err) {
			t.Errorf("consistent from the view: %v", err)
		}
		s.followed, s.asked = false, nil
		start := time.Now()
		_, err := f.Do(t.Context(), &Request{Topic: web, Encoder: plain, Mode: ModeStale, AtOnce: true})
		if err != ErrNotHere || time.Since(start) > 0 || len(s.asked) > 0 {
			t.Errorf("%v after %s, asked %d", err, time.Since(start), len(s.asked))
		}
	})
}

// The server has selected; the agent only sorts.
func TestRemoteQuestion(t *testing.T) {
	s := &servers{}
	f := newFixture(func(c *Config) { c.Remote = s })
	values := f.store.topics[web].values
	s.answer = &RemoteAnswer{Items: []any{values[0], values[1]}, Index: 12}
	v, err := f.Prepare(plain, Question{Tags: []string{"V2"}, Near: "_agent", NodeMeta: map[string]string{"a": "b"}})
	if err != nil {
		t.Fatal(err)
	}
	a := mustDo(t, f, Request{Topic: web, Variant: v})
	if a.Frame != "web-2 web-1" { // web-2 is on the agent's own node, f2
		t.Errorf("got %+v", a)
	}
	q := s.asked[0].Variant.Question.(*Question)
	if len(q.Tags) != 1 || q.Tags[0] != "v2" || q.NodeMeta["a"] != "b" {
		t.Errorf("asked %+v", q)
	}
}
