package e2e

import (
	"fmt"
	"path/filepath"
	"testing"
)

// cluster starts three servers that find each other.
func cluster(t *testing.T) []*agent {
	t.Helper()
	var agents []*agent
	var join []string
	for i := range 3 {
		a := newAgent(t, fmt.Sprintf("s%d", i+1), map[string]any{"data_dir": filepath.Join(t.TempDir(), "data")}, "-server", "-bootstrap-expect=3")
		agents = append(agents, a)
		join = append(join, fmt.Sprintf("127.0.0.1:%d", a.ports["serf_lan"]))
	}
	for _, a := range agents {
		for _, addr := range join {
			a.args = append(a.args, "-retry-join", addr)
		}
		a.start()
	}
	for _, a := range agents {
		a.ready()
	}
	return agents
}

func (a *agent) register(node string) error {
	return a.put("/v1/catalog/register", map[string]any{
		"Node": node, "Address": "10.0.0.1", "Service": map[string]any{"Service": "web", "Port": 80},
	})
}

// count is the number of web's instances that an agent sees.
func (a *agent) count(mode string) (int, error) {
	var list []any
	err := a.get("/v1/catalog/service/web?"+mode, &list)
	return len(list), err
}

func (a *agent) sees(t *testing.T, mode string, want int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%s sees %d instances (%s)", a.name, want, mode), func() error {
		n, err := a.count(mode)
		if err == nil && n != want {
			err = fmt.Errorf("sees %d", n)
		}
		return err
	})
}

// TestThreeServers: writes through every server, a killed leader, and its return.
func TestThreeServers(t *testing.T) {
	agents := cluster(t)
	for i, a := range agents {
		if err := a.register(fmt.Sprintf("w%d", i)); err != nil {
			t.Fatalf("write through %s: %v", a.name, err)
		}
	}
	for _, a := range agents {
		// A default or consistent read sees every write that was acknowledged
		// before, on whichever server.
		for _, mode := range []string{"", "consistent"} {
			if n, err := a.count(mode); err != nil || n != 3 {
				t.Errorf("%s, mode %q: %d instances, %v; want 3", a.name, mode, n, err)
			}
		}
		a.sees(t, "stale", 3)
	}
	eventually(t, "all servers are in the catalog", func() error {
		list, err := agents[0].passing("consul")
		if err == nil && len(list) != 3 {
			err = fmt.Errorf("%d servers passing", len(list))
		}
		return err
	})

	leader := leaderOf(t, agents)
	leader.kill()
	var survivors []*agent
	for _, a := range agents {
		if a != leader {
			survivors = append(survivors, a)
		}
	}
	// The first write may meet the gap: it is held across the election.
	if err := survivors[0].register("after"); err != nil {
		t.Fatalf("write after the leader was killed: %v", err)
	}
	survivors[1].sees(t, "consistent", 4)
	eventually(t, "the dead server is seen", func() error {
		list, err := survivors[0].passing("consul")
		if err == nil && len(list) != 2 {
			err = fmt.Errorf("%d servers passing", len(list))
		}
		return err
	})

	leader.start()
	leader.ready()
	leader.sees(t, "consistent", 4)
	leader.sees(t, "stale", 4)
	if err := leader.register("back"); err != nil {
		t.Fatalf("write through the returned server: %v", err)
	}
	survivors[0].sees(t, "", 5)
}

func leaderOf(t *testing.T, agents []*agent) *agent {
	t.Helper()
	var addr string
	if err := agents[0].get("/v1/status/leader", &addr); err != nil {
		t.Fatal(err)
	}
	for _, a := range agents {
		if addr == fmt.Sprintf("127.0.0.1:%d", a.ports["server"]) {
			return a
		}
	}
	t.Fatalf("leader %q is none of the servers", addr)
	return nil
}
