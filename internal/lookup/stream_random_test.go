package lookup

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/muster-discovery/muster/internal/acl"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/state"
	"github.com/muster-discovery/muster/internal/view"
	"github.com/muster-discovery/muster/internal/wire"
)

// The test compares what stream consumers put together with the catalog: random
// commands go to a store of their own, one by one, which says what there was at each
// index, and to two servers, each with batches of its own and one of them late.
// Consumers stall, are cut off also amid a batch of events, and go on at either
// server.

type picture map[string]string // instance by node and id

// past is what a service was at each of its indexes.
type pastOf struct {
	mu      sync.Mutex
	indexes map[string][]uint64 // ascending
	at      map[string]map[uint64]picture
}

func instanceKey(node, id string) string { return node + "/" + id }

// pictureOf keeps what a variant selects.
func pictureOf(t testing.TB, items []any, v *view.Variant) picture {
	list := make([]*view.Item, len(items))
	for k, i := range items {
		list[k] = view.NewItem(i)
	}
	if v != nil {
		var err error
		if list, err = v.Select(list); err != nil {
			t.Error(err)
		}
	}
	p := picture{}
	for _, i := range list {
		p.put(t, i.Fragment(wire.HealthServiceJSON).([]byte))
	}
	return p
}

func (p picture) put(t testing.TB, instance []byte) {
	var k struct {
		Node    struct{ Node string }
		Service struct{ ID string }
	}
	if err := json.Unmarshal(instance, &k); err != nil {
		t.Error(err)
	}
	p[instanceKey(k.Node.Node, k.Service.ID)] = string(instance)
}

// world is the servers with the one true story.
type world struct {
	services []string
	variants map[string]*view.Variant
	servers  []*server
	past     map[string]*pastOf // by variant
}

type server struct {
	store  *state.Store
	hub    *view.Hub
	lookup *Lookup
}

