package consensus

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

// TestRecoverCluster: two of three servers are lost for good; the third goes on alone
// with its data once an operator says so.
func TestRecoverCluster(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "peers.json")
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{t: t, net: newMemNet(), logs: map[string]*Log{}, machines: map[string]*listMachine{}}
		var servers []Server
		for _, id := range []string{"s0", "s1", "s2"} {
			servers = append(servers, Server{ID: id, Addr: id, Voter: true})
			config := Config{Stream: c.net.listen(id)}
			if id == "s0" {
				config.Dir = dir
			}
			c.open(id, config)
		}
		for _, s := range servers {
			if err := c.logs[s.ID].Bootstrap(servers); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range []string{"a", "b", "c"} {
			commit(t, c.leader(), name)
		}
		eventually(t, "the commands at s0", func() bool { return len(c.machines["s0"].list()) == 3 })
		for _, id := range []string{"s1", "s2", "s0"} {
			if err := c.logs[id].Close(); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(path, []byte(`[{"id":"s0","address":"s0"}]`), 0o600); err != nil {
			t.Fatal(err)
		}
		delete(c.logs, "s1")
		delete(c.logs, "s2")
		l := c.open("s0", Config{Dir: dir, Stream: c.net.listen("s0")})
		c.leader()
		commit(t, l, "d")
		if got := c.machines["s0"].list(); !slices.Equal(got, []string{"a", "b", "c", "d"}) {
			t.Errorf("the machine has %q", got)
		}
		if got := l.Servers(); len(got) != 1 || got[0] != (Server{ID: "s0", Addr: "s0", Voter: true}) {
			t.Errorf("servers %v", got)
		}
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("the file is still there: %v", err)
		}
		if info, err := os.ReadFile(filepath.Join(dir, "peers.info")); err != nil || !strings.Contains(string(info), `"non_voter": false`) {
			t.Errorf("the explanation: %q, %v", info, err)
		}
		// It is as good a log as any other after a restart.
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		l = c.open("s0", Config{Dir: dir, Stream: c.net.listen("s0")})
		c.leader()
		commit(t, l, "e")
		if got := c.machines["s0"].list(); !slices.Equal(got, []string{"a", "b", "c", "d", "e"}) {
			t.Errorf("after a restart the machine has %q", got)
		}
	})
}

func TestRecoverRefuses(t *testing.T) {
	for _, c := range []struct{ name, file, want string }{
		{"addresses", `["10.0.0.1:8300"]`, "the form of Raft protocol 2"},
		{"no list", `{"id":"s0"}`, "not a list of servers"},
		{"a typing error", `[{"id":"s0","adress":"x:1"}]`, `unknown field "adress"`},
		{"no address", `[{"id":"s0"}]`, "server 1 has no id or no address"},
		{"twice", `[{"id":"s0","address":"a:1"},{"id":"s0","address":"b:1"}]`, "the id s0 is there twice"},
		{"no voter", `[{"id":"s0","address":"a:1","non_voter":true}]`, "no server in it has a vote"},
		{"others only", `[{"id":"s1","address":"a:1"}]`, "this server, s0, is not in it"},
		{"empty", `[]`, "no server in it has a vote"},
		{"nothing to recover", `[{"id":"s0","address":"a:1"}]`, "no initial state"},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "peers.json")
		if err := os.WriteFile(path, []byte(c.file), 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := Open(Config{NodeID: "s0", Dir: dir}, &listMachine{})
		if err == nil {
			_ = l.Close()
			t.Errorf("%s: it started", c.name)
			continue
		}
		for _, want := range []string{c.want, path, "peers.info"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v; want %q", c.name, err, want)
			}
		}
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
