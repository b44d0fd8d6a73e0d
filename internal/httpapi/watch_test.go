package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/state"
)

func TestWatchService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry(t)
		r.run(register("n1", "web", "web-1", 80, "passing"))
		s := r.open("GET", "/muster/v1/watch/service/web", "")
		for name, want := range map[string]string{"Content-Type": "text/event-stream", "Cache-Control": "no-cache"} {
			if got := s.header.Get(name); got != want {
				t.Errorf("%s is %q", name, got)
			}
		}
		first := s.next()
		p := first.is(t, "snapshot")
		if p.Service != "web" || len(p.Instances) != 1 || first.id == "" {
			t.Errorf("%+v", first)
		}
		// The instances are those of the health endpoint, byte for byte.
		w := r.get("/v1/health/service/web")
		if want := strings.TrimSpace(w); !strings.Contains(first.data, `"Instances":`+want) {
			t.Errorf("snapshot %s, health %s", first.data, want)
		}
		r.run(register("n2", "web", "web-2", 81, "passing"))
		second := s.next()
		if p := second.is(t, "delta"); len(p.Upsert) != 1 || len(p.Remove) != 0 || p.Service != "" || p.Index <= first.decode(t).Index || second.id == "" {
			t.Errorf("%+v", second)
		}
		r.run(deregister("n1", "web-1"))
		third := s.next()
		if p := third.is(t, "delta"); !slices.Equal(p.Remove, []removal{{"n1", "web-1"}}) || len(p.Upsert) != 0 {
			t.Errorf("%+v", third)
		}
		if !strings.Contains(third.data, `"Upsert":[]`) {
			t.Errorf("lists are never null: %s", third.data)
		}
		// What others do is not told.
		r.run(register("n9", "db", "db-1", 80, "passing"))
		if e := s.next(); e.is(t, "heartbeat").Index < third.decode(t).Index {
			t.Errorf("%+v", e)
		}
		s.close()
		r.streams(0)
	})
}

func (r *registry) get(path string) string {
	r.t.Helper()
	s := r.server
	k := &kit{Server: s}
	w := k.do("GET", path, "")
	if w.Code != http.StatusOK {
		r.t.Fatal(w.Code, w.Body)
	}
	return w.Body.String()
}

func TestWatchPassing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry(t)
		r.run(register("n1", "web", "a", 80, "passing"), register("n1", "web", "b", 80, "critical"))
		s := r.open("GET", "/muster/v1/watch/service/web?passing&tag=v1", "")
		defer s.close()
		list := sseList{}
		list.take(t, s.next())
		if len(list) != 1 {
			t.Errorf("%v", list)
		}
		r.run(register("n1", "web", "a", 80, "critical")) // stops matching
		if p := s.next().is(t, "delta"); !slices.Equal(p.Remove, []removal{{"n1", "a"}}) || len(p.Upsert) != 0 {
			t.Errorf("%+v", p)
		}
		r.run(register("n1", "web", "b", 81, "critical")) // concerns nobody here
		r.run(register("n1", "web", "a", 80, "passing"))
		if p := s.next().is(t, "delta"); len(p.Upsert) != 1 || len(p.Remove) != 0 {
			t.Errorf("%+v", p)
		}
	})
}

// A connection that is cut goes on where it was, also at once for both variants.
func TestWatchResumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry(t)
		r.run(register("n1", "web", "a", 80, "passing"))
		s := r.open("GET", "/muster/v1/watch/service/web", "")
		id := s.next().id
		s.close()
		r.streams(0)
		for i := range 3 {
			r.run(register("n1", "web", fmt.Sprint("x", i), 80, "passing"))
		}
		r.run(deregister("n1", "a"))
		s = r.open("GET", "/muster/v1/watch/service/web?last-event-id="+id, "")
		p := s.next().is(t, "delta") // all in one
		if len(p.Upsert) != 3 || !slices.Equal(p.Remove, []removal{{"n1", "a"}}) {
			t.Errorf("%+v", p)
		}
		s.close()
		// With nothing new there is nothing to send but heartbeats.
		s = r.open("GET", "/muster/v1/watch/service/web", "", "Last-Event-ID", fmt.Sprint(p.Index))
		if e := s.next(); e.kind != "heartbeat" {
			t.Errorf("%+v", e)
		}
		s.close()
		// An index that nobody here has heard of.
		for _, id := range []string{"1", "99999999"} {
			s = r.open("GET", "/muster/v1/watch/service/web", "", "Last-Event-ID", id)
			reset := s.next()
			if p := reset.is(t, "reset"); reset.id != "" || p.Reason == "" {
				t.Errorf("%+v", reset)
			}
			if p := s.next().is(t, "snapshot"); len(p.Instances) != 3 {
				t.Errorf("%+v", p)
			}
			s.close()
		}
	})
}

