package gossip

import (
	"context"
	"encoding/base64"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-discovery/muster/internal/gossip/gossiptest"
	"github.com/muster-discovery/muster/internal/model"
)

func TestDeathLeaveAndReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := gossiptest.New()
		nodes := network(t, net, 5)
		others := slices.Concat(nodes[:2], nodes[3:])
		everywhere := func(s Status) func() bool {
			return func() bool { return all(others, func(n *node) bool { return n.status("n3") == s }) }
		}

		nodes[2].kill(t)
		took := eventually(t, 7*time.Second, "the killed node is failed everywhere", everywhere(StatusFailed))
		if took < time.Second {
			t.Errorf("failed after %v: nobody had time to object", took)
		}

		nodes[2] = start(t, testConfig(net, 3))
		if _, err := nodes[2].Join([]string{nodes[0].lan()}, false); err != nil {
			t.Fatal(err)
		}
		eventually(t, caughtUp, "the returned node is alive everywhere", everywhere(StatusAlive))

		if err := nodes[2].Leave(t.Context()); err != nil {
			t.Fatal(err)
		}
		eventually(t, caughtUp, "the leaving node has left everywhere", everywhere(StatusLeft))
		if _, err := nodes[2].Join([]string{nodes[0].lan()}, false); err == nil {
			t.Error("joined after leaving")
		}
		time.Sleep(10 * time.Second)
		// A leaving agent says so to memberlist and to serf, in two messages that may
		// overtake each other. Whoever hears memberlist's first has a failure that
		// turns out to be a leave; memberlist does not tell serf which one it is.
		want := []EventType{EventJoined, EventFailed, EventJoined, EventLeft}
		overtaken := slices.Insert(slices.Clone(want), 3, EventFailed)
		for _, n := range others {
			if got := n.seen("n3"); !slices.Equal(got, want) && !slices.Equal(got, overtaken) {
				t.Errorf("%s saw %v, want %v", n.name, got, want)
			}
		}
	})
}

func TestPartitionHeals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := gossiptest.New()
		net.Delay(2 * time.Millisecond)
		nodes := network(t, net, 5)
		each := func(f func(a, b string)) {
			for _, a := range nodes[:2] {
				for _, b := range nodes[2:] {
					f(a.ip, b.ip)
				}
			}
		}
		each(net.Cut)
		eventually(t, 30*time.Second, "both sides see the other failed", func() bool {
			return nodes[0].status("n5") == StatusFailed && nodes[4].status("n1") == StatusFailed
		})
		each(net.Heal)
		eventually(t, 3*time.Minute, "all alive everywhere again", func() bool {
			return all(nodes, func(n *node) bool {
				return all(nodes, func(m *node) bool { return n.status(m.name) == StatusAlive })
			})
		})
	})
}

func TestSnapshotRejoin(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		net := gossiptest.New()
		nodes := network(t, net, 2)
		cfg := testConfig(net, 3)
		cfg.LAN.SnapshotPath = filepath.Join(dir, "serf", "local.snapshot")
		third := start(t, cfg)
		if _, err := third.Join([]string{nodes[0].lan()}, false); err != nil {
			t.Fatal(err)
		}
		eventually(t, 5*time.Second, "members known", func() bool { return third.status("n2") == StatusAlive })
		time.Sleep(time.Second) // serf flushes the file twice a second
		third.kill(t)

		cfg = testConfig(net, 3)
		cfg.LAN.SnapshotPath = filepath.Join(dir, "serf", "local.snapshot")
		third = start(t, cfg)
		eventually(t, 5*time.Second, "rejoined without being told where", func() bool {
			return third.status("n1") == StatusAlive && third.status("n2") == StatusAlive
		})
	})
}

