package lookup

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/view"
)

func TestQuestions(t *testing.T) {
	nodes := model.Topic{Kind: model.TopicNodes}
	checks := model.Topic{Kind: model.TopicChecks}
	node := model.Topic{Kind: model.TopicNode, Name: "f1"}
	meta := func(pairs ...string) map[string]string {
		m := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i]] = pairs[i+1]
		}
		return m
	}
	tests := []struct {
		topic model.Topic
		q     Question
		want  string
	}{
		{web, Question{}, "web-1 web-2 web-3"},
		{web, Question{Passing: true}, "web-1 web-3"},
		{web, Question{Healthy: true}, "web-1 web-3"},
		{web, Question{Tags: []string{"PROD"}}, "web-1"},
		{web, Question{Tags: []string{"v1", "prod"}}, "web-1"},
		{web, Question{Tags: []string{"v1", "v2"}}, ""},
		{web, Question{NodeMeta: meta("rack", "r1", "os", "linux")}, "web-1"},
		{web, Question{NodeMeta: meta("rack", "")}, ""},
		{nodes, Question{NodeMeta: meta("rack", "r2")}, "f2"},
		{nodes, Question{Passing: true, Tags: []string{"x"}}, "f1 f2 f3"}, // does not apply
		{node, Question{NodeMeta: meta("rack", "r1")}, "f1(web-1,web-2)"},
		{node, Question{NodeMeta: meta("rack", "r2")}, ""},
		{checks, Question{NodeMeta: meta("rack", "r1")}, "c1"},
		{checks, Question{}, "c1 c2"},
	}
	for _, tt := range tests {
		f := newFixture()
		v, err := f.Prepare(plain, tt.q)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if got := mustDo(t, f, Request{Topic: tt.topic, Variant: v}).Frame; got != tt.want {
				t.Errorf("topic %v, question %+v: %q, want %q", tt.topic, tt.q, got, tt.want)
			}
		}
	}
}

func TestHealthyTakesWarnings(t *testing.T) {
	f := newFixture()
	n := f.store.nodes["f1"]
	warning := &model.Instance{Node: n, Service: &model.Service{Node: "f1", ID: "w", Name: "web"},
		Checks: []*model.Check{{Status: model.StatusPassing}, {Status: model.StatusWarning}}}
	f.store.set(web, 11, warning)
	f.publish(web)
	for q, want := range map[string]Question{"w": {Healthy: true}, "": {Passing: true, Healthy: true}} {
		v, err := f.Prepare(plain, want)
		if err != nil {
			t.Fatal(err)
		}
		if got := mustDo(t, f, Request{Topic: web, Variant: v}).Frame; got != q {
			t.Errorf("%+v: %q", want, got)
		}
	}
}

