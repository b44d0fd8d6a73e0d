package agent

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/muster-discovery/muster/internal/acl"
	"github.com/muster-discovery/muster/internal/event"
	"github.com/muster-discovery/muster/internal/gossip"
	"github.com/muster-discovery/muster/internal/model"
)

// onlyEvents may do everything with events of one name.
type onlyEvents string

func (o onlyEvents) Allowed(r acl.Resource, name string, _ acl.Access) bool {
	return r == acl.UserEvent && name == string(o)
}
func (o onlyEvents) AllowsAll(acl.Resource, acl.Access) bool { return false }

func TestEventsAreFiltered(t *testing.T) {
	v := &events{node: "n1", recent: event.NewRecent(), log: slog.New(slog.DiscardHandler),
		resolve: func(token string) (acl.Authorizer, error) {
			switch token {
			case "deploy":
				return onlyEvents("deploy"), nil
			case "bad":
				return nil, errors.New("no such token")
			}
			return acl.AllowAll{}, nil
		}}
	hear := func(e event.Event) {
		made, err := event.New(e)
		if err != nil {
			t.Fatal(err)
		}
		b, err := made.Encode()
		if err != nil {
			t.Fatal(err)
		}
		v.hear(gossip.Message{Name: made.Name, Payload: b, LTime: 3})
	}
	hear(event.Event{Name: "for-web", ServiceFilter: "web"}) // before the services are known
	v.services.Store(eventServices(func() []*model.Service { return []*model.Service{{Name: "web", Tags: []string{"v1"}}} }))
	hear(event.Event{Name: "deploy", ServiceFilter: "web", TagFilter: "v1"})
	hear(event.Event{Name: "other", ServiceFilter: "web", TagFilter: "v2"})
	hear(event.Event{Name: "all", Payload: []byte("x")})
	v.hear(gossip.Message{Name: "broken", Payload: []byte{0xff}})

	names := func(token string) string {
		list, _, err := v.List(token)
		if err != nil {
			return err.Error()
		}
		var out []string
		for _, e := range list {
			out = append(out, e.Name)
		}
		return strings.Join(out, " ")
	}
	for token, want := range map[string]string{"": "deploy all", "deploy": "deploy", "bad": "no such token"} {
		if got := names(token); got != want {
			t.Errorf("token %q: %q, want %q", token, got, want)
		}
	}
	if err := v.Fire(t.Context(), "deploy", &event.Event{Name: "other"}); model.KindOf(err) != model.KindDenied {
		t.Errorf("fired without permission: %v", err)
	}
}

func TestMoved(t *testing.T) {
	at := func(x, height float64) *model.Coordinate {
		return &model.Coordinate{Vec: []float64{x, 0}, Height: height}
	}
	for _, c := range []struct {
		was, now *model.Coordinate
		want     bool
	}{
		{at(1, 0), at(1, 0), false},
		{at(1, 0), at(1.0001, 0.0001), false},
		{at(1, 0), at(1.001, 0), true},
		{at(1, 0), at(1, 0.001), true},
		{at(1, 0), &model.Coordinate{}, true},
	} {
		if got := moved(c.was, c.now); got != c.want {
			t.Errorf("%v to %v: %t", c.was, c.now, got)
		}
	}
}

// TestQueriesEventsCoordinates: the parts are joined in a running agent.
func TestQueriesEventsCoordinates(t *testing.T) {
	a, err := New(options(t, "n1"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.serve(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	eventually(t, "a leader", func() bool { return a.Leader() != "" })
	do := func(method, path, body string) string {
		t.Helper()
		req, err := http.NewRequest(method, "http://"+a.cfg.Listen.HTTP[0].Address+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	do("PUT", "/v1/catalog/register", `{"Node":"x","Address":"10.0.0.1","Service":{"Service":"web"}}`)
	do("POST", "/v1/query", `{"Name":"web-","Template":{"Type":"name_prefix_match"},"Service":{"Service":"web"}}`)
	if got := do("GET", "/v1/query/web-x/execute", ""); !strings.Contains(got, `"Address":"10.0.0.1"`) {
		t.Errorf("execute: %s", got)
	}
	do("PUT", "/v1/event/fire/deploy", "now")
	eventually(t, "the event", func() bool { return strings.Contains(do("GET", "/v1/event/list", ""), `"Name":"deploy"`) })

	for _, node := range []string{"n1", "x"} {
		if _, ok := a.server.distance("n1", node); ok != (node == "n1") {
			t.Errorf("distance to %s is known: %t", node, ok)
		}
	}
	do("PUT", "/v1/coordinate/update", `{"Node":"X","Coord":{"Vec":[1,0,0,0,0,0,0,0],"Height":0.1}}`)
	if d, ok := a.server.distance("n1", "x"); !ok || d.Seconds() < 1 {
		t.Errorf("distance %s, %t", d, ok)
	}
	if u := a.server.movedMembers(); len(u.Nodes) != 1 || u.Nodes[0].Node != "n1" {
		t.Errorf("moved: %+v", u)
	} else if err := a.server.apply.UpdateCoordinates(ctx, asLeader, "", u); err != nil {
		t.Error(err)
	}
	if u := a.server.movedMembers(); len(u.Nodes) != 0 {
		t.Errorf("moved without moving: %+v", u)
	}
	var nodes []struct{ Node string }
	if err := json.Unmarshal([]byte(do("GET", "/v1/coordinate/nodes", "")), &nodes); err != nil || len(nodes) != 2 {
		t.Errorf("%v, %v", nodes, err)
	}
}
