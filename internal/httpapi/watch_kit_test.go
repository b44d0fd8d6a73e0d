package httpapi

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/muster-discovery/muster/internal/acl"
	"github.com/muster-discovery/muster/internal/consumer"
	"github.com/muster-discovery/muster/internal/lookup"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/state"
	"github.com/muster-discovery/muster/internal/view"
)

// registry is a real state behind the HTTP API, reached over pipes: a client that
// does not read holds its stream's writer up at once.
type registry struct {
	t      testing.TB
	store  *state.Store
	hub    *view.Hub
	server *Server
	http   *http.Server
	dial   chan net.Conn
	done   chan struct{}
	client *http.Client
}

func newRegistry(t testing.TB) *registry {
	t.Helper()
	r := &registry{t: t, store: state.New(), dial: make(chan net.Conn), done: make(chan struct{})}
	r.hub = view.NewHub(r.store, view.Config{})
	cfg := DefaultConfig()
	cfg.Lookup = lookup.New(lookup.Config{Hub: r.hub, Leader: fakeLeader{}, Datacenter: "dc1", Node: "n1",
		Resolve: func(string) (acl.Authorizer, error) { return acl.AllowAll{}, nil }})
	cfg.Catalog, cfg.Local, cfg.Agent = &fakeCatalog{}, newFakeLocal(), &fakeAgent{}
	cfg.Datacenter, cfg.Logger = "dc1", slog.New(slog.DiscardHandler)
	var err error
	if cfg.Consumers, err = consumer.New(consumer.Config{}); err != nil {
		t.Fatal(err)
	}
	if r.server, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	sc := DefaultServerConfig()
	sc.Logger = cfg.Logger
	r.http = NewServer(r.server, sc)
	served := make(chan struct{})
	go func() {
		_ = r.http.Serve(r)
		close(served)
	}()
	r.client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		mine, theirs := net.Pipe()
		select {
		case r.dial <- theirs:
			return mine, nil
		case <-r.done:
			return nil, net.ErrClosed
		}
	}}}
	t.Cleanup(func() {
		_ = r.http.Close()
		<-served
		r.client.CloseIdleConnections()
	})
	return r
}

// Accept, Close and Addr make the registry its own listener.
func (r *registry) Accept() (net.Conn, error) {
	select {
	case c := <-r.dial:
		return c, nil
	case <-r.done:
		return nil, net.ErrClosed
	}
}

func (r *registry) Close() error {
	select {
	case <-r.done:
	default:
		close(r.done)
	}
	return nil
}

func (r *registry) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

// run applies commands as one batch.
func (r *registry) run(commands ...func(*state.Batch)) {
	b := r.store.Batch()
	for _, c := range commands {
		c(b)
	}
	touched := b.Commit()
	if touched == nil {
		touched = []model.Topic{}
	}
	r.hub.Publish(touched)
}

var noMeta = &model.CommandMeta{}

func register(node, service, id string, port int, status string) func(*state.Batch) {
	return func(b *state.Batch) {
		_, _ = b.Register(noMeta, &model.Registration{
			Node:    model.Node{Name: node, Address: "10.0.0.1", Datacenter: "dc1"},
			Service: &model.Service{ID: id, Name: service, Port: port, Tags: []string{"v1"}},
			Checks:  []*model.Check{{ID: "c-" + id, Name: "alive", Status: status, ServiceID: id}},
		})
	}
}

func deregister(node, id string) func(*state.Batch) {
	return func(b *state.Batch) { _, _ = b.Deregister(noMeta, &model.Deregistration{Node: node, ServiceID: id}) }
}

// sse is an open stream as a client sees it.
type sse struct {
	t      testing.TB
	id     string // of the stream
	body   io.ReadCloser
	lines  *bufio.Reader
	bytes  int
	header http.Header
	cancel context.CancelFunc
}

type sseEvent struct {
	id, kind, data string
}

// open begins a stream; header is name and value in turn.
func (r *registry) open(method, path, body string, header ...string) *sse {
	r.t.Helper()
	ctx, cancel := context.WithCancel(r.t.Context())
	q, err := http.NewRequestWithContext(ctx, method, "http://agent"+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		q.Header.Set(header[i], header[i+1])
	}
	a, err := r.client.Do(q)
	if err != nil {
		r.t.Fatal(err)
	}
	if a.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(a.Body)
		r.t.Fatalf("%s: %d %s", path, a.StatusCode, text)
	}
	s := &sse{t: r.t, id: a.Header.Get("X-Muster-Stream"), body: a.Body, lines: bufio.NewReader(a.Body), header: a.Header, cancel: cancel}
	return s
}

func (s *sse) close() {
	s.cancel()
	_ = s.body.Close()
}

// read is the next event; retry hints are passed over.
func (s *sse) read() (e sseEvent, err error) {
	for {
		line, err := s.lines.ReadString('\n')
		s.bytes += len(line)
		if err != nil {
			return e, err
		}
		line = strings.TrimSuffix(line, "\n")
		name, value, _ := strings.Cut(line, ": ")
		switch {
		case line == "" && e.kind != "":
			return e, nil
		case name == "id":
			e.id = value
		case name == "event":
			e.kind = value
		case name == "data":
			e.data = value
		}
	}
}

func (s *sse) next() sseEvent {
	s.t.Helper()
	e, err := s.read()
	if err != nil {
		s.t.Fatal(err)
	}
	return e
}

type ssePayload struct {
	Index     uint64
	Service   string
	Instances []json.RawMessage
	Upsert    []json.RawMessage
	Remove    []removal
	Time      string
	Reason    string
}

type removal struct{ Node, ID string }

func (e sseEvent) decode(t testing.TB) (p ssePayload) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(e.data))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		t.Fatalf("%v in %s", err, e.data)
	}
	return p
}

// is checks an event's kind, id and index against each other.
func (e sseEvent) is(t testing.TB, kind string) ssePayload {
	t.Helper()
	p := e.decode(t)
	if e.kind != kind {
		t.Fatalf("%s event, want %s: %.200s", e.kind, kind, e.data)
	}
	if e.id != "" && e.id != "0" && e.id != strconv.FormatUint(p.Index, 10) {
		t.Errorf("id %s of an event with index %d", e.id, p.Index)
	}
	return p
}

// sseList is what a client puts together for a service.
type sseList map[removal]string

func (l sseList) put(t testing.TB, list []json.RawMessage) {
	t.Helper()
	for _, i := range list {
		var k struct {
			Node    struct{ Node string }
			Service struct{ ID string }
		}
		if err := json.Unmarshal(i, &k); err != nil {
			t.Fatal(err)
		}
		l[removal{k.Node.Node, k.Service.ID}] = string(i)
	}
}

// take applies an event as the documentation says.
func (l *sseList) take(t testing.TB, e sseEvent) ssePayload {
	t.Helper()
	p := e.decode(t)
	switch e.kind {
	case "snapshot":
		*l = sseList{}
		l.put(t, p.Instances)
	case "delta":
		for _, r := range p.Remove {
			delete(*l, r)
		}
		l.put(t, p.Upsert)
	}
	return p
}

// streams waits until the agent has so many streams.
func (r *registry) streams(n int) {
	r.t.Helper()
	waitFor(r.t, fmt.Sprintf("%d streams", n), func() bool {
		return len(r.server.cfg.Consumers.Streams(model.Topic{})) == n
	})
}

func waitFor(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !ok(); {
		if time.Now().After(deadline) {
			t.Fatalf("no %s in time", what)
		}
		time.Sleep(time.Millisecond)
	}
}
