package gossip

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/muster-discovery/muster/internal/gossip/gossiptest"
)

// node is one agent of a test network.
type node struct {
	*Pools
	name, ip string
	log      *syncBuffer

	mu     sync.Mutex
	events []Event
	done   chan struct{}
}

func ipOf(i int) string { return fmt.Sprintf("10.0.0.%d", i) }

func testConfig(net *gossiptest.Network, i int) Config {
	return Config{
		Identity: Identity{
			NodeName: fmt.Sprintf("n%d", i), NodeID: fmt.Sprintf("id-%d", i), Datacenter: "dc1",
			Server: true, Build: "1.22.0", ServerPort: 8300, GRPCPort: 8502,
		},
		LAN: PoolConfig{BindAddr: ipOf(i), BindPort: 8301, Transport: net.Host(ipOf(i), 8301)},
	}
}

// start opens pools and collects their events.
func start(t *testing.T, cfg Config) *node {
	t.Helper()
	n := open(t, cfg)
	n.done = make(chan struct{})
	go func() {
		defer close(n.done)
		for e := range n.Pools.Events() {
			n.mu.Lock()
			n.events = append(n.events, e)
			n.mu.Unlock()
		}
	}()
	return n
}

// open opens pools whose events nobody reads.
func open(t *testing.T, cfg Config) *node {
	t.Helper()
	n := &node{name: cfg.Identity.NodeName, ip: cfg.LAN.BindAddr, log: &syncBuffer{}}
	cfg.Logger = slog.New(slog.NewTextHandler(io.MultiWriter(n.log), &slog.HandlerOptions{Level: slog.LevelInfo}))
	p, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	n.Pools = p
	// Serf's last timers must end before the bubble does.
	t.Cleanup(func() {
		n.kill(t)
		time.Sleep(time.Minute)
	})
	return n
}

func (n *node) lan() string { return n.ip + ":8301" }

// kill stops the node without a word to the others. Killing twice is harmless.
func (n *node) kill(t *testing.T) {
	t.Helper()
	if err := n.Close(); err != nil {
		t.Error(err)
	}
	if n.done != nil {
		<-n.done
	}
}

// status is what n believes about the named member.
func (n *node) status(name string) Status {
	for _, m := range n.Members(false) {
		if m.Name == name {
			return m.Status
		}
	}
	return StatusNone
}

// seen lists the events about one member so far.
func (n *node) seen(name string) []EventType {
	n.mu.Lock()
	defer n.mu.Unlock()
	var out []EventType
	for _, e := range n.events {
		if e.Member.Name == name {
			out = append(out, e.Type)
		}
	}
	return out
}

// caughtUp is when news has reached every member, of virtual time. Each member passes
// news on a few times, to others chosen by chance: of five members one is passed by in
// about 1 of 200 cases. It then learns of it in the next full exchange with another
// member, one every 30 s.
const caughtUp = 2 * time.Minute

// network starts count nodes and joins them.
func network(t *testing.T, net *gossiptest.Network, count int) []*node {
	t.Helper()
	var nodes []*node
	for i := 1; i <= count; i++ {
		nodes = append(nodes, start(t, testConfig(net, i)))
	}
	for _, n := range nodes[1:] {
		if _, err := n.Join([]string{nodes[0].lan()}, false); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, caughtUp, "all alive everywhere", func() bool {
		return all(nodes, func(n *node) bool {
			return all(nodes, func(m *node) bool { return n.status(m.name) == StatusAlive })
		})
	})
	return nodes
}

func all[T any](in []T, f func(T) bool) bool {
	return !slices.ContainsFunc(in, func(x T) bool { return !f(x) })
}

// eventually waits in small steps of virtual time, and returns how long it took.
func eventually(t *testing.T, limit time.Duration, what string, cond func() bool) time.Duration {
	t.Helper()
	begin := time.Now()
	for !cond() {
		if time.Since(begin) > limit {
			t.Fatalf("not within %v: %s", limit, what)
		}
		time.Sleep(10 * time.Millisecond)
	}
	return time.Since(begin)
}

// syncBuffer is a log that may be read while it is written.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
