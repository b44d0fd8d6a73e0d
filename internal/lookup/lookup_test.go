package lookup

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-discovery/muster/internal/acl"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/trace"
	"github.com/muster-discovery/muster/internal/view"
)

// store is the state as tests set it up. It is also the Catalog.
type store struct {
	mu     sync.Mutex
	floor  uint64 // index of topics that nothing is known of
	topics map[model.Topic]stored
	nodes  map[string]*model.Node
}

type stored struct {
	values []any
	index  uint64
}

func (s *store) Items(t model.Topic) ([]any, uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.topics[t]; ok {
		return slices.Clone(e.values), e.index
	}
	return nil, s.floor
}

func (s *store) set(t model.Topic, index uint64, values ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.topics[t] = stored{values, index}
}

func (s *store) NodeMeta(node string) map[string]string {
	if n := s.nodes[node]; n != nil {
		return n.Meta
	}
	return nil
}

func (s *store) Instances(service string) []*model.Instance {
	values, _ := s.Items(model.Topic{Kind: model.TopicService, Name: service})
	var list []*model.Instance
	for _, v := range values {
		list = append(list, v.(*model.Instance))
	}
	return list
}

// leader is a fake cluster.
type leader struct {
	mu      sync.Mutex
	known   bool
	self    bool
	contact time.Duration
	index   uint64
	items   []any   // at that index, sent to those who have less
	errs    []error // answers of ReadTopic before the index
	asked   []string
}

func (l *leader) Known() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.known
}

func (l *leader) set(known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known = known
}

func (l *leader) IsLeader() bool             { return l.self }
func (l *leader) LastContact() time.Duration { return l.contact }

func (l *leader) ReadTopic(_ context.Context, t model.Topic, have uint64, consistent bool) (TopicState, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked = append(l.asked, fmt.Sprintf("%s %t", t.Name, consistent))
	if len(l.errs) > 0 {
		err := l.errs[0]
		l.errs = l.errs[1:]
		return TopicState{}, err
	}
	if l.index > have && l.items != nil {
		return TopicState{Index: l.index, Items: l.items, Whole: true}, nil
	}
	return TopicState{Index: l.index}, nil
}

// plain joins what the items are called.
var plain = view.NewEncoder(view.Encoder{
	Name: "plain",
	Assemble: func(items []*view.Item) any {
		var names []string
		for _, i := range items {
			names = append(names, nameOf(i.Value))
		}
		return strings.Join(names, " ")
	},
})

func nameOf(value any) string {
	switch v := value.(type) {
	case *model.Instance:
		return v.Service.ID
	case *model.Node:
		return v.Name
	case *model.Check:
		return v.ID
	case *model.ServiceSummary:
		return v.Name + "[" + strings.Join(v.Tags, ",") + "]"
	case *model.NodeServices:
		var ids []string
		for _, s := range v.Services {
			ids = append(ids, s.ID)
		}
		return v.Node.Name + "(" + strings.Join(ids, ",") + ")"
	}
	return fmt.Sprint(value)
}

var web = model.Topic{Kind: model.TopicService, Name: "web"}

// fixture has the instances of the conformance kit's filter scenarios: web-1 to
// web-3 on the nodes f1 to f3, passing, critical and without a check.
type fixture struct {
	*Lookup
	store  *store
	leader *leader
	hub    *view.Hub
	config Config
}

