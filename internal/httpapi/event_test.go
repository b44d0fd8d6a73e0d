package httpapi

import (
	"context"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-discovery/muster/internal/apply"
	"github.com/muster-discovery/muster/internal/event"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/wire"
)

// fakeEvents keeps what is fired, as if gossip had brought it back.
type fakeEvents struct {
	*event.Recent
	err error
}

func (f *fakeEvents) Fire(_ context.Context, _ string, e *event.Event) error {
	if f.err != nil {
		return f.err
	}
	heard := *e
	heard.LTime = 5
	f.Add(&heard)
	return nil
}

func (f *fakeEvents) List(string) ([]*event.Event, <-chan struct{}, error) {
	list, changed := f.Recent.List()
	return list, changed, nil
}

func eventKit(t *testing.T) (*kit, *fakeEvents) {
	f := &fakeEvents{Recent: event.NewRecent()}
	return newKit(t, func(c *Config) { c.Events = f }), f
}

func TestEventFire(t *testing.T) {
	for _, c := range []struct {
		path   string
		err    error
		status int
		text   string // what the answer holds
	}{
		{"/v1/event/fire/deploy?node=n1&service=web&tag=a", nil, 200,
			`"Name":"deploy","Payload":"cGF5bG9hZA==","NodeFilter":"n1","ServiceFilter":"web","TagFilter":"a","Version":1,"LTime":0}`},
		{"/v1/event/fire/a%2Fb", nil, 200, `"Name":"a/b"`},
		{"/v1/event/fire/", nil, 400, "Missing name"},
		{"/v1/event/fire/x?tag=a", nil, 500, "Cannot provide tag filter without service filter"},
		{"/v1/event/fire/x?node=%28", nil, 500, "Invalid node filter: error parsing regexp: missing closing ): `(`"},
		{"/v1/event/fire/x?dc=nowhere", nil, 500, "No path to datacenter"},
		{"/v1/event/fire/x", model.Errorf(model.KindInvalid, "error broadcasting event: too large"), 500, "error broadcasting event: too large"},
		{"/v1/event/fire/x", model.Errorf(model.KindDenied, "Permission denied"), 403, "Permission denied"},
	} {
		k, f := eventKit(t)
		f.err = c.err
		w := k.do("PUT", c.path, "payload")
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.text) {
			t.Errorf("%s: %d %s", c.path, w.Code, w.Body)
		}
		list, _ := f.Recent.List()
		if fired := len(list) > 0; fired != (c.status == 200) {
			t.Errorf("%s: fired: %t", c.path, fired)
		}
	}
}

func TestEventList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, f := eventKit(t)
		if w := k.do("GET", "/v1/event/list", ""); w.Body.String() != "[]" || w.Header().Get("X-Consul-Index") != "1" {
			t.Errorf("empty: %s at %s", w.Body, w.Header().Get("X-Consul-Index"))
		}
		add := func(name string) uint64 {
			e, err := event.New(event.Event{Name: name})
			if err != nil {
				t.Fatal(err)
			}
			f.Add(e)
			return e.Index()
		}
		text := func(v uint64) string { return strconv.FormatUint(v, 10) }
		one := add("one")
		wait := func(query string) chan *httptest.ResponseRecorder {
			done := make(chan *httptest.ResponseRecorder, 1)
			go func() { done <- k.do("GET", "/v1/event/list?"+query, "") }()
			synctest.Wait()
			return done
		}
		all, named := wait("index="+text(one)+"&wait=1m"), wait("name=one&index="+text(one)+"&wait=1m")
		two := add("two")
		synctest.Wait()
		select {
		case w := <-all:
			if w.Header().Get("X-Consul-Index") != text(two) || strings.Count(w.Body.String(), `"ID"`) != 2 {
				t.Errorf("%s at %s, want %d", w.Body, w.Header().Get("X-Consul-Index"), two)
			}
		default:
			t.Error("the event woke nobody")
		}
		select {
		case <-named:
			t.Error("an event with another name ended the wait")
		default:
		}
		began := time.Now()
		if w := <-named; w.Header().Get("X-Consul-Index") != text(one) || time.Since(began) < 30*time.Second {
			t.Errorf("%s after %s", w.Header().Get("X-Consul-Index"), time.Since(began))
		}
		// Another index than the present one is not waited for, whichever is larger.
		if w := <-wait("index=5"); w.Header().Get("X-Consul-Index") != text(two) {
			t.Error(w.Header())
		}
	})
}

type fakeCoordinates struct{ wrote []*model.CoordinateUpdate }

func (f *fakeCoordinates) Areas() []wire.AreaCoordinates {
	return []wire.AreaCoordinates{{Datacenter: "dc1", AreaID: "wan", Coordinates: []wire.CoordinateJSON{}}}
}

func (f *fakeCoordinates) UpdateCoordinates(_ context.Context, _ apply.Caller, dc string, u *model.CoordinateUpdate) error {
	if dc != "" {
		return model.Errorf(model.KindNoPath, "No path to datacenter")
	}
	f.wrote = append(f.wrote, u)
	return nil
}

func TestCoordinates(t *testing.T) {
	f := &fakeCoordinates{}
	k := newKit(t, func(c *Config) { c.Coordinates = f })
	k.set(model.Topic{Kind: model.TopicCoordinates}, 6, &model.NodeCoordinate{Node: "N1", Coordinate: model.Coordinate{Vec: make([]float64, 8), Height: 0.5}})
	const n1 = `[{"Node":"N1","Segment":"","Coord":{"Vec":[0,0,0,0,0,0,0,0],"Error":0,"Adjustment":0,"Height":0.5}}]`
	for _, c := range []struct {
		method, path, body string
		status             int
		text               string
	}{
		{"GET", "/v1/coordinate/datacenters", "", 200, `[{"Datacenter":"dc1","AreaID":"wan","Coordinates":[]}]`},
		{"GET", "/v1/coordinate/nodes", "", 200, n1},
		{"GET", "/v1/coordinate/node/n1", "", 200, n1},
		{"GET", "/v1/coordinate/node/ghost", "", 404, ""},
		{"GET", "/v1/coordinate/node/", "", 404, ""},
		{"PUT", "/v1/coordinate/update", `{"node":"w","Coord":{"Vec":[1,2.5,0,0,0,0,0,-1e-3],"Error":1.5,"Adjustment":null,"Height":0.1}}`, 200, ""},
		{"PUT", "/v1/coordinate/update", `{"Node":"w","Coord":{"Vec":["a"]}}`, 400, "Request decode failed: Coord.Vec: want a number, got a string"},
		{"PUT", "/v1/coordinate/update", "{", 400, ""},
		{"PUT", "/v1/coordinate/update?dc=x", "{}", 500, "No path to datacenter"},
	} {
		w := k.do(c.method, c.path, c.body)
		if w.Code != c.status || w.Code != 400 && w.Body.String() != c.text || !strings.HasPrefix(w.Body.String(), c.text) {
			t.Errorf("%s %s: %d %s", c.method, c.path, w.Code, w.Body)
		}
	}
	if len(f.wrote) != 1 || f.wrote[0].Nodes[0].Coordinate.Vec[7] != -0.001 || f.wrote[0].Nodes[0].Coordinate.Error != 1.5 {
		t.Errorf("wrote %+v", f.wrote)
	}
}
