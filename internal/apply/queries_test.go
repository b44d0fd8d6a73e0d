package apply

import (
	"testing"

	"github.com/muster-discovery/muster/internal/acl"
	"github.com/muster-discovery/muster/internal/fsm"
	"github.com/muster-discovery/muster/internal/model"
)

func TestQueriesAreChecked(t *testing.T) {
	const id = "11111111-2222-3333-4444-555555555555"
	good := &model.Query{Name: "q", ID: id, Service: model.QueryService{Service: "web"}}
	place := func(dimensions int) *model.CoordinateUpdate {
		return &model.CoordinateUpdate{Nodes: []model.NodeCoordinate{{Node: "n", Coordinate: model.Coordinate{Vec: make([]float64, dimensions)}}}}
	}
	for _, c := range []struct {
		name string
		do   func(a *Apply) error
		text string // empty: accepted
	}{
		{"create", func(a *Apply) error { q := *good; _, err := a.CreateQuery(t.Context(), Caller{}, "", &q); return err }, ""},
		{"create nothing", func(a *Apply) error {
			_, err := a.CreateQuery(t.Context(), Caller{}, "", &model.Query{})
			return err
		}, "Invalid prepared query: Must be bound to a session"},
		{"update", func(a *Apply) error { return a.UpdateQuery(t.Context(), Caller{}, "dc1", good) }, ""},
		{"update, bad id", func(a *Apply) error { return a.UpdateQuery(t.Context(), Caller{}, "", &model.Query{ID: "x"}) },
			"Prepared Query lookup failed: failed prepared query lookup: index error: UUID must be 36 characters"},
		{"update, bad query", func(a *Apply) error { return a.UpdateQuery(t.Context(), Caller{}, "", &model.Query{ID: id}) },
			"Invalid prepared query: Must be bound to a session"},
		{"delete", func(a *Apply) error { return a.DeleteQuery(t.Context(), Caller{}, "", id) }, ""},
		{"delete, bad id", func(a *Apply) error { return a.DeleteQuery(t.Context(), Caller{}, "", "nope") },
			"Prepared Query lookup failed: failed prepared query lookup: index error: UUID must be 36 characters"},
		{"delete elsewhere", func(a *Apply) error { return a.DeleteQuery(t.Context(), Caller{}, "dc9", id) }, "No path to datacenter"},
		{"coordinate", func(a *Apply) error { return a.UpdateCoordinates(t.Context(), Caller{}, "", place(8)) }, ""},
		{"coordinate of two dimensions", func(a *Apply) error { return a.UpdateCoordinates(t.Context(), Caller{}, "", place(2)) },
			"incompatible coordinate"},
	} {
		log := &fakeLog{}
		err := c.do(newApply(log, &fakeForwarder{}, acl.AllowAll{}))
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != c.text || (len(log.commands) == 1) != (c.text == "") {
			t.Errorf("%s: error %q, %d commands", c.name, got, len(log.commands))
		}
	}
}

func TestCreatedQueriesHaveIDsOfTheirOwn(t *testing.T) {
	log := &fakeLog{}
	a := newApply(log, &fakeForwarder{}, acl.AllowAll{})
	seen := map[string]bool{}
	for range 2 {
		id, err := a.CreateQuery(t.Context(), Caller{}, "", &model.Query{ID: "chosen by the client", Name: "q", Service: model.QueryService{Service: "web"}})
		if err != nil || seen[id] || checkQueryID(id) != nil {
			t.Errorf("id %q, %v", id, err)
		}
		seen[id] = true
		cmd, err := fsm.Decode(log.commands[len(log.commands)-1])
		if err != nil {
			t.Fatal(err)
		}
		if set := cmd.Op.(*model.QuerySet); set.Query.ID != id || set.Update {
			t.Errorf("logged %+v", set)
		}
	}
}

// mayQuery may write the query "mine" and nothing else.
type mayQuery struct{ denyAll }

func (mayQuery) Allowed(r acl.Resource, name string, _ acl.Access) bool {
	return r == acl.Query && name == "mine"
}

func TestQueriesAreAuthorized(t *testing.T) {
	names := map[string]string{"1": "mine", "2": "other"}
	a := newApply(nil, nil, mayQuery{})
	a.cfg.QueryName = func(id string) (string, bool) { n, ok := names[id]; return n, ok }
	unknowing := newApply(nil, nil, mayQuery{})
	for _, c := range []struct {
		name string
		a    *Apply
		op   any
		want bool
	}{
		{"set", a, &model.QuerySet{Query: model.Query{Name: "mine"}}, true},
		{"set another", a, &model.QuerySet{Query: model.Query{Name: "other"}}, false},
		{"take another over", a, &model.QuerySet{Query: model.Query{ID: "2", Name: "mine"}, Update: true}, false},
		{"update", a, &model.QuerySet{Query: model.Query{ID: "1", Name: "mine"}, Update: true}, true},
		{"delete", a, &model.QueryDeletion{ID: "1"}, true},
		{"delete another", a, &model.QueryDeletion{ID: "2"}, false},
		{"delete what is not there", a, &model.QueryDeletion{ID: "3"}, true},
		{"delete, names not known", unknowing, &model.QueryDeletion{ID: "1"}, false},
		{"coordinate", a, &model.CoordinateUpdate{Nodes: []model.NodeCoordinate{{Node: "mine"}}}, false},
	} {
		if err := c.a.authorize("", c.op); (err == nil) != c.want || err != nil && model.KindOf(err) != model.KindDenied {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