func newFixture(change ...func(*Config)) *fixture {
	f := &fixture{
		store: &store{
			floor:  1,
			topics: map[model.Topic]stored{},
			nodes: map[string]*model.Node{
				"f1": {Name: "f1", Address: "10.7.0.1", Meta: map[string]string{"rack": "r1", "os": "linux"}},
				"f2": {Name: "f2", Address: "10.7.0.2", Meta: map[string]string{"rack": "r2"}},
				"f3": {Name: "f3", Address: "10.7.0.3"},
			},
		},
		leader: &leader{known: true, self: true},
	}
	services := []*model.Service{
		{Node: "f1", ID: "web-1", Name: "web", Tags: []string{"v1", "Prod"}, Port: 80, Address: "10.7.1.1",
			Meta: map[string]string{"zone": "a", "a-b": "dash", "empty": "", "path": "/a/b"}, Weights: model.Weights{Passing: 1}},
		{Node: "f2", ID: "web-2", Name: "web", Tags: []string{"v2"}, Port: 8080,
			Meta: map[string]string{"zone": "b"}, EnableTagOverride: true, Weights: model.Weights{Passing: 1}},
		{Node: "f3", ID: "web-3", Name: "web", Port: 80, Weights: model.Weights{Passing: 7}},
	}
	checks := []*model.Check{
		{Node: "f1", ID: "c1", Status: model.StatusPassing, Output: "ok", ServiceID: "web-1", ServiceName: "web"},
		{Node: "f2", ID: "c2", Status: model.StatusCritical, Output: "no route", ServiceID: "web-2", ServiceName: "web"},
	}
	var values []any
	for i, s := range services {
		v := &model.Instance{Node: f.store.nodes[s.Node], Service: s}
		if i < len(checks) {
			v.Checks = checks[i : i+1]
		}
		values = append(values, v)
	}
	f.store.set(web, 10, values...)
	f.store.set(model.Topic{Kind: model.TopicNodes}, 9, f.store.nodes["f1"], f.store.nodes["f2"], f.store.nodes["f3"])
	f.store.set(model.Topic{Kind: model.TopicChecks}, 10, checks[0], checks[1])
	f.store.set(model.Topic{Kind: model.TopicServices}, 10, &model.ServiceSummary{Name: "web", Tags: []string{"Prod", "v1", "v2"}})
	f.store.set(model.Topic{Kind: model.TopicNode, Name: "f1"}, 10,
		&model.NodeServices{Node: f.store.nodes["f1"], Services: services[:2]})
	f.hub = view.NewHub(f.store, view.Config{})
	f.config = Config{
		Hub:        f.hub,
		Leader:     f.leader,
		Resolve:    func(string) (acl.Authorizer, error) { return acl.AllowAll{}, nil },
		Datacenter: "dc1",
		Node:       "f2",
		Catalog:    f.store,
	}
	for _, c := range change {
		c(&f.config)
	}
	f.Lookup = New(f.config)
	return f
}

func (f *fixture) publish(t model.Topic) { f.hub.Publish([]model.Topic{t}) }

func mustDo(t *testing.T, f *fixture, r Request) *Answer {
	t.Helper()
	if r.Encoder == nil {
		r.Encoder = plain
	}
	a, err := f.Do(t.Context(), &r)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// wantError checks an error's kind and, unless it is empty, its text.
func wantError(t *testing.T, err error, kind model.ErrorKind, text string) {
	t.Helper()
	if err == nil || model.KindOf(err) != kind || text != "" && err.Error() != text {
		t.Errorf("error %v of kind %d, want %q of kind %d", err, model.KindOf(err), text, kind)
	}
}

func TestAnswer(t *testing.T) {
	f := newFixture()
	a := mustDo(t, f, Request{Topic: web})
	want := Answer{Frame: "web-1 web-2 web-3", Count: 3, Index: 10, KnownLeader: true}
	if *a != want {
		t.Errorf("got %+v, want %+v", *a, want)
	}
	ghost := mustDo(t, f, Request{Topic: model.Topic{Kind: model.TopicService, Name: "ghost"}})
	if ghost.Index != 1 || ghost.Count != 0 {
		t.Errorf("unknown service: %+v", ghost)
	}
}

func TestRefusals(t *testing.T) {
	f := newFixture()
	_, err := f.Do(t.Context(), &Request{Topic: web, Encoder: plain, Datacenter: "nowhere"})
	wantError(t, err, model.KindNoPath, "No path to datacenter")

	denied := model.Errorf(model.KindDenied, "ACL not found")
	f = newFixture(func(c *Config) { c.Resolve = func(string) (acl.Authorizer, error) { return nil, denied } })
	_, err = f.Do(t.Context(), &Request{Topic: web, Encoder: plain})
	wantError(t, err, model.KindDenied, "ACL not found")
}

func TestTraceTellsTheWay(t *testing.T) {
	f := newFixture()
	ctx, rec := trace.With(t.Context())
	if _, err := f.Do(ctx, &Request{Topic: web, Encoder: plain, Mode: ModeStale}); err != nil {
		t.Fatal(err)
	}
	steps, _ := rec.Steps()
	var names []string
	for _, s := range steps {
		names = append(names, s.Name)
	}
	if !slices.Equal(names, []string{"permission", "source", "frame"}) {
		t.Errorf("steps %v", steps)
	}
}

func TestBlocking(t *testing.T) {
	tests := []struct {
		name   string
		wait   time.Duration
		jitter time.Duration // of the most possible
		want   time.Duration
	}{
		{"default", 0, 0, 5 * time.Minute},
		{"as asked", 1600 * time.Millisecond, 0, 1600 * time.Millisecond},
		{"capped", time.Hour, 0, 10 * time.Minute},
		{"jitter at its most", 16 * time.Second, 1, 17 * time.Second},
		{"cap and jitter", time.Hour, 1, 10*time.Minute + 10*time.Minute/16},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture()
				f.jitter = func(limit time.Duration) time.Duration { return limit * tt.jitter }
				start := time.Now()
				a := mustDo(t, f, Request{Topic: web, MinIndex: 10, Wait: tt.wait})
				if d := time.Since(start); d != tt.want {
					t.Errorf("waited %s, want %s", d, tt.want)
				}
				if a.Index != 10 || a.Count != 3 {
					t.Errorf("got %+v", a)
				}
			})
		})
	}
}