func newWorld(t testing.TB, servers int, auth acl.Authorizer) *world {
	w := &world{services: []string{"web", "db", "mail"}, past: map[string]*pastOf{}}
	for range servers {
		s := &server{store: state.New()}
		s.hub = view.NewHub(s.store, view.Config{})
		s.lookup = New(Config{Hub: s.hub, Leader: &leader{known: true, self: true}, Datacenter: "dc1",
			Resolve: func(string) (acl.Authorizer, error) { return auth, nil }})
		w.servers = append(w.servers, s)
	}
	prepare := func(q Question) *view.Variant {
		v, err := w.servers[0].lookup.Prepare(wire.HealthServiceJSON, q)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	w.variants = map[string]*view.Variant{
		"": nil, "passing": prepare(Question{Passing: true}), "tag": prepare(Question{Tags: []string{"x"}}),
		"filter": prepare(Question{Filter: `Service.Port == 80`}),
	}
	for name := range w.variants {
		w.past[name] = &pastOf{indexes: map[string][]uint64{}, at: map[string]map[uint64]picture{}}
		for _, s := range w.services {
			w.past[name].at[s] = map[uint64]picture{}
		}
	}
	return w
}

// record notes what there is after a command.
func (w *world) record(t testing.TB, snapshot *state.Snapshot) {
	for name, v := range w.variants {
		p := w.past[name]
		for _, s := range w.services {
			items, index := snapshot.Items(model.NewTopic(model.TopicService, s))
			p.mu.Lock()
			if p.at[s][index] == nil {
				p.at[s][index] = pictureOf(t, items, v)
				p.indexes[s] = append(p.indexes[s], index)
			}
			p.mu.Unlock()
		}
	}
}

type command func(*state.Batch)

func randomCommand(r *rand.Rand, n int) command {
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	meta := &model.CommandMeta{Time: time.Unix(int64(n), 0)}
	node := pick("n1", "N1", "n2", "n3", "n4")
	switch r.IntN(10) {
	case 0:
		return func(b *state.Batch) { b.Fail() }
	case 1:
		d := &model.Deregistration{Node: node}
		if r.IntN(3) > 0 {
			d.ServiceID = pick("a", "b", "c")
		}
		return func(b *state.Batch) { _, _ = b.Deregister(meta, d) }
	}
	reg := &model.Registration{Node: model.Node{Name: node, Address: pick("10.0.0.1", "10.0.0.2")}}
	if r.IntN(4) > 0 {
		reg.Service = &model.Service{ID: pick("a", "b", "c"), Name: pick("web", "web", "db", "mail"), Port: []int{80, 81}[r.IntN(2)]}
		if r.IntN(2) == 0 {
			reg.Service.Tags = []string{"x"}
		}
	}
	if r.IntN(2) == 0 {
		reg.Checks = []*model.Check{{ID: "c", Status: pick("passing", "critical"), ServiceID: pick("", "a", "b")}}
	}
	return func(b *state.Batch) { _, _ = b.Register(meta, reg) }
}

// apply runs commands on a server in batches of random size.
func (s *server) apply(r *rand.Rand, commands []command) {
	for len(commands) > 0 {
		n := min(1+r.IntN(4), len(commands))
		b := s.store.Batch()
		for _, c := range commands[:n] {
			c(b)
		}
		commands = commands[n:]
		touched := b.Commit()
		if touched == nil {
			touched = []model.Topic{}
		}
		s.hub.Publish(touched)
	}
}

// client is a consumer that reconnects.
type client struct {
	t        testing.TB
	w        *world
	r        *rand.Rand
	variant  string
	services []string
	joint    bool // resumes all from one index, as server-sent events do

	lists map[string]picture
	have  map[string]uint64
	whole uint64 // the last id

	resumed, resets, deltas, merged int
	log                             []string // what came lately
	last                            bool     // the last session is not cut
}

// session runs one stream for a number of batches.
func (c *client) session(batches int) {
	sn := c.r.IntN(len(c.w.servers))
	s := c.w.servers[sn]
	c.log = append(c.log, fmt.Sprintf("open at %d have %v whole %d settled %d", sn, c.have, c.whole, s.hub.Settled()))
	stream, err := s.lookup.OpenStream("")
	if err != nil {
		c.t.Error(err)
		return
	}
	defer stream.Close()
	reset, resume := map[uint64]bool{}, map[string]uint64{}
	for id, name := range c.services {
		q := StreamRequest{Topic: model.NewTopic(model.TopicService, name), Variant: c.w.variants[c.variant], Encoder: wire.HealthServiceJSON, Mode: ModeStale}
		if q.Resume = c.have[name]; c.joint {
			q.Resume = c.whole // 0 after a cut amid a batch
		}
		resume[name] = q.Resume
		if err := stream.Watch(c.t.Context(), uint64(id), q); err != nil {
			c.t.Error(err)
			return
		}
	}
	for range batches {
		timer := time.NewTimer(20 * time.Millisecond)
		select {
		case <-stream.Changed():
		case <-timer.C:
		}
		timer.Stop()
		events := stream.Collect(nil)
		for k := range events {
			if !c.last && c.r.IntN(200) == 0 {
				return // cut amid a batch
			}
			c.take(stream, &events[k], reset, resume)
		}
		if c.r.IntN(3) == 0 {
			time.Sleep(time.Duration(c.r.IntN(3)) * time.Millisecond)
		}
		if id := stream.ID(); c.joint && id > 0 && (len(events) == 0 || c.whole == 0) {
			c.whole = id // a heartbeat
		}
	}
}

func (c *client) take(stream *Stream, e *Event, reset map[uint64]bool, resume map[string]uint64) {
	name := c.services[e.Watch]
	c.log = append(c.log[max(0, len(c.log)-12):], fmt.Sprintf("%s kind %d index %d id %d steps %d until %d streamwhole %d", name, e.Kind, e.Index, e.ID, e.Steps, e.news.Until, stream.whole))
	switch e.Kind {
	case EventReset:
		c.resets++
		reset[e.Watch] = true
		return
	case EventCurrent:
		c.resumed++
		c.check(name, e.Index)
	case EventSnapshot:
		if c.have[name] > 0 && !reset[e.Watch] && resume[name] > 0 {
			c.t.Errorf("%s: a snapshot without a reset", name)
		}
		c.lists[name], c.have[name] = c.snapshot(stream, e), e.Index
		c.check(name, e.Index)
	case EventDelta:
		c.delta(stream, e, name)
	}
	reset[e.Watch] = false
	if !c.joint {
		return
	}
	if c.whole = e.ID; e.ID > 0 {
		for _, s := range c.services {
			c.checkUpTo(s, e.ID)
		}
	}
}

func (c *client) frame(stream *Stream, e *Event) any {
	frame, _, err := e.Frame(stream)
	if err != nil {
		c.t.Error(err)
	}
	return frame
}

func (c *client) snapshot(stream *Stream, e *Event) picture {
	var list []json.RawMessage
	if err := json.Unmarshal(c.frame(stream, e).(*wire.Frame).Body, &list); err != nil {
		c.t.Error(err)
	}
	p := picture{}
	for _, i := range list {
		p.put(c.t, i)
	}
	return p
}

func (c *client) delta(stream *Stream, e *Event, name string) {
	if e.Index <= c.have[name] {
		c.t.Errorf("%s: index %d after %d", name, e.Index, c.have[name])
	}
	c.deltas++
	if e.Steps > 1 {
		c.merged++
	}
	var d struct {
		Upsert []json.RawMessage
		Remove []struct{ Node, ID string }
	}
	if err := json.Unmarshal(fmt.Appendf(nil, "{%s}", c.frame(stream, e)), &d); err != nil {
		c.t.Error(err)
	}
	p := maps.Clone(c.lists[name])
	for _, r := range d.Remove {
		if _, ok := p[instanceKey(r.Node, r.ID)]; !ok {
			c.t.Errorf("%s: %v is removed and was not there", name, r)
		}
		delete(p, instanceKey(r.Node, r.ID))
	}
	for _, u := range d.Upsert {
		p.put(c.t, u)
	}
	c.lists[name], c.have[name] = p, e.Index
	c.check(name, e.Index)
}

// check compares with the catalog at an index at which the service changed.
func (c *client) check(name string, index uint64) { c.checkUpTo(name, index) }

// checkUpTo compares with the newest state up to an index.
func (c *client) checkUpTo(name string, upTo uint64) {
	p := c.w.past[c.variant]
	p.mu.Lock()
	defer p.mu.Unlock()
	last := uint64(0)
	for _, i := range p.indexes[name] {
		if i <= upTo {
			last = i
		}
	}
	want := p.at[name][last]
	if !maps.Equal(c.lists[name], want) {
		diff := ""
		for k, v := range c.lists[name] {
			if want[k] != v {
				diff += fmt.Sprintf("\n\thave %s %s\n\twant %s", k, v, want[k])
			}
		}
		for k, v := range want {
			if _, ok := c.lists[name][k]; !ok {
				diff += fmt.Sprintf("\n\tlacks %s %s", k, v)
			}
		}
		c.t.Errorf("%s %q at %d (change at %d, has %d):%s", name, c.variant, upTo, last, c.have[name], diff+"\n"+strings.Join(c.log, "\n"))
	}
}

func TestConsumersSeeTheCatalog(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for _, joint := range []bool{true, false} {
		t.Run(fmt.Sprintf("joint=%t", joint), func(t *testing.T) { runConsumers(t, seed, joint, 2, 1000, 24) })
	}
}

func runConsumers(t *testing.T, seed uint64, joint bool, servers, commands, clients int) {
	w := newWorld(t, servers, acl.AllowAll{})
	truth := state.New()
	w.record(t, truth.Snapshot())
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	all := make([]*client, clients)
	variants := []string{"", "passing", "tag", "filter"}
	for k := range all {
		c := &client{t: t, w: w, r: rand.New(rand.NewPCG(seed, uint64(k))), variant: variants[k%4], joint: joint,
			lists: map[string]picture{}, have: map[string]uint64{}}
		for _, s := range w.services {
			if c.r.IntN(2) == 0 || s == "web" {
				c.services = append(c.services, s)
			}
		}
		all[k] = c
		done.Go(func() {
			for ctx.Err() == nil && !t.Failed() {
				c.session(1 + c.r.IntN(30))
				if c.r.IntN(4) == 0 {
					time.Sleep(time.Duration(c.r.IntN(10)) * time.Millisecond)
				}
			}
		})
	}
	r := rand.New(rand.NewPCG(seed, 1<<40))
	late := make(chan []command, 64)
	done.Go(func() {
		r := rand.New(rand.NewPCG(seed, 1<<41))
		for chunk := range late {
			w.servers[len(w.servers)-1].apply(r, chunk)
		}
	})
	for n := 0; n < commands && !t.Failed(); {
		var chunk []command
		for range 1 + r.IntN(8) {
			c := randomCommand(r, n)
			b := truth.Batch()
			c(b)
			b.Commit()
			w.record(t, truth.Snapshot())
			chunk = append(chunk, c)
			n++
		}
		if servers > 1 {
			w.servers[0].apply(r, chunk)
		}
		late <- chunk
		if r.IntN(3) == 0 {
			time.Sleep(time.Duration(r.IntN(2000)) * time.Microsecond)
		}
	}
	close(late)
	cancel()
	done.Wait()
	if t.Failed() {
		return
	}
	var resumed, resets, deltas, merged int
	for _, c := range all {
		// In the end each comes to the present.
		c.last = true
		c.session(3)
		for _, s := range c.services {
			c.checkUpTo(s, ^uint64(0))
		}
		resumed, resets, deltas, merged = resumed+c.resumed, resets+c.resets, deltas+c.deltas, merged+c.merged
	}
	t.Logf("%d deltas, %d of several changes, %d resumptions with nothing new, %d resets", deltas, merged, resumed, resets)
	if deltas == 0 || merged == 0 || resets == 0 {
		t.Error("the test did not reach what it is for")
	}
}
