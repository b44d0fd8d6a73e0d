package httpapi

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/muster-discovery/muster/internal/acl"
	"github.com/muster-discovery/muster/internal/apply"
	"github.com/muster-discovery/muster/internal/consumer"
	"github.com/muster-discovery/muster/internal/lookup"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/view"
	"github.com/muster-discovery/muster/internal/wire"
)

// kit is a server on fakes: a source of items that tests fill by hand, behind the
// real view and lookup.
type kit struct {
	*Server
	source  *fakeSource
	hub     *view.Hub
	catalog *fakeCatalog
	local   *fakeLocal
	agent   *fakeAgent
}

func newKit(t testing.TB, change ...func(*Config)) *kit {
	t.Helper()
	k := &kit{
		source:  &fakeSource{items: map[model.Topic][]any{}, index: map[model.Topic]uint64{}},
		catalog: &fakeCatalog{},
		local:   newFakeLocal(),
		agent:   &fakeAgent{leader: "10.0.0.1:8300"},
	}
	k.hub = view.NewHub(k.source, view.Config{})
	cfg := DefaultConfig()
	cfg.Lookup = lookup.New(lookup.Config{
		Hub: k.hub, Leader: fakeLeader{}, Datacenter: "dc1", Node: "n1", Catalog: k.source,
		Resolve: func(string) (acl.Authorizer, error) { return acl.AllowAll{}, nil },
	})
	cfg.Catalog, cfg.Local, cfg.Agent = k.catalog, k.local, k.agent
	cfg.Datacenter = "dc1"
	cfg.Logger = slog.New(slog.DiscardHandler)
	var err error
	if cfg.Consumers, err = consumer.New(consumer.Config{}); err != nil {
		t.Fatal(err)
	}
	for _, f := range change {
		f(&cfg)
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	k.Server = s
	return k
}

// set makes items those of a topic and wakes who waits for it.
func (k *kit) set(t model.Topic, index uint64, items ...any) {
	k.source.mu.Lock()
	k.source.items[t], k.source.index[t] = items, index
	k.source.mu.Unlock()
	k.hub.Publish([]model.Topic{t})
}

// do sends a request; headers are name and value in turn.
func (k *kit) do(method, path, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://agent"+path, strings.NewReader(body))
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	k.ServeHTTP(w, r)
	return w
}

type fakeSource struct {
	mu    sync.Mutex
	items map[model.Topic][]any
	index map[model.Topic]uint64
}

func (s *fakeSource) Items(t model.Topic) ([]any, uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.items[t], max(s.index[t], 1)
}

func (s *fakeSource) NodeMeta(name string) map[string]string {
	nodes, _ := s.Items(model.NewTopic(model.TopicNodes, ""))
	for _, n := range nodes {
		if n := n.(*model.Node); n.Name == name {
			return n.Meta
		}
	}
	return nil
}

func (s *fakeSource) Instances(service string) []*model.Instance {
	items, _ := s.Items(model.NewTopic(model.TopicService, service))
	var all []*model.Instance
	for _, i := range items {
		all = append(all, i.(*model.Instance))
	}
	return all
}

type fakeLeader struct{}

func (fakeLeader) Known() bool                { return true }
func (fakeLeader) IsLeader() bool             { return true }
func (fakeLeader) LastContact() time.Duration { return 0 }
func (fakeLeader) ReadTopic(context.Context, model.Topic, uint64, bool) (lookup.TopicState, error) {
	return lookup.TopicState{Index: 1}, nil
}

// fakeCatalog remembers the last write and answers with err.
type fakeCatalog struct {
	err          error
	caller       apply.Caller
	registered   *model.Registration
	deregistered *model.Deregistration
}

func (f *fakeCatalog) Register(_ context.Context, c apply.Caller, r *model.Registration) (uint64, error) {
	f.caller, f.registered = c, r
	return 7, f.err
}

func (f *fakeCatalog) Deregister(_ context.Context, c apply.Caller, d *model.Deregistration) (uint64, error) {
	f.caller, f.deregistered = c, d
	return 7, f.err
}

// fakeLocal keeps definitions in maps.
type fakeLocal struct {
	mu       sync.Mutex
	services map[string]*model.Service
	checks   map[string]*model.Check
	changed  chan struct{}
	last     *model.ServiceDefinition
	lastTTL  string
	replaced bool
	err      error
}

func newFakeLocal() *fakeLocal {
	return &fakeLocal{services: map[string]*model.Service{}, checks: map[string]*model.Check{}, changed: make(chan struct{})}
}

func (f *fakeLocal) AddService(_ context.Context, d *model.ServiceDefinition, replace bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last, f.replaced = d, replace
	if f.err != nil {
		return f.err
	}
	f.services[d.Service.ID] = &d.Service
	close(f.changed)
	f.changed = make(chan struct{})
	return nil
}

func (f *fakeLocal) RemoveService(_ context.Context, id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.services[id] == nil {
		return model.Errorf(model.KindNotFound, "Unknown service ID %q. Ensure that the service ID is passed, not the service name.", id)
	}
	delete(f.services, id)
	return nil
}

func (f *fakeLocal) AddCheck(_ context.Context, d *model.CheckDefinition) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.checks[d.ID] = &model.Check{Node: "n1", ID: d.ID, Name: d.Name, Status: model.StatusCritical, ServiceID: d.ServiceID, Type: d.Type()}
	return f.err
}