// The record of changes outlives its streams for a while, and no longer.
func TestWatchResumesAfterThePause(t *testing.T) {
	for _, tt := range []struct {
		pause time.Duration
		want  string
	}{{4 * time.Minute, "delta"}, {16 * time.Minute, "reset"}} {
		synctest.Test(t, func(t *testing.T) {
			r := newRegistry(t)
			go func() { _ = r.hub.Run(t.Context()) }()
			r.run(register("n1", "web", "a", 80, "passing"))
			s := r.open("GET", "/muster/v1/watch/service/web", "")
			id := s.next().id
			s.close()
			r.streams(0)
			time.Sleep(tt.pause)
			r.run(register("n1", "web", "b", 80, "passing"))
			s = r.open("GET", "/muster/v1/watch/service/web", "", "Last-Event-ID", id)
			s.next().is(t, tt.want)
			s.close()
		})
	}
}

func TestWatchHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry(t)
		for query, every := range map[string]time.Duration{"": 15 * time.Second, "?heartbeat=1s": time.Second, "?heartbeat=5m": 5 * time.Minute} {
			s := r.open("GET", "/muster/v1/watch/service/web"+query, "")
			s.next().is(t, "snapshot")
			start := time.Now()
			for range 3 {
				p := s.next().is(t, "heartbeat")
				at, err := time.Parse(time.RFC3339Nano, p.Time)
				if err != nil || !at.Equal(time.Now()) {
					t.Errorf("time %q, %v", p.Time, err)
				}
			}
			if took := time.Since(start); took != 3*every {
				t.Errorf("%q: three heartbeats took %s", query, took)
			}
			s.close()
		}
	})
}

// A stream lives longer than the server's bound for answers.
func TestWatchOutlivesTheWriteTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry(t)
		s := r.open("GET", "/muster/v1/watch/service/web?heartbeat=5m", "")
		defer s.close()
		s.next()
		for start := time.Now(); time.Since(start) < time.Hour; {
			s.next().is(t, "heartbeat")
		}
	})
}

// Who does not read is cut off, holds nobody up, and can resume.
func TestWatchEndsForAStuckReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry(t)
		r.run(register("n1", "web", "a", 80, "passing"))
		stuck := r.open("GET", "/muster/v1/watch/service/web?heartbeat=5m", "")
		defer stuck.close()
		id := stuck.next().id
		good := r.open("GET", "/muster/v1/watch/service/web?heartbeat=5m", "")
		defer good.close()
		list := sseList{}
		list.take(t, good.next())
		for i := range 50 {
			r.run(register("n1", "web", fmt.Sprint("x", i), 80, "passing"))
			list.take(t, good.next())
		}
		if len(list) != 51 {
			t.Errorf("the other has %d", len(list))
		}
		r.streams(2)
		time.Sleep(pieceWrite)
		r.streams(1)
		s := r.open("GET", "/muster/v1/watch/service/web", "", "Last-Event-ID", id)
		if p := s.next().is(t, "delta"); len(p.Upsert) != 50 {
			t.Errorf("%d upserts", len(p.Upsert))
		}
		s.close()
	})
}

