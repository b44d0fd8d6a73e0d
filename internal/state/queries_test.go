package state

import (
	"slices"
	"testing"

	"github.com/muster-discovery/muster/internal/model"
)

// write runs a command on queries, coordinates or sessions.
func write(t *testing.T, s *Store, op any) ([]model.Topic, error) {
	t.Helper()
	b := s.Batch()
	meta := &model.CommandMeta{Time: t0}
	var err error
	switch op := op.(type) {
	case *model.QuerySet:
		_, err = b.SetQuery(meta, op)
	case *model.QueryDeletion:
		_, err = b.DeleteQuery(meta, op)
	case *model.CoordinateUpdate:
		_, err = b.UpdateCoordinates(meta, op)
	case *model.SessionCreation:
		_, err = b.CreateSession(meta, op)
	case *model.SessionDestruction:
		_, err = b.DestroySession(meta, op)
	default:
		_, err = apply(b, op)
	}
	return b.Commit(), err
}

func setQuery(id, name string, change ...func(*model.Query)) *model.QuerySet {
	q := model.Query{ID: id, Name: name, Service: model.QueryService{Service: "web"}}
	for _, f := range change {
		f(&q)
	}
	return &model.QuerySet{Query: q}
}

func queryNames(s *Store) (names []string) {
	items, _ := s.Items(model.Topic{Kind: model.TopicQueries})
	for _, q := range items {
		names = append(names, q.(*model.Query).Name)
	}
	return names
}

func TestQueryConflicts(t *testing.T) {
	template := func(q *model.Query) { q.Template.Type = model.QueryPrefixMatch }
	update := func(q *model.QuerySet) *model.QuerySet { q.Update = true; return q }
	for _, c := range []struct {
		name string
		op   any
		kind model.ErrorKind
		text string // empty: accepted
	}{
		{"another name", setQuery("3", "other"), 0, ""},
		{"same name", setQuery("3", "ONE"), model.KindConflict, "name 'ONE' aliases an existing query name"},
		{"name of a template", setQuery("3", "geo-"), model.KindConflict, "name 'geo-' aliases an existing query name"},
		{"name is an id", setQuery("3", "id1"), model.KindConflict, "name 'id1' aliases an existing query ID"},
		{"second catch-all", setQuery("3", "", template), model.KindConflict, "a query template with an empty name already exists"},
		{"no such session", setQuery("3", "", func(q *model.Query) { q.Session = "s" }), model.KindConflict, "invalid session"},
		{"same id", setQuery("id1", "x"), model.KindConflict, `query "id1" exists`},
		{"update keeps its name", update(setQuery("id1", "one")), 0, ""},
		{"update of nothing", update(setQuery("nope", "x")), model.KindInvalid, "Cannot modify non-existent prepared query: 'nope'"},
		{"delete nothing", &model.QueryDeletion{ID: "nope"}, model.KindInvalid, "Cannot modify non-existent prepared query: 'nope'"},
		{"delete", &model.QueryDeletion{ID: "id1"}, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := New()
			for _, op := range []any{setQuery("id1", "one"), setQuery("id2", "", template), setQuery("id4", "geo-", template)} {
				if _, err := write(t, s, op); err != nil {
					t.Fatal(err)
				}
			}
			before := queryNames(s)
			topics, err := write(t, s, c.op)
			if c.text != "" {
				if err == nil || err.Error() != c.text || model.KindOf(err) != c.kind {
					t.Errorf("got %v", err)
				}
				if len(topics) > 0 || !slices.Equal(queryNames(s), before) {
					t.Error("a refused command has changed something")
				}
				return
			}
			if err != nil || !slices.Equal(topics, []model.Topic{{Kind: model.TopicQueries}}) {
				t.Errorf("topics %v, error %v", topics, err)
			}
		})
	}
}

func TestQueryIndexes(t *testing.T) {
	s := New()
	if _, err := write(t, s, setQuery("a", "a")); err != nil {
		t.Fatal(err)
	}
	created := s.Snapshot().Query("a").Create
	again := setQuery("a", "b")
	again.Update = true
	if _, err := write(t, s, again); err != nil {
		t.Fatal(err)
	}
	q := s.Snapshot().Query("a")
	if q.Create != created || q.Modify != s.Index() || q.Name != "b" {
		t.Errorf("%+v, created at %d", q, created)
	}
}

func TestQueryGoesWithItsSession(t *testing.T) {
	s := New()
	must(t, s, &model.Registration{Node: node("n")})
	for _, op := range []any{
		&model.SessionCreation{Session: model.Session{ID: "s1", Node: "n"}},
		setQuery("1", "bound", func(q *model.Query) { q.Session = "s1" }),
		setQuery("2", "free"),
	} {
		if _, err := write(t, s, op); err != nil {
			t.Fatal(err)
		}
	}
	topics, err := write(t, s, &model.SessionDestruction{ID: "s1"})
	if err != nil || !slices.Contains(topics, model.Topic{Kind: model.TopicQueries}) {
		t.Errorf("topics %v, error %v", topics, err)
	}
	if got := queryNames(s); !slices.Equal(got, []string{"free"}) {
		t.Errorf("left: %q", got)
	}
}

func at(x float64) model.Coordinate {
	return model.Coordinate{Vec: []float64{x, 0, 0, 0, 0, 0, 0, 0}, Height: 0.001}
}

func TestCoordinates(t *testing.T) {
	s := New()
	must(t, s, &model.Registration{Node: node("Near")})
	topics, err := write(t, s, &model.CoordinateUpdate{Nodes: []model.NodeCoordinate{
		{Node: "near", Coordinate: at(1)}, {Node: "ghost", Coordinate: at(2)}, {Node: "Near", Coordinate: model.Coordinate{}}}})
	if err != nil || !slices.Equal(topics, []model.Topic{{Kind: model.TopicCoordinates}}) {
		t.Errorf("topics %v, error %v", topics, err)
	}
	if c, ok := s.Snapshot().Coordinate("NEAR"); !ok || c.Vec[0] != 1 {
		t.Errorf("%v, %t", c, ok)
	}
	items, index := s.Items(model.Topic{Kind: model.TopicCoordinates})
	if len(items) != 1 || index != s.Index() || items[0].(*model.NodeCoordinate).Node != "Near" {
		t.Errorf("%d items at %d of %d", len(items), index, s.Index())
	}
	if topics := must(t, s, &model.Deregistration{Node: "near"}); !slices.Contains(topics, model.Topic{Kind: model.TopicCoordinates}) {
		t.Error("nobody is told that the coordinate went with its node")
	}
	if _, ok := s.Snapshot().Coordinate("near"); ok {
		t.Error("a coordinate has outlived its node")
	}
	if topics, err := write(t, s, &model.CoordinateUpdate{Nodes: []model.NodeCoordinate{{Node: "near", Coordinate: at(1)}}}); err != nil || len(topics) > 0 {
		t.Errorf("a node that is not there: topics %v, error %v", topics, err)
	}
}