// A check's node is looked up, so a changed node must show although its checks
// have not changed.
func TestNodeMetaOfChecksIsNotKept(t *testing.T) {
	f := newFixture()
	checks := model.Topic{Kind: model.TopicChecks}
	v, err := f.Prepare(plain, Question{NodeMeta: map[string]string{"rack": "r1"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := mustDo(t, f, Request{Topic: checks, Variant: v}).Frame; got != "c1" {
		t.Fatal(got)
	}
	f.store.nodes["f2"] = &model.Node{Name: "f2", Meta: map[string]string{"rack": "r1"}}
	if got := mustDo(t, f, Request{Topic: checks, Variant: v}).Frame; got != "c1 c2" {
		t.Errorf("got %q after the node changed", got)
	}
}

// summaries filters the list of services by what its instances look like.
var summaries = view.NewEncoder(view.Encoder{
	Name:     "summaries",
	Assemble: plain.Assemble,
	FilterValue: func(v any) any {
		i := v.(*model.Instance)
		return serviceShape{i.Service.Name, i.Service.Tags, i.Service.Meta}
	},
	FilterZero: serviceShape{},
})

type serviceShape struct {
	ServiceName string
	ServiceTags []string
	ServiceMeta map[string]string
}

func TestServicesByTheirInstances(t *testing.T) {
	services := model.Topic{Kind: model.TopicServices}
	tests := []struct {
		q    Question
		want string
	}{
		{Question{Filter: "ServiceName==web"}, "web[Prod,v1,v2]"},
		{Question{Filter: `ServiceTags contains "v1"`}, "web[Prod,v1]"},
		{Question{Filter: "ServiceMeta.zone==b"}, "web[v2]"},
		{Question{Filter: "ServiceName==db"}, ""},
		{Question{NodeMeta: map[string]string{"rack": "r1"}}, "web[Prod,v1]"},
	}
	for _, tt := range tests {
		f := newFixture()
		v, err := f.Prepare(summaries, tt.q)
		if err != nil {
			t.Fatal(err)
		}
		if got := mustDo(t, f, Request{Topic: services, Variant: v, Encoder: summaries}).Frame; got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.q, got, tt.want)
		}
		// An instance's metadata may change without a change of the list.
		f.store.set(web, 11)
		if got := mustDo(t, f, Request{Topic: services, Variant: v, Encoder: summaries}).Frame; got != "" {
			t.Errorf("%+v: %q after the instances left", tt.q, got)
		}
	}
}

// narrowing filters the services of a node.
var narrowing = view.NewEncoder(view.Encoder{
	Name:        "narrowing",
	Assemble:    plain.Assemble,
	FilterValue: func(v any) any { s := v.(*model.Service); return serviceShape{s.Name, s.Tags, s.Meta} },
	FilterZero:  serviceShape{},
	Narrow: func(value any, match func(any) (bool, error)) (any, bool, error) {
		v := value.(*model.NodeServices)
		var kept []*model.Service
		for _, s := range v.Services {
			if ok, err := match(s); err != nil {
				return nil, false, err
			} else if ok {
				kept = append(kept, s)
			}
		}
		return &model.NodeServices{Node: v.Node, Services: kept}, true, nil
	},
})

func TestNarrow(t *testing.T) {
	f := newFixture()
	v, err := f.Prepare(narrowing, Question{Filter: "ServiceMeta.zone == b"})
	if err != nil {
		t.Fatal(err)
	}
	a := mustDo(t, f, Request{Topic: model.Topic{Kind: model.TopicNode, Name: "f1"}, Variant: v, Encoder: narrowing})
	if a.Frame != "f1(web-2)" {
		t.Errorf("got %+v", a)
	}
}

func TestEqualQuestionsShare(t *testing.T) {
	f := newFixture()
	prepare := func(q Question) *view.Variant {
		v, err := f.Prepare(summaries, q)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	same := [][2]Question{
		{{Tags: []string{"A", "b", "a"}}, {Tags: []string{"b", "a"}}},
		{{Filter: " ServiceName == web "}, {Filter: "ServiceName == web"}},
		{{Passing: true, Healthy: true}, {Passing: true}},
	}
	for _, pair := range same {
		if prepare(pair[0]) != prepare(pair[1]) {
			t.Errorf("%+v and %+v have two variants", pair[0], pair[1])
		}
	}
	keys := map[string]Question{}
	for _, q := range []Question{
		{Passing: true}, {Healthy: true}, {Near: "x"}, {Tags: []string{"x"}}, {Tags: []string{"x", "y"}}, {Tags: []string{"xt\x01y"}},
		{Filter: "ServiceName == x"}, {NodeMeta: map[string]string{"a": "bm"}}, {NodeMeta: map[string]string{"ab": "m"}},
		{NodeMeta: map[string]string{"a": "b", "m": ""}}, {Tags: []string{"x"}, Passing: true},
		{Tags: []string{strings.Repeat("x", 300)}}, {Tags: []string{strings.Repeat("x", 300), "y"}},
	} {
		v := prepare(q)
		if other, ok := keys[v.Key]; ok {
			t.Errorf("%+v and %+v have one key", q, other)
		}
		keys[v.Key] = q
	}
	if v := prepare(Question{Filter: "  "}); v != nil {
		t.Errorf("an empty question has the variant %+v", v)
	}
}

func TestPreparedAreBounded(t *testing.T) {
	f := newFixture()
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 2 * maxPrepared {
				if _, err := f.Prepare(plain, Question{Tags: []string{fmt.Sprint(g, " ", i)}}); err != nil {
					t.Error(err)
				}
				f.Prepare(plain, Question{Passing: true})
			}
		})
	}
	wg.Wait()
	if n := len(f.prepared.known); n > maxPrepared {
		t.Errorf("%d variants kept", n)
	}
	// What costs much memory is compiled for its caller alone.
	for _, filter := range []string{
		"ServiceName == web" + strings.Repeat(" or ServiceName == web", 60),
		`ServiceName matches "x{300}"`,
	} {
		v, err := f.Prepare(summaries, Question{Filter: filter})
		if err != nil || !v.Private {
			t.Errorf("%.30s: private %v, error %v", filter, v, err)
		}
	}
}

func TestFilterWhereThereIsNone(t *testing.T) {
	_, err := newFixture().Prepare(plain, Question{Filter: "a == b"})
	wantError(t, err, model.KindInvalid, "This list can't be filtered")
}
