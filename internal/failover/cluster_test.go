package failover

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-discovery/muster/internal/consensus"
	"github.com/muster-discovery/muster/internal/fsm"
	"github.com/muster-discovery/muster/internal/gossip"
)

// server is a real log with hints, on a simulated network.
type server struct {
	id    string
	host  *simHost
	log   *consensus.Log
	hints *Hints
	stop  context.CancelFunc
	done  chan struct{}

	stood   atomic.Int32
	changed atomic.Int32
}

type simCluster struct {
	t       *testing.T
	net     *simNet
	servers map[string]*server

	mu     sync.Mutex
	status map[string]gossip.Status // what gossip says, by name
}

// heartbeat is long, so that a quick election can only be a hint's doing.
const heartbeat = 2 * time.Second

func newSimCluster(t *testing.T, n int) *simCluster {
	c := &simCluster{t: t, net: newSimNet(), servers: map[string]*server{}, status: map[string]gossip.Status{}}
	var first []consensus.Server
	for i := range n {
		id := fmt.Sprint("s", i)
		first = append(first, consensus.Server{ID: id, Addr: id, Voter: true})
		c.status[id] = gossip.StatusAlive
		c.open(id)
	}
	for _, s := range c.servers {
		if err := s.log.Bootstrap(first); err != nil {
			t.Fatal(err)
		}
	}
	c.leader()
	time.Sleep(2 * linksInterval) // links are made
	return c
}

func (c *simCluster) open(id string) {
	s := &server{id: id, host: c.net.host(id), done: make(chan struct{})}
	var err error
	s.log, err = consensus.Open(consensus.Config{NodeID: id, Stream: s.host.ports["raft"], HeartbeatTimeout: heartbeat, LeaderLease: heartbeat}, &machine{})
	if err != nil {
		c.t.Fatal(err)
	}
	s.hints = New(Config{
		Self: id, Name: id, Raft: standing{s}, Listener: s.host.ports["hint"], Dial: s.host.dialHint,
		Resolve: func(id string) (string, error) { return id, nil },
		Members: c.members, Knock: s.host.knock, Changed: func() { s.changed.Add(1) }, Reached: func(string) {},
	})
	ctx, cancel := context.WithCancel(context.Background())
	s.stop = cancel
	go func() {
		defer close(s.done)
		if err := s.hints.Run(ctx); err != nil {
			c.t.Error(err)
		}
	}()
	c.servers[id] = s
	c.t.Cleanup(func() {
		cancel()
		<-s.done
		if err := s.log.Close(); err != nil {
			c.t.Error(err)
		}
	})
}

func (c *simCluster) members() []gossip.Member {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []gossip.Member
	for _, name := range slices.Sorted(maps.Keys(c.status)) {
		list = append(list, gossip.Member{Name: name, Addr: name, Port: 8301, Tags: map[string]string{"id": name}, Status: c.status[name]})
	}
	return list
}

func (c *simCluster) say(name string, s gossip.Status) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status[name] = s
}