func TestJitterIsBounded(t *testing.T) {
	f := newFixture()
	differ := map[time.Duration]bool{}
	for range 200 {
		d := f.waitTime(16 * time.Second)
		if d < 16*time.Second || d > 17*time.Second {
			t.Fatalf("wait of %s", d)
		}
		differ[d] = true
	}
	if len(differ) < 100 {
		t.Errorf("%d different waits in 200", len(differ))
	}
	if d := f.waitTime(3); d != 3 {
		t.Errorf("a wait of 3ns became %s", d)
	}
}

func TestBlockingWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		start := time.Now()
		if a := mustDo(t, f, Request{Topic: web, MinIndex: 9}); a.Index != 10 || time.Since(start) != 0 {
			t.Errorf("an old index waited: %+v", a)
		}
		go func() {
			time.Sleep(time.Second)
			f.store.set(web, 12)
			f.publish(web)
		}()
		a := mustDo(t, f, Request{Topic: web, MinIndex: 10})
		if d := time.Since(start); d != time.Second || a.Index != 12 || a.Count != 0 {
			t.Errorf("after %s: %+v", d, a)
		}
	})
}

func TestFindAllocatesNothing(t *testing.T) {
	f := newFixture()
	v, err := f.Prepare(plain, Question{Healthy: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	r := &Request{Topic: web, Encoder: plain, Mode: ModeStale, Variant: v, MaxStale: time.Hour}
	a := new(Answer)
	if n := testing.AllocsPerRun(100, func() {
		if err := f.Find(ctx, r, a); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkFind(b *testing.B) {
	f := newFixture()
	v, _ := f.Prepare(plain, Question{Healthy: true})
	ctx := context.Background()
	r := &Request{Topic: web, Encoder: plain, Mode: ModeStale, Variant: v}
	a := new(Answer)
	b.ReportAllocs()
	for b.Loop() {
		f.Find(ctx, r, a)
	}
}

func BenchmarkDo(b *testing.B) {
	f := newFixture()
	ctx := context.Background()
	r := &Request{Topic: web, Encoder: plain, Mode: ModeStale}
	b.ReportAllocs()
	for b.Loop() {
		f.Do(ctx, r)
	}
}

func BenchmarkPrepare(b *testing.B) {
	f := newFixture()
	b.ReportAllocs()
	for b.Loop() {
		f.Prepare(plain, Question{Passing: true})
	}
}
