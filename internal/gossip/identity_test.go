package gossip

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-discovery/muster/internal/gossip/gossiptest"
)

// again is the configuration of an agent that comes back as host i.
func again(net *gossiptest.Network, i int, name, id string) Config {
	cfg := testConfig(net, i)
	cfg.Identity.NodeName, cfg.Identity.NodeID = name, id
	return cfg
}

func idOf(n *node, name string) string {
	for _, m := range n.Members(false) {
		if m.Name == name && m.Status == StatusAlive {
			return m.ID()
		}
	}
	return ""
}

// TestReturns: agents that come back with something changed. Each is a member with its
// new identity for all others within 10 s.
func TestReturns(t *testing.T) {
	for _, c := range []struct {
		name         string
		host         int
		node, id     string
		killedBefore time.Duration
	}{
		{"as it was", 2, "n2", "id-2", 0},
		{"new address", 4, "n2", "id-2", 0},
		{"new address, long after", 4, "n2", "id-2", time.Minute},
		{"empty disk", 2, "n2", "new-id", 0},
		{"empty disk, new address", 4, "n2", "new-id", 0},
		{"new name", 2, "other", "id-2", 0},
		{"new name and address", 4, "other", "id-2", 0},
		{"all new", 4, "other", "new-id", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				net := gossiptest.New()
				nodes := network(t, net, 3)
				nodes[1].kill(t)
				time.Sleep(c.killedBefore)
				back := start(t, again(net, c.host, c.node, c.id))
				ctx, stop := context.WithCancel(t.Context())
				done := make(chan error, 1)
				go func() { done <- back.RetryJoin(ctx, RetryConfig{Addrs: []string{nodes[0].lan(), nodes[2].lan()}}) }()
				took := eventually(t, 10*time.Second, "member with its new identity", func() bool {
					return idOf(nodes[0], c.node) == c.id && idOf(nodes[2], c.node) == c.id && idOf(back, "n1") == "id-1"
				})
				t.Logf("after %v", took)
				eventually(t, 10*time.Second, "joined", func() bool { return len(done) == 1 })
				stop()
			})
		})
	}
}

// TestClonedID: an agent with the node id of a living one is refused, both are named on
// both sides, and it becomes a member once the other is gone.
func TestClonedID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := gossiptest.New()
		nodes := network(t, net, 3)
		clone := start(t, again(net, 4, "clone", "id-2"))
		for range 3 {
			for _, n := range nodes {
				_, err := clone.Join([]string{n.lan()}, false)
				if err == nil {
					t.Fatalf("joined %s", n.name)
				}
				for _, want := range []string{`"clone" with the id id-2 at 10.0.0.4:8301`, `"n2" with the id id-2 at 10.0.0.2:8301`, "node_id"} {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("join: %v; want %q", err, want)
					}
				}
			}
			time.Sleep(40 * time.Second) // a full exchange is among them
		}
		for _, n := range nodes {
			if s := n.status("clone"); s != StatusNone {
				t.Errorf("%s has the clone as %s", n.name, s)
			}
			if s := n.status("n2"); s != StatusAlive {
				t.Errorf("%s has n2 as %s", n.name, s)
			}
			log := n.log.String()
			if !strings.Contains(log, "two agents have one node id") || !strings.Contains(log, "10.0.0.4:8301") {
				t.Errorf("%s does not tell: %s", n.name, log)
			}
			if lines := strings.Count(log, "is refused"); lines > 6 { // in two minutes and more
				t.Errorf("%s tells it %d times", n.name, lines)
			}
		}
		if !strings.Contains(clone.log.String(), "two agents have one node id") {
			t.Errorf("the clone does not tell: %s", clone.log.String())
		}
		nodes[1].kill(t)
		took := eventually(t, 60*time.Second, "the clone is a member", func() bool {
			return nodes[0].status("clone") == StatusAlive && nodes[2].status("clone") == StatusAlive
		})
		t.Logf("after %v", took)
	})
}

// TestNamesakesAreNamed: both living agents tell who the other is.
func TestNamesakesAreNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := gossiptest.New()
		nodes := network(t, net, 3)
		twin := start(t, again(net, 4, "n2", "twin-id"))
		_, _ = twin.Join([]string{nodes[0].lan()}, false)
		time.Sleep(time.Minute)
		for _, c := range []struct {
			n    *node
			want string
		}{
			{twin, `node=n2 node_id=twin-id addr=10.0.0.4:8301 peer_id=id-2 peer=10.0.0.2:8301`},
			{nodes[1], `node=n2 node_id=id-2 addr=10.0.0.2:8301 peer_id=twin-id peer=10.0.0.4:8301`},
		} {
			if log := c.n.log.String(); !strings.Contains(log, c.want) || !strings.Contains(log, "remedy") {
				t.Errorf("%s at %s: %s", c.n.name, c.n.ip, log)
			}
		}
		if got := idOf(nodes[0], "n2"); got != "id-2" {
			t.Errorf("n1 has n2 with id %q", got)
		}
	})
}