func TestWatchServices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry(t)
		r.run(register("n1", "a", "a", 80, "passing"), register("n1", "b", "b", 80, "passing"))
		s := r.open("GET", "/muster/v1/watch/services?service=a&service=b&service=A&service=ghost&heartbeat=2s", "")
		seen := map[string]int{}
		var ids []string
		for range 3 {
			e := s.next()
			p := e.is(t, "snapshot")
			seen[p.Service] = len(p.Instances)
			ids = append(ids, e.id)
		}
		if len(seen) != 3 || seen["a"] != 1 || seen["b"] != 1 || seen["ghost"] != 0 {
			t.Errorf("%v", seen)
		}
		if ids[0] != "0" || ids[1] != "0" || ids[2] == "0" {
			t.Errorf("only the last of the first events can be resumed from: %q", ids)
		}
		// One moment changes two services: in between there is no index to resume from.
		r.run(register("n1", "b", "b", 81, "passing"), register("n1", "a", "a", 81, "passing"))
		e1, e2 := s.next(), s.next()
		if p1, p2 := e1.is(t, "delta"), e2.is(t, "delta"); p1.Service != "b" || p2.Service != "a" || e1.id != "0" || e2.id != fmt.Sprint(p2.Index) {
			t.Errorf("%+v, %+v", e1, e2)
		}
		beat := s.next()
		if p := beat.is(t, "heartbeat"); p.Service != "" || beat.id == "" {
			t.Errorf("%+v", beat)
		}
		s.close()
		s = r.open("POST", "/muster/v1/watch/services?heartbeat=2s", `["b","a"]`, "Last-Event-ID", beat.id)
		if e := s.next(); e.kind != "heartbeat" {
			t.Errorf("%+v", e)
		}
		s.close()
		// Not to be resumed: everything comes again.
		s = r.open("POST", "/muster/v1/watch/services", `["b","a"]`, "Last-Event-ID", "0")
		s.next().is(t, "snapshot")
		s.next().is(t, "snapshot")
		s.close()
	})
}

// A change that concerns no one in the end leaves no stream without an id.
func TestWatchServicesComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry(t)
		s := r.open("GET", "/muster/v1/watch/services?service=a&service=b", "")
		defer s.close()
		s.next()
		s.next()
		r.run(register("n1", "b", "b", 80, "passing"), register("n1", "a", "a", 80, "passing"), deregister("n1", "b"))
		e := s.next()
		if p := e.decode(t); p.Service != "a" || e.id == "" || e.id == "0" {
			t.Errorf("%+v", e)
		}
	})
}

func TestWatchErrors(t *testing.T) {
	k := newKit(t)
	for _, tt := range []struct {
		method, path, body string
		status             int
		text               string
	}{
		{"GET", "/muster/v1/watch/service/", "", 400, "Missing service name"},
		{"GET", "/muster/v1/watch/service/web?heartbeat=1ms", "", 400, "between 1s and 5m0s"},
		{"GET", "/muster/v1/watch/service/web?heartbeat=often", "", 400, "Invalid heartbeat"},
		{"GET", "/muster/v1/watch/service/web?last-event-id=x", "", 400, "leave it out"},
		{"GET", "/muster/v1/watch/service/web?last-event-id=-1", "", 400, "Invalid Last-Event-ID"},
		{"GET", "/muster/v1/watch/service/web?dc=dc9", "", 500, "No path to datacenter"},
		{"GET", "/muster/v1/watch/service/web?filter=x==y", "", 400, "Selector"},
		{"GET", "/muster/v1/watch/service/web?near=n1", "", 400, "leave out near"},
		{"GET", "/muster/v1/watch/service/web?passing=maybe", "", 400, "Invalid value for ?passing"},
		{"GET", "/muster/v1/watch/services", "", 400, "Missing service names"},
		{"POST", "/muster/v1/watch/services", `{"a":1}`, 400, "want a JSON list of service names"},
		{"POST", "/muster/v1/watch/services", `[]`, 400, "Missing service names"},
		{"DELETE", "/muster/v1/watch/services", ``, 405, "not allowed"},
		{"PUT", "/muster/v1/watch/ack?index=7", "", 400, "X-Muster-Stream"},
		{"PUT", "/muster/v1/watch/ack?stream=x&index=7", "", 404, "There is no stream"},
		{"PUT", "/muster/v1/watch/ack?stream=x&index=no", "", 400, "Invalid index"},
		{"PUT", "/muster/v1/watch/ack?stream=x&index=0", "", 400, "Invalid index"},
	} {
		w := k.do(tt.method, tt.path, tt.body)
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.text) {
			t.Errorf("%s %s: %d %s", tt.method, tt.path, w.Code, w.Body)
		}
	}
}

