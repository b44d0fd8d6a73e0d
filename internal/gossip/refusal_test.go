package gossip

import (
	"fmt"
	"io"
	"log"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/memberlist"
	"github.com/hashicorp/serf/serf"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/muster-discovery/muster/internal/gossip/gossiptest"
)

// foreignAgent is a member of a pool that is not Muster's: serf as everybody else
// uses it, with the tags of a Consul server.
func foreignAgent(t *testing.T, transport memberlist.Transport) *serf.Serf {
	t.Helper()
	c := serf.DefaultConfig()
	c.NodeName = "foreign"
	c.Tags = map[string]string{"role": "consul", "dc": "dc1", "port": "8300", "id": "f", "vsn": "2"}
	c.LogOutput = nil
	c.Logger = log.New(io.Discard, "", 0)
	c.MemberlistConfig.Logger, c.MemberlistConfig.LogOutput = c.Logger, nil
	c.MemberlistConfig.Transport = transport
	c.MemberlistConfig.BindAddr, c.MemberlistConfig.BindPort = "127.0.0.1", 0 // without a transport
	s, err := serf.Create(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Shutdown(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// counts lists a counter's label values with its figures.
func counts(t *testing.T, reg *prometheus.Registry, name string) string {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			var line string
			for _, l := range m.GetLabel() {
				line += l.GetValue() + " "
			}
			out = append(out, line+fmt.Sprint(m.GetCounter().GetValue()))
		}
	}
	return strings.Join(out, ", ")
}

func TestForeignPoolRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := gossiptest.New()
		reg := prometheus.NewRegistry()
		cfg := testConfig(net, 1)
		cfg.Registry = reg
		n := start(t, cfg)
		outsider := net.Host("10.0.0.2", 8301)
		foreign := foreignAgent(t, outsider)

		if _, err := n.Join([]string{"10.0.0.2:8301"}, false); err == nil || !strings.Contains(err.Error(), "muster import consul") {
			t.Errorf("Muster joins foreign: %v", err)
		}
		for range 10 {
			if _, err := foreign.Join([]string{"10.0.0.1:8301"}, true); err == nil {
				t.Error("foreign joins Muster")
			}
		}
		for range 1000 {
			net.Send(outsider, "10.0.0.1:8301", []byte{0, 1, 2})
			synctest.Wait()
		}
		time.Sleep(time.Minute)
		if len(n.Members(false)) != 1 || foreign.NumNodes() != 1 {
			t.Errorf("members: %v and %v", n.Members(false), foreign.Members())
		}
		text := n.log.String()
		if c := strings.Count(text, "foreign gossip refused"); c != 1 {
			t.Errorf("logged %d times within a minute:\n%s", c, text)
		}
		for _, want := range []string{"10.0.0.2:8301", "retry_join", "kind=stream"} {
			if !strings.Contains(text, want) {
				t.Errorf("the log does not say %q:\n%s", want, text)
			}
		}
		if got, want := counts(t, reg, "muster_gossip_foreign_refused_total"), "packet lan 1000, stream lan 10"; got != want {
			t.Errorf("counted %q, want %q", got, want)
		}
	})
}

// TestNameConflict: two living agents with one name. Both are named in the log of
// the agents they meet, and none is thrown out.
func TestNameConflict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := gossiptest.New()
		nodes := network(t, net, 2)
		cfg := testConfig(net, 3)
		cfg.Identity.NodeName = "n2"
		twin := start(t, cfg)
		if _, err := twin.Join([]string{nodes[0].lan()}, false); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		for _, n := range []*node{nodes[0], twin} {
			text := n.log.String()
			for _, want := range []string{"two agents claim one node name", "node=n2", "10.0.0.2:8301", "10.0.0.3:8301", "node_name"} {
				if !strings.Contains(text, want) {
					t.Errorf("the log of %s does not say %q:\n%s", n.ip, want, text)
				}
			}
		}
		if m := nodes[0].Members(false); len(m) != 2 || m[1].Addr != "10.0.0.2" || m[1].Status != StatusAlive {
			t.Errorf("members %+v", m)
		}
	})
}

// TestReturnUnderNewAddress: an agent dies and is back under another address
// before anybody noticed. The others must hear of it when they mark the old one
// failed, not at the next full exchange half a minute later.
func TestReturnUnderNewAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := gossiptest.New()
		nodes := network(t, net, 3)
		nodes[2].kill(t)
		cfg := testConfig(net, 4)
		cfg.Identity.NodeName, cfg.Identity.NodeID = "n3", "id-3"
		nodes[2] = start(t, cfg)
		if _, err := nodes[2].Join([]string{nodes[0].lan()}, false); err != nil {
			t.Fatal(err)
		}
		moved := func(n *node) bool {
			for _, m := range n.Members(false) {
				if m.Name == "n3" && m.Status == StatusAlive && m.Addr == "10.0.0.4" {
					return true
				}
			}
			return false
		}
		took := eventually(t, 10*time.Second, "alive under the new address everywhere", func() bool { return all(nodes, moved) })
		t.Logf("took %v", took)
		time.Sleep(time.Minute)
		if !all(nodes, moved) {
			t.Error("it did not last")
		}
	})
}