func (f *fakeLocal) RemoveCheck(_ context.Context, id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.checks[id] == nil {
		return model.Errorf(model.KindNotFound, "Unknown check ID %q. Ensure that the check ID is passed, not the check name.", id)
	}
	delete(f.checks, id)
	return nil
}

func (f *fakeLocal) UpdateTTL(_ context.Context, id, status, output string) error {
	f.lastTTL = fmt.Sprintf("%s %s %s", id, status, output)
	return f.err
}

func (f *fakeLocal) Services() []*model.Service {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []*model.Service
	for _, s := range f.services {
		all = append(all, s)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].ID < all[j].ID })
	return all
}

func (f *fakeLocal) Service(id string) (*model.Service, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, ok := f.services[id]
	return s, ok
}

func (f *fakeLocal) Checks() []*model.Check {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []*model.Check
	for _, c := range f.checks {
		all = append(all, c)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].ID < all[j].ID })
	return all
}

func (f *fakeLocal) Watch(string) <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.changed
}

func (f *fakeLocal) SetServiceMaintenance(_ context.Context, id string, on bool, reason string) error {
	f.lastTTL = fmt.Sprintf("service %s %t %s", id, on, reason)
	return f.err
}

func (f *fakeLocal) SetNodeMaintenance(_ context.Context, on bool, reason, token string) error {
	f.lastTTL = fmt.Sprintf("node %t %s %s", on, reason, token)
	return f.err
}

type fakeAgent struct {
	leader string
	called string
	err    error
	lines  chan []byte // of the monitor
	tapped chan string // what the monitor asked for; closed when it stopped
}

func (f *fakeAgent) Self(context.Context) (*wire.AgentSelf, error) {
	return &wire.AgentSelf{Config: wire.AgentConfig{Datacenter: "dc1", NodeName: "n1", Server: true}, Member: *f.Members(false)[0]}, nil
}

func (f *fakeAgent) Members(wan bool) []*wire.Member {
	name := "n1"
	if wan {
		name = "n1.dc1"
	}
	return []*wire.Member{
		{Name: name, Addr: "10.0.0.1", Port: 8301, Tags: map[string]string{"role": "consul"}, Status: 1},
		{Name: "n2", Addr: "10.0.0.2", Port: 8301, Tags: map[string]string{"role": "node"}, Status: 4},
	}
}

func (f *fakeAgent) Leader() string  { return f.leader }
func (f *fakeAgent) Peers() []string { return []string{"10.0.0.1:8300"} }
func (f *fakeAgent) RaftServers() []wire.RaftServer {
	return []wire.RaftServer{{ID: "id-1", Node: "n1", Address: "10.0.0.1:8300", Leader: true, ProtocolVersion: "3", Voter: true, LastIndex: 7}}
}
func (f *fakeAgent) Datacenters() []string { return []string{"dc1"} }
func (f *fakeAgent) Join(_ context.Context, a string, wan bool) error {
	return f.note("join %s %t", a, wan)
}
func (f *fakeAgent) Leave(context.Context) error { return f.note("leave") }
func (f *fakeAgent) ForceLeave(_ context.Context, n string, prune, wan bool) error {
	return f.note("force-leave %s %t %t", n, prune, wan)
}
func (f *fakeAgent) Reload(context.Context) error { return f.note("reload") }
func (f *fakeAgent) Version() wire.AgentVersion   { return wire.AgentVersion{HumanVersion: "1.21.4"} }
func (f *fakeAgent) Monitor(level slog.Level, json bool) (<-chan []byte, func()) {
	f.tapped <- fmt.Sprint(level, json)
	return f.lines, func() { close(f.tapped) }
}

func (f *fakeAgent) Host(context.Context) (any, error) {
	return map[string]any{"Memory": nil}, nil
}
func (f *fakeAgent) Metrics(context.Context) (any, error) {
	return map[string]any{"Gauges": []any{}}, nil
}
func (f *fakeAgent) WriteMetrics(_ context.Context, w io.Writer) error {
	_, err := io.WriteString(w, "# TYPE x gauge\nx 1\n")
	return err
}

func (f *fakeAgent) note(format string, args ...any) error {
	f.called = fmt.Sprintf(format, args...)
	return f.err
}

// web is an instance of the service web with one check.
func web(node string, port int, status string) *model.Instance {
	n := &model.Node{ID: "40e4a748-2192-161a-0510-9bf59fe950b5", Name: node, Address: "10.1.0.1", Datacenter: "dc1",
		Meta: map[string]string{"rack": "r1"}, Indexes: model.Indexes{Create: 3, Modify: 4}}
	return &model.Instance{
		Node: n,
		Service: &model.Service{Node: node, ID: "web-1", Name: "web", Tags: []string{"v1"}, Port: port,
			Weights: model.Weights{Passing: 1, Warning: 1}, Indexes: model.Indexes{Create: 5, Modify: 6}},
		Checks: []*model.Check{{Node: node, ID: "c", Name: "alive", Status: status, ServiceID: "web-1",
			ServiceName: "web", ServiceTags: []string{"v1"}, Indexes: model.Indexes{Create: 5, Modify: 5}}},
	}
}

var topicWeb = model.NewTopic(model.TopicService, "web")

func header1(w *httptest.ResponseRecorder, name string) string {
	v, ok := w.Header()[http.CanonicalHeaderKey(name)]
	if !ok {
		return "(absent)"
	}
	return strings.Join(v, ", ")
}

func (k *kit) serve(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	k.ServeHTTP(w, r)
	return w
}

func itoa(n int) string { return fmt.Sprint(n) }