func TestWatchAck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry(t)
		r.run(register("n1", "a", "a", 80, "passing"))
		s := r.open("GET", "/muster/v1/watch/services?service=a&service=b&heartbeat=5m", "", "User-Agent", "tester")
		defer s.close()
		s.next()
		last := s.next().decode(t).Index
		for _, tt := range []struct {
			query  string
			status int
		}{
			{fmt.Sprintf("&index=%d", last), 200},
			{fmt.Sprintf("&index=%d", last), 200}, // again
			{fmt.Sprintf("&index=%d", last+1), 400},
			{fmt.Sprintf("&index=%d&service=A", last), 200},
			{fmt.Sprintf("&index=%d&service=a", last+1), 400},
			{fmt.Sprintf("&index=%d&service=c", last), 404},
		} {
			k := &kit{Server: r.server}
			if w := k.do("PUT", "/muster/v1/watch/ack?stream="+s.id+tt.query, ""); w.Code != tt.status {
				t.Errorf("%s: %d %s", tt.query, w.Code, w.Body)
			}
		}
		list := r.server.cfg.Consumers.Streams(model.NewTopic(model.TopicService, "a"))
		if len(list) != 1 || list[0].Agent != "tester" || list[0].Watches[0].Confirmed != last || list[0].Watches[0].Sent != last {
			t.Errorf("%+v", list)
		}
	})
}

// One change in a service of a thousand instances.
func TestWatchDeltaSize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry(t)
		var all []func(*state.Batch)
		for i := range 1000 {
			all = append(all, register(fmt.Sprintf("node-%04d", i), "web", fmt.Sprintf("web-%04d", i), 8080, "passing"))
		}
		r.run(all...)
		s := r.open("GET", "/muster/v1/watch/service/web", "")
		defer s.close()
		if p := s.next().is(t, "snapshot"); len(p.Instances) != 1000 {
			t.Fatal(len(p.Instances))
		}
		snapshot := s.bytes
		s.bytes = 0
		r.run(register("node-0500", "web", "web-0500", 8080, "critical"))
		s.next().is(t, "delta")
		t.Logf("snapshot %d bytes, one change %d bytes", snapshot, s.bytes)
		if s.bytes >= 2000 {
			t.Errorf("one change costs %d bytes", s.bytes)
		}
	})
}

// A thousand services on one connection.
func TestWatchThousandServices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry(t)
		names := make([]string, 1000)
		for i := range names {
			names[i] = fmt.Sprintf("service-%04d", i)
			r.run(register("n1", names[i], names[i], 80, "passing"))
		}
		body, _ := json.Marshal(names)
		s := r.open("POST", "/muster/v1/watch/services?heartbeat=5m", string(body))
		seen := map[string]bool{}
		var last sseEvent
		for range names {
			last = s.next()
			seen[last.is(t, "snapshot").Service] = true
		}
		if len(seen) != 1000 || last.id == "0" {
			t.Errorf("%d services, id %q", len(seen), last.id)
		}
		for i := range names {
			r.run(register("n1", names[i], names[i], 81, "passing"))
			e := s.next()
			if p := e.is(t, "delta"); p.Service != names[i] || e.id == "0" {
				t.Fatalf("%+v", e)
			}
		}
		s.close()
	})
}

func FuzzWatchInput(f *testing.F) {
	for _, s := range []string{"", "0", "17", "18446744073709551615", "18446744073709551616", "-1", "1e3", `["a","b"]`, `[1]`, `null`, `{}`, `["\u0000"]`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if index, err := parseEventID(s); err == nil && s != "" && strings.TrimLeft(s, "0") != strings.TrimLeft(fmt.Sprint(index), "0") {
			t.Errorf("%q is read as %d", s, index)
		}
		if names, err := parseNames([]byte(s)); err == nil {
			for _, n := range names {
				if len(n) > 3*len(s) {
					t.Errorf("%q from %q", n, s)
				}
			}
		}
	})
}