// leader waits for one that may serve, other than those named.
func (c *simCluster) leader(without ...string) *server {
	c.t.Helper()
	for range 4000 {
		for id, s := range c.servers {
			if !slices.Contains(without, id) && s.log.LeaseValid() {
				return s
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
	c.t.Fatal("no leader in 20 s")
	return nil
}

func (c *simCluster) followers() []*server {
	var list []*server
	for _, id := range slices.Sorted(maps.Keys(c.servers)) {
		if s := c.servers[id]; !s.log.IsLeader() && !s.host.dead {
			list = append(list, s)
		}
	}
	return list
}

func (c *simCluster) stood() (sum int) {
	for _, s := range c.servers {
		sum += int(s.stood.Load())
	}
	return sum
}

// stable checks that the leader is the same one still, and that nobody stood.
func (c *simCluster) stable(l *server, term string) {
	c.t.Helper()
	if n := c.stood(); n != 0 || c.leader() != l || l.log.Stats()["term"] != term {
		c.t.Errorf("%d stood, term was %s and is %s", n, term, l.log.Stats()["term"])
	}
}

// shown is a node's status as a server's leader duties see it.
func (s *server) shown(name string) gossip.Status {
	for _, m := range s.hints.Members() {
		if m.Name == name {
			return m.Status
		}
	}
	return gossip.StatusNone
}

type standing struct{ s *server }

func (r standing) Standing() Standing {
	s := r.s.log.Standing()
	out := Standing{Leader: s.Leader, Follower: s.Follower, Candidate: s.Candidate, Term: s.Term, LastTerm: s.LastTerm, LastIndex: s.LastIndex}
	for _, p := range r.s.log.Servers() {
		out.Voters = append(out.Voters, p.ID)
	}
	return out
}

func (r standing) Peers() []string {
	var ids []string
	for _, p := range r.s.log.Servers() {
		if p.ID != r.s.id {
			ids = append(ids, p.ID)
		}
	}
	return ids
}

func (r standing) Stand() error {
	r.s.stood.Add(1)
	return r.s.log.Stand()
}
func (r standing) LeaderChanged() <-chan struct{} { return r.s.log.LeaderChanged() }

type machine struct{}

func (machine) Apply(commands [][]byte) []fsm.Result { return make([]fsm.Result, len(commands)) }
func (machine) Snapshot() (io.WriterTo, error)       { return &bytes.Buffer{}, nil }
func (machine) Restore(io.Reader) error              { return nil }

func TestKilledLeader(t *testing.T) {
	for _, n := range []int{3, 5} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newSimCluster(t, n)
				old := c.leader()
				for range 10 {
					if _, err := old.log.Commit(t.Context(), []byte("x")); err != nil {
						t.Fatal(err)
					}
				}
				c.net.kill(old.id)
				start := time.Now()
				next := c.leader(old.id)
				if took := time.Since(start); took > 150*time.Millisecond {
					t.Errorf("new leader after %v", took)
				}
				if n := c.stood(); n != 1 {
					t.Errorf("%d servers stood", n)
				}
				if _, err := next.log.Commit(t.Context(), []byte("y")); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A hint alone decides nothing: the connections end, the leader lives.
func TestFalseHint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newSimCluster(t, 3)
		l := c.leader()
		term := l.log.Stats()["term"]
		for range 5 {
			for _, f := range c.followers() {
				c.net.cut(f.id, l.id, "hint")
				c.net.cut(l.id, f.id, "hint")
			}
			time.Sleep(time.Second)
		}
		c.stable(l, term)
		for _, s := range c.servers {
			for _, peer := range s.hints.cfg.Raft.Peers() {
				if s.hints.links.asker(peer) == nil {
					t.Errorf("%s has no link to %s again", s.id, peer)
				}
			}
		}
	})
}

// A firewall that rejects looks like a death to one server; the others know better.
func TestFirewallBeforeOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newSimCluster(t, 3)
		l := c.leader()
		term := l.log.Stats()["term"]
		f := c.followers()[0]
		c.net.setReject(f.id, l.id, "hint", true)
		c.net.cut(f.id, l.id, "hint")
		time.Sleep(5 * time.Second)
		c.stable(l, term)
		if got := f.shown(l.id); got != gossip.StatusAlive {
			t.Errorf("%s is shown as %v", l.id, got)
		}
	})
}

// One that rejects all looks like a death to all. The election that follows is one
// like any other: one new leader, the old one follows.
func TestFirewallBeforeAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newSimCluster(t, 3)
		l := c.leader()
		for _, f := range c.followers() {
			c.net.setReject(f.id, l.id, "hint", true)
			c.net.cut(f.id, l.id, "hint")
		}
		time.Sleep(2 * time.Second)
		next := c.leader()
		if next == l || c.stood() != 1 || l.log.IsLeader() {
			t.Errorf("%s leads, %d stood", next.id, c.stood())
		}
		if _, err := next.log.Commit(t.Context(), []byte("y")); err != nil {
			t.Error(err)
		}
	})
}

// A silent host gives no hint, and where a connection ends all the same, its silence
// proves nothing: Raft's timeout decides.
func TestSilentLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newSimCluster(t, 3)
		l := c.leader()
		followers := c.followers()
		c.net.hang(l.id, "hint", "raft", "gossip")
		for _, f := range followers {
			c.net.cut(f.id, l.id, "hint")
			c.net.cut(f.id, l.id, "raft")
			c.net.cut(l.id, f.id, "raft")
		}
		start := time.Now()
		c.leader(l.id)
		if took := time.Since(start); took < heartbeat/2 || c.stood() != 0 {
			t.Errorf("new leader after %v, %d stood", took, c.stood())
		}
	})
}

