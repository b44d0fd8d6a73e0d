package leader

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-discovery/muster/internal/gossip"
	"github.com/muster-discovery/muster/internal/model"
)

// world is a catalog, the voters and the write path in one, by hand.
type world struct {
	nodes    map[string]*model.Node
	services map[string][]*model.Service
	checks   map[string][]*model.Check
	roots    int
	pilot    bool
	history  *model.KVHistory
	voters   map[string]string
	writes   []string
	fail     int // so many of the next writes fail
}

func newWorld() *world {
	return &world{
		nodes: map[string]*model.Node{}, services: map[string][]*model.Service{},
		checks: map[string][]*model.Check{}, voters: map[string]string{"id-self": "10.0.0.1:8300"}, pilot: true,
	}
}

func (w *world) wrote(format string, args ...any) error {
	if w.fail > 0 {
		w.fail--
		return model.Errorf(model.KindNoLeader, "No cluster leader")
	}
	w.writes = append(w.writes, fmt.Sprintf(format, args...))
	return nil
}

func (w *world) Register(_ context.Context, r *model.Registration) error {
	if err := w.wrote("register %s %s", r.Node.Name, r.Checks[0].Status); err != nil {
		return err
	}
	if !r.SkipNodeUpdate {
		n := r.Node
		w.nodes[n.Name] = &n
	}
	w.checks[r.Node.Name] = r.Checks
	if r.Service != nil {
		w.services[r.Node.Name] = []*model.Service{r.Service}
	}
	return nil
}

func (w *world) Deregister(_ context.Context, d *model.Deregistration) error {
	delete(w.nodes, d.Node)
	delete(w.checks, d.Node)
	return w.wrote("deregister %s", d.Node)
}

func (w *world) SetCARoots(_ context.Context, s *model.CARootSet) error {
	if err := w.wrote("root for %s", s.ClusterID); err != nil {
		return err
	}
	w.roots++
	return nil
}

func (w *world) Node(name string) *model.Node { return w.nodes[name] }
func (w *world) Nodes() (list []*model.Node) {
	for _, n := range w.nodes {
		list = append(list, n)
	}
	return list
}
func (w *world) NodeServices(name string) *model.NodeServices {
	if w.nodes[name] == nil {
		return nil
	}
	return &model.NodeServices{Node: w.nodes[name], Services: w.services[name]}
}
func (w *world) NodeChecks(name string) []*model.Check { return w.checks[name] }
func (w *world) HasCARoots() bool                      { return w.roots > 0 }
func (w *world) HasAutopilot() bool                    { return w.pilot }
func (w *world) SetAutopilot(_ context.Context, s *model.AutopilotSet) error {
	if err := w.wrote("autopilot %d", s.Config.MaxTrailingLogs); err != nil {
		return err
	}
	w.pilot = true
	return nil
}
func (w *world) History() *model.KVHistory { return w.history }
func (w *world) SetHistory(_ context.Context, s *model.KVHistorySet) error {
	if err := w.wrote("history %d %d", s.Config.Revisions, s.Config.MaxBytes); err != nil {
		return err
	}
	w.history = &s.Config
	return nil
}
func (w *world) Servers() map[string]string { return w.voters }
func (w *world) Add(id, addr string) error {
	w.voters[id] = addr
	return w.wrote("server %s at %s", id, addr)
}
func (w *world) Remove(id string) error {
	delete(w.voters, id)
	return w.wrote("no server %s", id)
}

func member(name string, status gossip.Status, server bool) gossip.Member {
	m := gossip.Member{Name: name, Addr: "10.0.0.1", Status: status, Tags: map[string]string{"id": "id-" + name, "role": "node", "dc": "dc1"}}
	if server {
		m.Tags["role"], m.Tags["port"], m.Tags["build"] = "consul", "8300", "1.21.4:abc"
	}
	return m
}

func at(m gossip.Member, addr string) gossip.Member { m.Addr = addr; return m }
func as(m gossip.Member, id string) gossip.Member   { m.Tags["id"] = id; return m }

func newLeader(w *world, members ...gossip.Member) *Leader {
	return New(Config{
		Datacenter: "dc1", Self: "self", Writer: w, Catalog: w, Servers: w, Autopilot: model.DefaultAutopilot(), Mesh: true,
		Members: func() []gossip.Member { return members },
		Logger:  slog.New(slog.DiscardHandler),
	})
}

