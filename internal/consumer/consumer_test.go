package consumer

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/muster-discovery/muster/internal/model"
)

func topic(name string) model.Topic { return model.NewTopic(model.TopicService, name) }

func open(t *testing.T, r *Registry) *Stream {
	t.Helper()
	s, err := r.Open(Info{Protocol: SSE, Address: "10.0.0.1:5"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func add(t *testing.T, s *Stream, id uint64, name string) *Watch {
	t.Helper()
	w, err := s.Add(id, topic(name))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestConfirm(t *testing.T) {
	r, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, r)
	web, db := add(t, s, 1, "Web"), add(t, s, 2, "db")
	web.Sent(17)
	db.Sent(15)
	s.SentAll(16)
	for _, tt := range []struct {
		stream, service string
		index           uint64
		kind            model.ErrorKind // Internal stands for none
		web, db         uint64          // confirmed afterwards
	}{
		{"x", "", 1, model.KindNotFound, 0, 0},
		{s.ID(), "", 0, model.KindInvalid, 0, 0},
		{s.ID(), "", 17, model.KindInvalid, 0, 0}, // db may lack something
		{s.ID(), "web", 18, model.KindInvalid, 0, 0},
		{s.ID(), "web", 17, 0, 17, 0},
		{s.ID(), "WEB", 3, 0, 17, 0}, // late, and no step back
		{s.ID(), "", 16, 0, 17, 16},
		{s.ID(), "mail", 1, model.KindNotFound, 17, 16},
	} {
		err := r.Confirm(tt.stream, tt.service, tt.index)
		if (err != nil) != (tt.kind != 0) || err != nil && model.KindOf(err) != tt.kind {
			t.Errorf("%q %d: %v", tt.service, tt.index, err)
		}
		if web.confirmed.Load() != tt.web || db.confirmed.Load() != tt.db {
			t.Errorf("%q %d: confirmed %d and %d", tt.service, tt.index, web.confirmed.Load(), db.confirmed.Load())
		}
	}
	if err := s.Confirm(2, 16); err != nil {
		t.Error(err)
	}
	if err := s.Confirm(9, 1); model.KindOf(err) != model.KindNotFound {
		t.Error(err)
	}
	web.Sent(5) // after a reset
	if web.confirmed.Load() != 0 {
		t.Error("still confirmed")
	}
	s.Close()
	s.Close()
	if err := r.Confirm(s.ID(), "", 1); model.KindOf(err) != model.KindNotFound || !strings.Contains(err.Error(), "X-Muster-Stream") {
		t.Error(err)
	}
	if _, err := s.Add(3, topic("late")); err == nil {
		t.Error("added to a stream that has ended")
	}
}

func TestStreams(t *testing.T) {
	r, _ := New(Config{})
	a, b := open(t, r), open(t, r)
	add(t, a, 1, "web").Sent(3)
	add(t, a, 2, "db")
	add(t, b, 1, "web")
	b.SetInfo("node-b", "tester")
	if list := r.Streams(model.Topic{}); len(list) != 2 || list[0].ID >= list[1].ID {
		t.Errorf("%+v", list)
	}
	list := r.Streams(topic("db"))
	if len(list) != 1 || list[0].ID != a.ID() || len(list[0].Watches) != 1 || list[0].Address != "10.0.0.1:5" {
		t.Errorf("%+v", list)
	}
	a.Remove(2)
	a.Remove(2)
	if list := r.Streams(topic("db")); len(list) != 0 {
		t.Errorf("%+v", list)
	}
}

func TestBounds(t *testing.T) {
	r, _ := New(Config{MaxStreams: 2, MaxWatches: 2})
	s := open(t, r)
	open(t, r)
	if _, err := r.Open(Info{Protocol: GRPC}); model.KindOf(err) != model.KindLimit {
		t.Error(err)
	}
	add(t, s, 1, "a")
	if _, err := s.Add(1, topic("b")); model.KindOf(err) != model.KindConflict {
		t.Error(err)
	}
	add(t, s, 2, "b")
	if _, err := s.Add(3, topic("c")); model.KindOf(err) != model.KindLimit {
		t.Error(err)
	}
	s.Close()
	open(t, r)
}

func TestMetrics(t *testing.T) {
	reg := prometheus.NewRegistry()
	r, err := New(Config{Registry: reg})
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, r)
	add(t, s, 1, "a")
	add(t, s, 2, "b")
	s.Count(Delta, 700)
	s.Conflated()
	s.Resumed(true)
	s.Resumed(false)
	want := map[string]float64{
		"muster_stream_open sse": 1, "muster_stream_watches sse": 2, "muster_stream_events_total delta sse": 1,
		"muster_stream_bytes_total sse": 700, "muster_stream_conflations_total sse": 1,
		"muster_stream_resumes_total sse resumed": 1, "muster_stream_resumes_total sse reset": 1,
	}
	check := func() {
		t.Helper()
		all, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]float64{}
		for _, f := range all {
			for _, m := range f.Metric {
				name := f.GetName()
				for _, l := range m.Label {
					name += " " + l.GetValue()
				}
				got[name] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}
		for name, v := range want {
			if got[name] != v {
				t.Errorf("%s is %v, want %v", name, got[name], v)
			}
		}
	}
	check()
	s.Close()
	want["muster_stream_open sse"], want["muster_stream_watches sse"] = 0, 0
	check()
	if _, err := New(Config{Registry: reg}); err == nil {
		t.Error("registered twice")
	}
}

func TestManyAtOnce(t *testing.T) {
	r, _ := New(Config{})
	var done sync.WaitGroup
	for range 16 {
		done.Go(func() {
			for n := range 50 {
				s, err := r.Open(Info{Protocol: GRPC})
				if err != nil {
					t.Error(err)
					return
				}
				w, _ := s.Add(1, topic(fmt.Sprint(n)))
				w.Sent(uint64(n + 1))
				if err := r.Confirm(s.ID(), "", uint64(n+1)); err != nil {
					t.Error(err)
				}
				r.Streams(model.Topic{})
				s.Close()
			}
		})
	}
	done.Wait()
	if len(r.Streams(model.Topic{})) != 0 {
		t.Error("streams are left")
	}
}