// The news of a death may reach one server late: the guard is repeated.
func TestLateNews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newSimCluster(t, 3)
		l := c.leader()
		followers := c.followers()
		for _, f := range followers {
			c.net.setReject(f.id, l.id, "hint", true)
		}
		c.net.cut(followers[0].id, l.id, "hint")
		time.Sleep(150 * time.Millisecond)
		if c.stood() != 0 {
			t.Error("stood against the other's word")
		}
		c.net.cut(followers[1].id, l.id, "hint")
		start := time.Now()
		c.leader(l.id)
		if took := time.Since(start); took > 300*time.Millisecond {
			t.Errorf("new leader after %v", took)
		}
	})
}

// A candidate without a chance must not stop the one that has it, although its request
// made everybody give up the leader.
func TestVainCandidate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newSimCluster(t, 3)
		l := c.leader()
		behind, ahead := c.followers()[0], c.followers()[1]
		c.net.hang(behind.id, "raft") // new connections only
		c.net.cut(l.id, behind.id, "raft")
		if _, err := l.log.Commit(t.Context(), []byte("x")); err != nil {
			t.Fatal(err)
		}
		c.net.heal()
		c.net.hang(l.id, "raft")
		c.net.cut(l.id, behind.id, "raft")
		c.net.cut(l.id, ahead.id, "raft")
		if err := behind.log.Stand(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Millisecond)
		c.net.kill(l.id)
		start := time.Now()
		if next := c.leader(l.id); next != ahead {
			t.Errorf("%s leads", next.id)
		}
		if took := time.Since(start); took > 300*time.Millisecond {
			t.Errorf("new leader after %v", took)
		}
	})
}

// Leadership that is handed over in good order, and a leader that then ends.
func TestHandOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newSimCluster(t, 3)
		l := c.leader()
		l.stop()
		if err := l.log.Close(); err != nil {
			t.Fatal(err)
		}
		c.net.kill(l.id)
		next := c.leader(l.id)
		term := next.log.Stats()["term"]
		time.Sleep(3 * time.Second)
		if c.stood() != 0 || c.leader(l.id) != next || next.log.Stats()["term"] != term {
			t.Errorf("%d stood, term %s became %s", c.stood(), term, next.log.Stats()["term"])
		}
	})
}

func TestKilledServerIsCritical(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newSimCluster(t, 3)
		l := c.leader()
		victim, other := c.followers()[0], c.followers()[1]
		c.net.kill(victim.id)
		time.Sleep(time.Second)
		for _, s := range []*server{l, other} {
			if got := s.shown(victim.id); got != gossip.StatusFailed || s.changed.Load() == 0 {
				t.Errorf("%s shows %v", s.id, got)
			}
		}
		// Gossip is slower, and goes on saying alive for a while; then it speaks, and the
		// victim comes back.
		time.Sleep(5 * time.Second)
		if got := l.shown(victim.id); got != gossip.StatusFailed {
			t.Errorf("flipped back to %v", got)
		}
		c.say(victim.id, gossip.StatusFailed)
		time.Sleep(time.Second)
		c.say(victim.id, gossip.StatusAlive)
		if got := l.shown(victim.id); got != gossip.StatusAlive {
			t.Errorf("%v after gossip said alive again", got)
		}
	})
}

// A restart that gossip never notices: the verdict is lifted by the signs of life.
func TestQuickReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newSimCluster(t, 3)
		l := c.leader()
		victim, other := c.followers()[0], c.followers()[1]
		c.net.kill(victim.id)
		time.Sleep(time.Second)
		if got := l.shown(victim.id); got != gossip.StatusFailed {
			t.Fatalf("shown as %v", got)
		}
		c.net.revive(victim.id)
		time.Sleep(3 * time.Second)
		for _, s := range []*server{l, other} {
			if got := s.shown(victim.id); got != gossip.StatusAlive {
				t.Errorf("%s shows %v after the return", s.id, got)
			}
		}
	})
}

// agent adds a client agent that holds a connection to one of the servers.
func (c *simCluster) agent(name string) (*simHost, *Hold) {
	h := c.net.host(name)
	c.say(name, gossip.StatusAlive)
	d := NewHold(HoldConfig{ID: name, Name: name, Dial: h.dialHint, Servers: func() []string {
		return slices.Sorted(maps.Keys(c.servers))
	}})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = d.Run(ctx)
	}()
	c.t.Cleanup(func() {
		cancel()
		<-done
	})
	time.Sleep(100 * time.Millisecond)
	return h, d
}