func TestReconcile(t *testing.T) {
	for _, tc := range []struct {
		name   string
		before []gossip.Member // reconciled first, their writes not compared
		now    []gossip.Member
		want   []string
	}{
		{"a client joins", nil, []gossip.Member{member("c1", gossip.StatusAlive, false)}, []string{"register c1 passing"}},
		{"a server joins", nil, []gossip.Member{member("s2", gossip.StatusAlive, true)}, []string{"server id-s2 at 10.0.0.1:8300", "register s2 passing"}},
		{"no news, no write", []gossip.Member{member("s2", gossip.StatusAlive, true)}, []gossip.Member{member("s2", gossip.StatusAlive, true)}, nil},
		{"fails", []gossip.Member{member("c1", gossip.StatusAlive, false)}, []gossip.Member{member("c1", gossip.StatusFailed, false)}, []string{"register c1 critical"}},
		{"a failed server keeps its vote", []gossip.Member{member("s2", gossip.StatusAlive, true)}, []gossip.Member{member("s2", gossip.StatusFailed, true)}, []string{"register s2 critical"}},
		{"fails before it was known", nil, []gossip.Member{member("c1", gossip.StatusFailed, false)}, nil},
		{"comes back", []gossip.Member{member("c1", gossip.StatusAlive, false), member("c1", gossip.StatusFailed, false)}, []gossip.Member{member("c1", gossip.StatusAlive, false)}, []string{"register c1 passing"}},
		{"leaves", []gossip.Member{member("s2", gossip.StatusAlive, true)}, []gossip.Member{member("s2", gossip.StatusLeft, true)}, []string{"no server id-s2", "deregister s2"}},
		{"is forgotten", []gossip.Member{member("c1", gossip.StatusAlive, false)}, nil, []string{"deregister c1"}},
		{"leaving is not left", []gossip.Member{member("c1", gossip.StatusAlive, false)}, []gossip.Member{member("c1", gossip.StatusLeaving, false)}, nil},
		{"moves", []gossip.Member{member("s2", gossip.StatusAlive, true)}, []gossip.Member{at(member("s2", gossip.StatusAlive, true), "10.0.0.9")},
			[]string{"server id-s2 at 10.0.0.9:8300", "register s2 passing"}},
		{"is rebuilt", []gossip.Member{member("c1", gossip.StatusAlive, false)}, []gossip.Member{as(member("c1", gossip.StatusAlive, false), "new")},
			[]string{"deregister c1", "register c1 passing"}},
		{"a server is rebuilt", []gossip.Member{member("s2", gossip.StatusAlive, true)},
			[]gossip.Member{member("self", gossip.StatusAlive, true), as(member("s2", gossip.StatusAlive, true), "new")},
			[]string{"register self passing", "no server id-s2", "deregister s2", "server new at 10.0.0.1:8300", "register s2 passing"}},
		{"a server is rebuilt, but too few others live", []gossip.Member{member("s2", gossip.StatusAlive, true)},
			[]gossip.Member{as(member("s2", gossip.StatusAlive, true), "new")}, nil},
		{"another name", []gossip.Member{member("c1", gossip.StatusAlive, false)},
			[]gossip.Member{member("c1", gossip.StatusFailed, false), as(member("c2", gossip.StatusAlive, false), "id-c1")},
			[]string{"register c1 critical", "register c2 passing"}},
		{"a server with another name", []gossip.Member{member("s2", gossip.StatusAlive, true)},
			[]gossip.Member{as(member("other", gossip.StatusAlive, true), "id-s2"), member("s2", gossip.StatusLeft, true)},
			[]string{"register other passing", "deregister s2"}},
		{"a copied disk", []gossip.Member{member("c1", gossip.StatusAlive, false)},
			[]gossip.Member{as(member("a0", gossip.StatusAlive, false), "id-c1"), member("c1", gossip.StatusAlive, false)}, nil},
		{"the leader leaves", []gossip.Member{member("self", gossip.StatusAlive, true)}, []gossip.Member{member("self", gossip.StatusLeft, true)}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld()
			for _, m := range tc.before {
				if err := newLeader(w, m).reconcile(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			w.writes = nil
			err := newLeader(w, tc.now...).reconcile(t.Context())
			if refused := strings.Contains(tc.name, "too few"); (err != nil) != refused || refused && !strings.Contains(err.Error(), "peers.json") {
				t.Fatal(err)
			}
			if !slices.Equal(w.writes, tc.want) {
				t.Errorf("wrote %q, want %q", w.writes, tc.want)
			}
		})
	}
}

func TestNodesFromOutsideStay(t *testing.T) {
	w := newWorld()
	w.nodes["external"] = &model.Node{Name: "external", Address: "192.0.2.1"}
	w.checks["external"] = []*model.Check{{ID: "ping", Status: model.StatusCritical}}
	if err := newLeader(w).reconcile(t.Context()); err != nil {
		t.Fatal(err)
	}
	if w.nodes["external"] == nil || len(w.writes) != 0 {
		t.Errorf("wrote %q: a node that no agent owns was touched", w.writes)
	}
}

func TestAddressChange(t *testing.T) {
	w := newWorld()
	old := member("s2", gossip.StatusAlive, true)
	if err := newLeader(w, old).reconcile(t.Context()); err != nil {
		t.Fatal(err)
	}
	moved := member("s2", gossip.StatusAlive, true)
	moved.Addr = "10.0.0.9"
	if err := newLeader(w, moved).reconcile(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := w.voters["id-s2"]; got != "10.0.0.9:8300" {
		t.Errorf("voter's address %s was not renewed", got)
	}
	if got := w.nodes["s2"].Address; got != "10.0.0.9" {
		t.Errorf("node's address %s was not renewed", got)
	}
}

func TestRunEstablishesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.fail = 2 // the log may not take writes at once
		w.pilot = false
		l := newLeader(w, member("self", gossip.StatusAlive, true), member("c1", gossip.StatusAlive, false))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			l.Run(ctx, func() {
				if w.nodes["self"] == nil || w.roots != 1 {
					t.Error("established before the own node and the root were written")
				}
			})
		}()
		time.Sleep(2 * time.Minute) // virtual: two reconciliations
		cancel()
		<-done
		want := []string{"register self passing", "autopilot 250", "root for ", "register c1 passing"}
		if len(w.writes) != 4 || w.writes[0] != want[0] || w.writes[1] != want[1] || w.writes[2][:len(want[2])] != want[2] || w.writes[3] != want[3] {
			t.Errorf("wrote %q, want %q", w.writes, want)
		}
	})
}
