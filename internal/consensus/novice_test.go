package consensus

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// lossy is a cluster of three servers with disks, of which one lags behind.
func lossy(t *testing.T, dirs string) *cluster {
	c := &cluster{t: t, net: newMemNet(), logs: map[string]*Log{}, machines: map[string]*listMachine{}}
	var servers []Server
	for _, id := range []string{"s0", "s1", "s2"} {
		servers = append(servers, Server{ID: id, Addr: id, Voter: true})
		c.open(id, Config{Stream: c.net.listen(id), Dir: filepath.Join(dirs, id)})
	}
	for _, s := range servers {
		if err := c.logs[s.ID].Bootstrap(servers); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// TestEmptyDiskDoesNotElect: a command was committed by two of three servers. One of
// them loses its disk and the other goes down; the third, which never had the command,
// must not be elected by the one that forgot it.
func TestEmptyDiskDoesNotElect(t *testing.T) {
	dirs := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		c := lossy(t, dirs)
		commit(t, c.leader(), "a")
		leader := c.leader()
		var others []string
		for _, l := range c.followers() {
			others = append(others, l.config.NodeID)
		}
		behind, loses := others[0], others[1]
		c.net.cut(behind, true)
		commit(t, leader, "b") // by leader and loses
		if err := c.logs[loses].Close(); err != nil {
			t.Fatal(err)
		}
		c.net.cut(leader.config.NodeID, true)
		c.net.cut(behind, false)
		c.open(loses, Config{Stream: c.net.listen(loses), Dir: filepath.Join(dirs, "new")})
		time.Sleep(30 * time.Second)
		for _, id := range []string{behind, loses} {
			if c.logs[id].IsLeader() {
				t.Fatalf("%s was elected without the command", id)
			}
		}
		// Nothing is lost once the server that has everything is back.
		c.net.cut(leader.config.NodeID, false)
		commit(t, c.leader(), "c")
		for id, m := range c.machines {
			eventually(t, "all commands at "+id, func() bool { return slices.Equal(m.list(), []string{"a", "b", "c"}) })
		}
		eventually(t, "the vote of the one that lost its disk", func() bool { return c.logs[loses].novice.over.Load() })
		// It votes again: the cluster goes on with it and without another one.
		c.net.cut(leader.config.NodeID, true)
		commit(t, c.leader(leader.config.NodeID), "d")
	})
}

// TestNoviceStaysOneAcrossRestarts: also when it has begun to receive the log.
func TestNoviceStaysOneAcrossRestarts(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		l, err := Open(Config{NodeID: "s0", Dir: dir}, &listMachine{})
		if err != nil {
			t.Fatal(err)
		}
		if l.novice == nil {
			t.Error("it votes")
		}
		if err := l.Stand(); err == nil {
			t.Error("it stands for election")
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	l, err := Open(Config{NodeID: "s0", Dir: dir, Bootstrap: true}, &listMachine{})
	if err != nil {
		t.Fatal(err)
	}
	if l.novice != nil {
		t.Error("the founder of a cluster is a novice")
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestChangedNodeID: a server whose log is another one's says so, with the remedy.
func TestChangedNodeID(t *testing.T) {
	dir := t.TempDir()
	for i, id := range []string{"old", "new"} {
		var log bytes.Buffer
		l, err := Open(Config{NodeID: id, Dir: dir, Bootstrap: true, Logger: slog.New(slog.NewTextHandler(&log, nil))}, &listMachine{})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if told := strings.Contains(log.String(), "not among the servers of its own log") && strings.Contains(log.String(), "peers.json"); told != (i == 1) {
			t.Errorf("%s: %s", id, log.String())
		}
	}
}