func TestKilledAgent(t *testing.T) {
	for _, servers := range []int{1, 3} {
		t.Run(fmt.Sprint(servers), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newSimCluster(t, servers)
				h, _ := c.agent("c1")
				c.agent("c2")
				c.net.kill(h.addr)
				time.Sleep(time.Second)
				for id, s := range c.servers {
					if c1, c2 := s.shown("c1"), s.shown("c2"); c1 != gossip.StatusFailed || c2 != gossip.StatusAlive {
						t.Errorf("%s shows %v and %v", id, c1, c2)
					}
				}
			})
		})
	}
}

// An agent loses its server, or its connection, and lives.
func TestAgentLivesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newSimCluster(t, 3)
		h, _ := c.agent("c1")
		for id := range c.servers {
			c.net.cut(h.addr, id, "hint")
		}
		time.Sleep(3 * time.Second)
		for id, s := range c.servers {
			if got := s.shown("c1"); got != gossip.StatusAlive {
				t.Errorf("%s shows %v", id, got)
			}
		}
	})
}

// A server that is cut off from an agent by a firewall is outvoted.
func TestOneServerFindsItDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newSimCluster(t, 3)
		h, _ := c.agent("c1")
		for id, s := range c.servers {
			if s.hints.held.has("c1") {
				c.net.setReject(id, "c1", "gossip", true)
				c.net.setReject("c1", id, "hint", true)
				c.net.cut(h.addr, id, "hint")
			}
		}
		time.Sleep(3 * time.Second)
		for id, s := range c.servers {
			if got := s.shown("c1"); got != gossip.StatusAlive {
				t.Errorf("%s shows %v", id, got)
			}
		}
	})
}

func TestAgentLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newSimCluster(t, 3)
		h, d := c.agent("c1")
		if err := d.Leave(t.Context()); err != nil {
			t.Fatal(err)
		}
		for id, s := range c.servers {
			if got := s.shown("c1"); got != gossip.StatusLeaving {
				t.Errorf("%s shows %v once the agent was told that all know", id, got)
			}
		}
		c.net.kill(h.addr)
		time.Sleep(2 * time.Second)
		for id, s := range c.servers {
			if got := s.shown("c1"); got != gossip.StatusLeaving {
				t.Errorf("%s shows %v of an agent that left", id, got)
			}
		}
	})
}

func TestServerLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newSimCluster(t, 3)
		s := c.followers()[0]
		s.hints.Leave(t.Context())
		for id, other := range c.servers {
			if got := other.shown(s.id); id != s.id && got != gossip.StatusLeaving {
				t.Errorf("%s shows %v", id, got)
			}
		}
	})
}

// Nobody but a server of the configuration is listened to about others.
func TestStrangers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newSimCluster(t, 3)
		c.agent("c1")
		h := c.net.host("x")
		l := c.leader()
		peer, _, err := greet(t.Context(), h.dialHint, l.id, message{Type: typeHello, ID: "x", Name: "x"})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range []message{
			{Type: typeDown, Name: "c1", ID: "c1", Addr: "c1:8301"},
			{Type: typeLeaving, Name: "c1", ID: "c1", Addr: "c1:8301"},
			{Type: "from a later version"},
		} {
			if a, err := peer.ask(t.Context(), m); err != nil || *a != (message{Type: typeAnswer, Seq: a.Seq}) {
				t.Errorf("%s: %+v, %v", m.Type, a, err)
			}
		}
		if a, err := peer.ask(t.Context(), message{Type: typeProbe, Name: "c1", ID: "c1", Addr: "c1:8301"}); err != nil || a.Verdict != "" {
			t.Errorf("probe: %+v, %v", a, err)
		}
		if got := l.shown("c1"); got != gossip.StatusAlive {
			t.Errorf("shown as %v", got)
		}
		_ = peer.conn.Close()
		<-peer.ended
	})
}

// A server that came back is watched over, and watches, as soon as it is there: the next
// leader may die right behind it.
func TestDeathAfterReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newSimCluster(t, 3)
		l := c.leader()
		back := c.followers()[0]
		c.net.kill(back.id)
		time.Sleep(20 * time.Second) // the others hardly try any more
		c.net.revive(back.id)
		for _, id := range back.hints.cfg.Raft.Peers() {
			back.hints.links.get(id).kick() // it has just started
		}
		for leader := ""; leader != l.id; leader, _ = back.log.Leader() {
			time.Sleep(5 * time.Millisecond)
		}
		// It was a candidate all the time and may lose the order to stand, see decide.
		c.net.kill(l.id)
		start := time.Now()
		c.leader(l.id)
		if took := time.Since(start); took > 500*time.Millisecond {
			t.Errorf("new leader after %v", took)
		}
	})
}
