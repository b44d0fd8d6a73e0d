package local

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/muster-discovery/muster/internal/model"
)

// fakeCatalog is a catalog of one node, with the semantics of the real one as far
// as agents depend on them.
type fakeCatalog struct {
	mu       sync.Mutex
	node     *model.Node
	services map[string]*model.Service
	checks   map[string]*model.Check
	log      []string      // what was written, in order
	fail     func() error  // asked before each call
	delay    time.Duration // of each call
	inFlight int
	most     int
}

func newFakeCatalog() *fakeCatalog {
	return &fakeCatalog{services: map[string]*model.Service{}, checks: map[string]*model.Check{}}
}

func (f *fakeCatalog) begin(ctx context.Context) (end func(), err error) {
	f.mu.Lock()
	f.inFlight++
	f.most = max(f.most, f.inFlight)
	fail, delay := f.fail, f.delay
	f.mu.Unlock()
	if delay > 0 {
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	f.mu.Lock()
	f.inFlight--
	if err == nil && fail != nil {
		err = fail()
	}
	return f.mu.Unlock, err
}

func (f *fakeCatalog) Register(ctx context.Context, token string, r *model.Registration) error {
	end, err := f.begin(ctx)
	defer end()
	if err != nil {
		return err
	}
	entry := "register"
	if f.node == nil || !r.SkipNodeUpdate {
		node := r.Node
		f.node = &node
		entry += " node"
	}
	if r.Service != nil {
		f.services[r.Service.ID] = r.Service
		entry += " " + r.Service.ID
	}
	for _, c := range r.Checks {
		if c.ServiceID != "" && f.services[c.ServiceID] == nil {
			return model.Errorf(model.KindInvalid, "unknown service ID '%s' for check ID '%s'", c.ServiceID, c.ID)
		}
	}
	for _, c := range r.Checks {
		f.checks[c.ID] = c
		entry += fmt.Sprintf(" %s=%s", c.ID, c.Status)
	}
	if token != "" {
		entry += " token=" + token
	}
	f.log = append(f.log, entry)
	return nil
}

func (f *fakeCatalog) Deregister(ctx context.Context, token string, d *model.Deregistration) error {
	end, err := f.begin(ctx)
	defer end()
	if err != nil {
		return err
	}
	entry := "deregister " + d.ServiceID + d.CheckID
	if token != "" {
		entry += " token=" + token
	}
	f.log = append(f.log, entry)
	delete(f.checks, d.CheckID)
	if d.ServiceID != "" {
		delete(f.services, d.ServiceID)
		maps.DeleteFunc(f.checks, func(_ string, c *model.Check) bool { return c.ServiceID == d.ServiceID })
	}
	return nil
}

func (f *fakeCatalog) NodeState(ctx context.Context, node string) ([]*model.Service, []*model.Check, error) {
	end, err := f.begin(ctx)
	defer end()
	if err != nil {
		return nil, nil, err
	}
	return slices.Collect(maps.Values(f.services)), slices.Collect(maps.Values(f.checks)), nil
}

func (f *fakeCatalog) Node(ctx context.Context, name string) (*model.Node, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.node, nil
}

// writes returns what was written since the last call.
func (f *fakeCatalog) writes() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := f.log
	f.log = nil
	return out
}

func (f *fakeCatalog) setFail(fail func() error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail = fail
}

func (f *fakeCatalog) edit(change func(*fakeCatalog)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

// fakeJournal is a journal in memory. It can be handed from one Local to the next.
type fakeJournal struct {
	mu     sync.Mutex
	values map[string][]byte
	puts   int
	fail   error
}

func newFakeJournal() *fakeJournal { return &fakeJournal{values: map[string][]byte{}} }

func (j *fakeJournal) Load() (map[string][]byte, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return maps.Clone(j.values), nil
}

func (j *fakeJournal) Put(_ context.Context, key string, value []byte) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.fail != nil {
		return j.fail
	}
	j.puts++
	j.values[key] = value
	return nil
}

func (j *fakeJournal) Delete(_ context.Context, key string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.fail != nil {
		return j.fail
	}
	delete(j.values, key)
	return nil
}

func (j *fakeJournal) written() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.puts
}

// crash returns what a kill -9 would leave now.
func (j *fakeJournal) crash() *fakeJournal {
	j.mu.Lock()
	defer j.mu.Unlock()
	return &fakeJournal{values: maps.Clone(j.values)}
}

var testNode = model.Node{ID: "id-1", Name: "n1", Address: "10.0.0.1", Datacenter: "dc1"}

func testConfig(c Catalog, j Journal) Config {
	cfg := DefaultConfig()
	cfg.Node, cfg.Catalog = testNode, c
	if j != nil {
		cfg.Journal = j
	}
	cfg.Checks.Rand = func() float64 { return 0.5 }
	return cfg
}

func open(t testing.TB, cfg Config) *Local {
	t.Helper()
	l, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// run runs l until the returned function is called.
func run(t testing.TB, l *Local) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := l.Run(ctx); err != nil {
			t.Errorf("Run: %v", err)
		}
	}()
	return func() { cancel(); <-done }
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// service is a definition with checks.
func service(id, name string, checks ...*model.CheckDefinition) *model.ServiceDefinition {
	return &model.ServiceDefinition{Service: model.Service{ID: id, Name: name}, Checks: checks}
}

func ttl(id string, d time.Duration) *model.CheckDefinition {
	return &model.CheckDefinition{ID: id, TTL: d}
}

func add(t testing.TB, l *Local, d *model.ServiceDefinition) {
	t.Helper()
	must(t, l.AddService(context.Background(), d, false))
}

// checkLine is what a test says of a check.
func checkLine(t testing.TB, l *Local, id string) string {
	t.Helper()
	c, ok := l.Check(id)
	if !ok {
		return "none"
	}
	return c.Status + ": " + c.Output
}

func ids(l *Local) (services, checks []string) {
	for _, s := range l.Services() {
		services = append(services, s.ID)
	}
	for _, c := range l.Checks() {
		checks = append(checks, c.ID)
	}
	return services, checks
}

// refusingCatalog denies registrations of one service with any but the right token.
type refusingCatalog struct {
	*fakeCatalog
	id    string
	tries atomic.Int32
}

func (c *refusingCatalog) Register(ctx context.Context, token string, r *model.Registration) error {
	if r.Service != nil && r.Service.ID == c.id && token != "right" {
		c.tries.Add(1)
		return model.Errorf(model.KindDenied, "Permission denied")
	}
	return c.fakeCatalog.Register(ctx, token, r)
}