// TestReaderStandsStill: nobody reads events, and the pool goes on; what is read
// at last is one event a member, the latest.
func TestReaderStandsStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := gossiptest.New()
		idle := open(t, testConfig(net, 1))
		for range 3 {
			peer := start(t, testConfig(net, 2))
			if _, err := peer.Join([]string{idle.lan()}, false); err != nil {
				t.Fatal(err)
			}
			eventually(t, 5*time.Second, "peer alive", func() bool { return idle.status("n2") == StatusAlive })
			peer.kill(t)
			eventually(t, 10*time.Second, "peer failed", func() bool { return idle.status("n2") == StatusFailed })
		}
		var got []Event
		for range 2 {
			synctest.Wait()
			got = append(got, <-idle.Events())
		}
		if got[0].Member.Name != "n1" || got[0].Type != EventJoined {
			t.Errorf("first event %+v, want n1 joined", got[0])
		}
		if got[1].Member.Name != "n2" || got[1].Type != EventFailed || got[1].Member.Status != StatusFailed {
			t.Errorf("second event %+v, want n2 failed", got[1])
		}
		synctest.Wait()
		select {
		case e := <-idle.Events():
			t.Errorf("one more event: %+v", e)
		default:
		}
		idle.kill(t)
		if _, open := <-idle.Events(); open {
			t.Error("events go on after Close")
		}
	})
}

func TestForceLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := gossiptest.New()
		nodes := network(t, net, 3)
		err := nodes[0].ForceLeave("ghost", false)
		if model.KindOf(err) != model.KindNotFound || err.Error() != "agent: No node found with name 'ghost'" {
			t.Errorf("unknown node: %v", err)
		}
		nodes[2].kill(t)
		eventually(t, 10*time.Second, "n3 failed", func() bool {
			return nodes[0].status("n3") == StatusFailed && nodes[1].status("n3") == StatusFailed
		})
		if err := nodes[0].ForceLeave("n3", false); err != nil {
			t.Fatal(err)
		}
		eventually(t, 5*time.Second, "n3 left", func() bool { return nodes[1].status("n3") == StatusLeft })
		if err := nodes[0].ForceLeave("n3", true); err != nil {
			t.Fatal(err)
		}
		eventually(t, 5*time.Second, "n3 forgotten", func() bool {
			return nodes[0].status("n3") == StatusNone && nodes[1].status("n3") == StatusNone
		})
		want := []EventType{EventJoined, EventFailed, EventLeft, EventReaped}
		if got := nodes[1].seen("n3"); !slices.Equal(got, want) {
			t.Errorf("n2 saw %v, want %v", got, want)
		}
	})
}

func TestWAN(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := gossiptest.New()
		var nodes []*node
		for i, dc := range []string{"dc1", "dc2"} {
			cfg := testConfig(net, i+1)
			cfg.Identity.Datacenter = dc
			cfg.WAN = &PoolConfig{BindAddr: ipOf(i + 1), BindPort: 8302, Transport: net.Host(ipOf(i+1), 8302)}
			nodes = append(nodes, start(t, cfg))
		}
		if n, err := nodes[0].Join([]string{"10.0.0.2:8302"}, true); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		synctest.Wait()
		var names []string
		for _, m := range nodes[1].Members(true) {
			names = append(names, m.Name)
		}
		if want := []string{"n1.dc1", "n2.dc2"}; !slices.Equal(names, want) {
			t.Errorf("WAN members %v, want %v", names, want)
		}
		if m := nodes[0].LocalMember(); m.Tags["wan_join_port"] != "8302" {
			t.Errorf("tags %v", m.Tags)
		}
		if m, ok := nodes[0].LocalWANMember(); !ok || m.Port != 8302 || m.Tags["wan_join_port"] != "" {
			t.Errorf("WAN member %+v", m)
		}
		// The pools don't mix.
		if _, err := nodes[0].Join([]string{"10.0.0.2:8302"}, false); err == nil || !strings.Contains(err.Error(), "LAN pool") {
			t.Errorf("LAN joined WAN: %v", err)
		}
		if _, err := nodes[0].Join([]string{"10.0.0.2:8301"}, false); err == nil || !strings.Contains(err.Error(), `part of datacenter "dc2", this agent of "dc1"`) {
			t.Errorf("LAN joined another datacenter: %v", err)
		}
	})
}

