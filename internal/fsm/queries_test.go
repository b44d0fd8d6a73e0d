package fsm

import (
	"bytes"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/muster-discovery/muster/internal/model"
)

func genQueryOp(t *rapid.T) any {
	switch rapid.IntRange(0, 3).Draw(t, "query op") {
	case 0:
		return &model.QueryDeletion{ID: genString(t)}
	case 1:
		u := &model.CoordinateUpdate{}
		for range rapid.IntRange(0, 3).Draw(t, "nodes") {
			u.Nodes = append(u.Nodes, genCoordinate(t))
		}
		return u
	}
	return &model.QuerySet{Query: genQuery(t), Update: rapid.Bool().Draw(t, "update")}
}

func genQuery(t *rapid.T) model.Query {
	q := model.Query{ID: genString(t), Name: genString(t), Session: genString(t), Token: genString(t), DNSTTL: genString(t),
		Template: model.QueryTemplate{Type: genString(t), Regexp: genString(t), RemoveEmptyTags: rapid.Bool().Draw(t, "remove")},
		Service: model.QueryService{Service: genString(t), SamenessGroup: genString(t), Peer: genString(t),
			OnlyPassing: rapid.Bool().Draw(t, "passing"), IgnoreCheckIDs: genStrings(t), Near: genString(t), Tags: genStrings(t),
			NodeMeta: genMap(t), ServiceMeta: genMap(t), Connect: rapid.Bool().Draw(t, "connect"),
			Failover: model.QueryFailover{NearestN: rapid.Int().Draw(t, "nearest"), Datacenters: genStrings(t)}},
		Indexes: genIndexes(t)}
	switch n := rapid.IntRange(-1, 2).Draw(t, "targets"); {
	case n >= 0:
		q.Service.Failover.Targets = []model.QueryTarget{}
		for range n {
			q.Service.Failover.Targets = append(q.Service.Failover.Targets, model.QueryTarget{Datacenter: genString(t), Peer: genString(t)})
		}
	}
	return q
}

func genCoordinate(t *rapid.T) model.NodeCoordinate {
	number := func() float64 { return rapid.Float64().Draw(t, "number") }
	c := model.NodeCoordinate{Node: genString(t), Indexes: genIndexes(t),
		Coordinate: model.Coordinate{Error: number(), Adjustment: number(), Height: number()}}
	for range rapid.SampledFrom([]int{0, 1, 8}).Draw(t, "dimensions") {
		c.Coordinate.Vec = append(c.Coordinate.Vec, number())
	}
	return c
}

// sampleQueryOps are applied after sampleKeyOps.
func sampleQueryOps() []any {
	full := model.Query{ID: "q1", Name: "web", Token: "t", DNSTTL: "10s",
		Service: model.QueryService{Service: "web", Failover: model.QueryFailover{NearestN: 2, Datacenters: []string{"dc2"}},
			OnlyPassing: true, IgnoreCheckIDs: []string{"c"}, Near: "_agent", Tags: []string{"a", "!b"},
			NodeMeta: map[string]string{"r": "1"}, ServiceMeta: map[string]string{}, Connect: true}}
	template := model.Query{ID: "q2", Template: model.QueryTemplate{Type: model.QueryPrefixMatch, Regexp: "^(.*)$", RemoveEmptyTags: true},
		Service: model.QueryService{Service: "${match(1)}", Failover: model.QueryFailover{Targets: []model.QueryTarget{{Datacenter: "dc3"}, {Peer: "p"}}}}}
	return []any{
		&model.QuerySet{Query: full},
		&model.QuerySet{Query: template},
		&model.QuerySet{Query: model.Query{ID: "q3", Name: "gone", Service: model.QueryService{Service: "x"}}},
		&model.QueryDeletion{ID: "q3"},
		&model.QuerySet{Query: full, Update: true},
		&model.CoordinateUpdate{Nodes: []model.NodeCoordinate{
			{Node: "s", Coordinate: model.Coordinate{Vec: []float64{0.1, -1, 0, math.Pi, 0, 0, 0, 0}, Error: 1.5, Adjustment: -0.25, Height: 1e-5}},
			{Node: "not there", Coordinate: model.Coordinate{Vec: make([]float64, 8)}},
		}},
	}
}

// TestQueriesSurviveRestore: what was restored is the same to the byte.
func TestQueriesSurviveRestore(t *testing.T) {
	f := newFixture()
	for _, op := range append(sampleKeyOps()[:1:1], sampleQueryOps()...) {
		for _, r := range f.Apply([][]byte{encode(t, &Command{Op: op})}) {
			if r.Err != nil {
				t.Fatalf("%T: %v", op, r.Err)
			}
		}
	}
	before := f.snapshot(t)
	g := newFixture()
	if err := g.Restore(bytes.NewReader(before)); err != nil {
		t.Fatal(err)
	}
	if string(g.snapshot(t)) != string(before) {
		t.Error("the snapshot of the restored state differs")
	}
	queries, _ := g.store.Items(model.Topic{Kind: model.TopicQueries})
	places, _ := g.store.Items(model.Topic{Kind: model.TopicCoordinates})
	if len(queries) != 2 || len(places) != 1 {
		t.Errorf("%d queries and %d coordinates came back", len(queries), len(places))
	}
}
