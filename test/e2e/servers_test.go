package e2e

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// do sends a request and returns status and body.
func (a *agent) do(method, path, body string) (int, string, error) {
	req, err := http.NewRequest(method, a.url(path), strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}

type raftPeer struct {
	ID, Node, Address string
	Leader, Voter     bool
}

// peers are the servers of the cluster as an agent has them, by node.
func (a *agent) peers() (map[string]raftPeer, error) {
	var conf struct{ Servers []raftPeer }
	err := a.get("/v1/operator/raft/configuration?stale", &conf)
	peers := map[string]raftPeer{}
	for _, p := range conf.Servers {
		peers[p.Node] = p
	}
	return peers, err
}

func (a *agent) nodeID(t *testing.T) string {
	t.Helper()
	var self struct{ Config struct{ NodeID string } }
	if err := a.get("/v1/agent/self", &self); err != nil {
		t.Fatal(err)
	}
	return self.Config.NodeID
}

func joinArgs(agents []*agent) (args []string) {
	for _, a := range agents {
		args = append(args, "-retry-join", fmt.Sprintf("127.0.0.1:%d", a.ports["serf_lan"]))
	}
	return args
}

func server(t *testing.T, name string, others []*agent, args ...string) *agent {
	t.Helper()
	args = append([]string{"-server", "-bootstrap-expect=3"}, args...)
	return newAgent(t, name, map[string]any{"data_dir": filepath.Join(t.TempDir(), "data")}, append(args, joinArgs(others)...)...)
}

// TestServerGetsItsVote: a server that joins a running cluster votes when it has been
// healthy for a while; leadership can then be given to it, and it leaves in good order.
func TestServerGetsItsVote(t *testing.T) {
	agents := cluster(t)
	leader := leaderOf(t, agents)
	if err := leader.put("/v1/operator/autopilot/configuration", map[string]any{"ServerStabilizationTime": "2s"}); err != nil {
		t.Fatal(err)
	}
	fourth := server(t, "s4", agents)
	begin := time.Now()
	fourth.start()
	fourth.ready()
	peer := func(want func(p raftPeer, ok bool) bool) func() error {
		return func() error {
			peers, err := leader.peers()
			if err == nil && !want(peers["s4"], peers["s4"].ID != "") {
				err = fmt.Errorf("peers %v", peers)
			}
			return err
		}
	}
	eventually(t, "s4 is taken in", peer(func(_ raftPeer, ok bool) bool { return ok }))
	eventually(t, "s4 votes", peer(func(p raftPeer, _ bool) bool { return p.Voter }))
	t.Logf("votes %v after its start", time.Since(begin).Round(100*time.Millisecond))
	eventually(t, "all are healthy", func() error {
		status, text, err := leader.do("GET", "/v1/operator/autopilot/health", "")
		if err == nil && (status != 200 || strings.Count(text, `"Voter":true`) != 4) {
			err = fmt.Errorf("%d %s", status, text)
		}
		return err
	})
	if status, text, err := leader.do("PUT", "/v1/operator/raft/transfer-leader?id="+fourth.nodeID(t), ""); status != 200 || err != nil {
		t.Fatalf("hand over leadership: %d %s %v", status, text, err)
	}
	eventually(t, "s4 leads", func() error {
		peers, err := fourth.peers()
		if err == nil && !peers["s4"].Leader {
			err = fmt.Errorf("peers %v", peers)
		}
		return err
	})
	if err := fourth.put("/v1/agent/leave", nil); err != nil {
		t.Fatal(err)
	}
	leader = agents[0]
	eventually(t, "s4 is gone", peer(func(_ raftPeer, ok bool) bool { return !ok }))
}

// TestRecoveryWithPeersFile: two of three servers are lost for good; the third goes on
// with its data.
func TestRecoveryWithPeersFile(t *testing.T) {
	agents := cluster(t)
	for i := range 5 {
		if err := agents[0].register(fmt.Sprintf("w%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	survivor := agents[1]
	survivor.sees(t, "stale", 5)
	id := survivor.nodeID(t)
	for _, a := range agents {
		a.kill()
	}
	raft := filepath.Join(dataDir(t, survivor), "raft")
	if info, err := os.ReadFile(filepath.Join(raft, "peers.info")); err != nil || !bytes.Contains(info, []byte("peers.json")) {
		t.Errorf("peers.info: %v", err)
	}
	write(t, filepath.Join(raft, "peers.json"), fmt.Sprintf(`[{"id":%q,"address":"127.0.0.1:%d","non_voter":false}]`, id, survivor.ports["server"]))
	begin := time.Now()
	survivor.start()
	survivor.ready()
	survivor.sees(t, "", 5)
	t.Logf("leader with all data %v after the start", time.Since(begin).Round(time.Millisecond))
	if err := survivor.register("after"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(raft, "peers.json")); !os.IsNotExist(err) {
		t.Errorf("peers.json is still there: %v", err)
	}
}

// dataDir is the value in the agent's configuration.
func dataDir(t *testing.T, a *agent) string {
	t.Helper()
	var self struct{ DebugConfig struct{ DataDir string } }
	if a.cmd.ProcessState == nil {
		if err := a.get("/v1/agent/self", &self); err != nil {
			t.Fatal(err)
		}
		return self.DebugConfig.DataDir
	}
	data, err := os.ReadFile(filepath.Join(a.dir, "agent.json"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), `"data_dir":"`)
	dir, _, _ := strings.Cut(rest, `"`)
	return dir
}

// TestServerReturns: a server that comes back with something changed is taken over
// within 10 s of its start, and the cluster is whole again.
func TestServerReturns(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(t *testing.T, a *agent)
		node   string
	}{
		{"as it was", func(*testing.T, *agent) {}, "s3"},
		{"new address", func(_ *testing.T, a *agent) { a.args = append(a.args, "-bind=127.0.0.2") }, "s3"},
		{"empty disk", func(t *testing.T, a *agent) { empty(t, a) }, "s3"},
		{"empty disk, same id", func(t *testing.T, a *agent) {
			id, err := os.ReadFile(filepath.Join(dataDir(t, a), "node-id"))
			if err != nil {
				t.Fatal(err)
			}
			empty(t, a)
			a.args = append(a.args, "-node-id="+strings.TrimSpace(string(id)))
		}, "s3"},
		{"new name", func(_ *testing.T, a *agent) { a.args = append(a.args, "-node=other") }, "other"},
		{"new name and address", func(_ *testing.T, a *agent) { a.args = append(a.args, "-node=other", "-bind=127.0.0.2") }, "other"},
	} {
		t.Run(c.name, func(t *testing.T) {
			agents := cluster(t)
			last := agents[2]
			eventually(t, "three servers are in the catalog", threePass(agents[0], "s3", last))
			last.kill()
			c.change(t, last)
			begin := time.Now()
			last.start()
			eventually(t, "the cluster is whole again", threePass(agents[0], c.node, last))
			took := time.Since(begin)
			t.Logf("taken over after %v", took.Round(10*time.Millisecond))
			if took > 10*time.Second {
				t.Errorf("it took %v", took)
			}
			last.ready()
			if err := last.register("through the returned server"); err != nil {
				t.Error(err)
			}
			eventually(t, "it votes", func() error {
				peers, err := agents[0].peers()
				if p := peers[c.node]; err == nil && (!p.Voter || len(peers) != 3) {
					err = fmt.Errorf("peers %v", peers)
				}
				return err
			})
			t.Logf("votes after %v", time.Since(begin).Round(10*time.Millisecond))
		})
	}
}

func empty(t *testing.T, a *agent) {
	if err := os.RemoveAll(dataDir(t, a)); err != nil {
		t.Fatal(err)
	}
}

// threePass: the catalog has three servers, all alive, one of them the given node, with
// the id and address that its agent says it has now.
func threePass(a *agent, node string, back *agent) func() error {
	return func() error {
		var self struct {
			Config struct{ NodeID string }
			Member struct{ Addr string }
		}
		if err := back.get("/v1/agent/self", &self); err != nil {
			return err
		}
		var list []struct {
			Node struct{ Node, ID, Address string }
		}
		if err := a.get("/v1/health/service/consul?passing", &list); err != nil {
			return err
		}
		found := false
		for _, e := range list {
			found = found || e.Node.Node == node && e.Node.ID == self.Config.NodeID && e.Node.Address == self.Member.Addr
		}
		if len(list) != 3 || !found {
			return fmt.Errorf("%d servers: %v", len(list), list)
		}
		return nil
	}
}

// TestClonedServer: a server with a copied identity is refused within 10 s, with both
// parties and the remedy in both their logs, and the cluster goes on undisturbed.
func TestClonedServer(t *testing.T) {
	agents := cluster(t)
	original := agents[2]
	id := original.nodeID(t)
	clone := server(t, "clone", agents, "-node-id="+id)
	begin := time.Now()
	clone.start()
	for _, a := range []*agent{clone, original} {
		eventually(t, a.name+" tells of both and of the remedy", func() error {
			log := a.output.String()
			for _, want := range []string{"two agents have one node id", `"clone\"`, `"s3\"`, id, "remove the file node-id"} {
				if !strings.Contains(log, want) {
					return fmt.Errorf("%q is missing", want)
				}
			}
			return nil
		})
	}
	took := time.Since(begin)
	t.Logf("told after %v", took.Round(10*time.Millisecond))
	if took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
	for _, a := range agents {
		if _, text, err := a.do("GET", "/v1/agent/members", ""); err != nil || strings.Contains(text, `"clone"`) {
			t.Errorf("%s has the clone as a member: %v", a.name, err)
		}
		if err := threePass(a, "s3", original)(); err != nil {
			t.Error(err)
		}
	}
	if err := original.register("still in order"); err != nil {
		t.Error(err)
	}
}

// TestRemovedServiceStaysRemoved: unless its own agent holds it, and then the caller is
// told so.
func TestRemovedServiceStaysRemoved(t *testing.T) {
	agents := cluster(t)
	holder, other := agents[0], agents[1]
	if err := holder.put("/v1/agent/service/register", map[string]any{"Name": "held", "ID": "held-1"}); err != nil {
		t.Fatal(err)
	}
	if err := other.register("external"); err != nil {
		t.Fatal(err)
	}
	instances := func(a *agent, service string) func(want int) func() error {
		return func(want int) func() error {
			return func() error {
				var list []any
				err := a.get("/v1/catalog/service/"+service, &list)
				if err == nil && len(list) != want {
					err = fmt.Errorf("%d instances", len(list))
				}
				return err
			}
		}
	}
	eventually(t, "both are there", instances(other, "held")(1))
	remove := func(a *agent, body, want string) {
		t.Helper()
		req, err := http.NewRequest(http.MethodPut, a.url("/v1/catalog/deregister"), strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if got := resp.Header.Get("X-Muster-Warning"); resp.StatusCode != 200 || want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s at %s: %s, warning %q, want %q", body, a.name, resp.Status, got, want)
		}
	}
	for _, a := range []*agent{holder, other} {
		remove(a, `{"Node":"s1","ServiceID":"held-1"}`, "/v1/agent/service/deregister/held-1")
	}
	// It would come back at the next full comparison. Removed where it belongs it does not.
	if err := holder.put("/v1/agent/service/deregister/held-1", nil); err != nil {
		t.Fatal(err)
	}
	remove(holder, `{"Node":"s1","ServiceID":"held-1"}`, "")
	remove(other, `{"Node":"external","ServiceID":"web"}`, "")
	eventually(t, "it is gone", instances(holder, "web")(0))
	time.Sleep(2 * time.Second) // longer than a reconciliation takes that has news
	if err := instances(holder, "web")(0)(); err != nil {
		t.Errorf("a removed service of nobody came back: %v", err)
	}
}