func TestEncryption(t *testing.T) {
	key := base64.StdEncoding.EncodeToString([]byte("0123456789abcdef"))
	other := base64.StdEncoding.EncodeToString([]byte("fedcba9876543210"))
	tests := []struct {
		name, a, b string
		ok         bool
	}{
		{"same key", key, key, true},
		{"other key", key, other, false},
		{"only one encrypts", key, "", false},
		{"only the other encrypts", "", key, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				net := gossiptest.New()
				ca, cb := testConfig(net, 1), testConfig(net, 2)
				ca.EncryptKey, cb.EncryptKey = tt.a, tt.b
				a, b := start(t, ca), start(t, cb)
				if _, err := a.Join([]string{b.lan()}, false); (err == nil) != tt.ok {
					t.Errorf("join: %v", err)
				}
				synctest.Wait()
				if got := b.status("n1") == StatusAlive; got != tt.ok {
					t.Errorf("member of the other: %v", got)
				}
			})
		})
	}
}

func TestBadConfig(t *testing.T) {
	tests := []struct {
		name string
		edit func(*Config)
		want string
	}{
		{"key not base64", func(c *Config) { c.EncryptKey = "***" }, "not base64"},
		{"key of wrong length", func(c *Config) { c.EncryptKey = "YWJj" }, "has 3 bytes"},
		{"no name", func(c *Config) { c.Identity.NodeName = "" }, "node name is empty"},
		{"no datacenter", func(c *Config) { c.Identity.Datacenter = "" }, "datacenter is empty"},
		{"client with WAN", func(c *Config) { c.Identity.Server, c.WAN = false, &PoolConfig{} }, "no WAN pool"},
		{"tags too long", func(c *Config) { c.Identity.Extra = map[string]string{"x": strings.Repeat("y", 600)} }, "tags exceeds limit"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := testConfig(gossiptest.New(), 1)
			tt.edit(&cfg)
			p, err := Open(cfg)
			if err == nil {
				t.Fatal("opened", p.Close())
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%q does not say %q", err, tt.want)
			}
		})
	}
}

func TestRetryJoin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := gossiptest.New()
		late := testConfig(gossiptest.New(), 2)
		n := start(t, testConfig(net, 1))

		begin := time.Now()
		err := n.RetryJoin(t.Context(), RetryConfig{Addrs: []string{"10.0.0.2:8301"}, MaxAttempts: 4})
		if err == nil || !strings.Contains(err.Error(), "gave up after 4 attempts") || !strings.Contains(err.Error(), "10.0.0.2:8301") {
			t.Errorf("limited retry: %v", err)
		}
		// Pauses of half to all of 0.5, 1 and 2 s.
		if took := time.Since(begin); took < 1750*time.Millisecond || took > 3500*time.Millisecond {
			t.Errorf("4 attempts took %v", took)
		}

		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		if err := n.RetryJoin(ctx, RetryConfig{Addrs: []string{"10.0.0.2:8301"}}); err != context.DeadlineExceeded {
			t.Errorf("stopped retry: %v", err)
		}

		done := make(chan error)
		go func() {
			done <- n.RetryJoin(t.Context(), RetryConfig{Addrs: []string{"10.0.0.2:8301"}, Interval: 5 * time.Second})
		}()
		time.Sleep(20 * time.Second)
		late.LAN.Transport = net.Host("10.0.0.2", 8301)
		start(t, late)
		begin = time.Now()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if took := time.Since(begin); took > 5*time.Second {
			t.Errorf("joined %v after the peer came up, with an interval of 5 s", took)
		}
	})
}

func TestJoinErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := start(t, testConfig(gossiptest.New(), 1))
		for _, tt := range []struct {
			addrs []string
			wan   bool
			want  string
		}{
			{[]string{"10.0.0.9:1"}, false, "join 10.0.0.9:1: failed to join 10.0.0.9:1: dial tcp: 10.0.0.9:1: connection refused"},
			{[]string{""}, false, "the address is empty"},
			{nil, false, "no address given"},
			{[]string{"10.0.0.9"}, true, "no WAN pool"},
			{[]string{"10.0.0.9:x"}, false, "invalid syntax"},
		} {
			if k, err := n.Join(tt.addrs, tt.wan); k != 0 || err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Join(%q): %d, %v; want %q", tt.addrs, k, err, tt.want)
			}
		}
	})
}
