package consensus

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/muster-discovery/muster/internal/model"
)

// cluster is some servers in one process; server i has the id and address s<i>.
type cluster struct {
	t        *testing.T
	net      *memNet
	logs     map[string]*Log
	machines map[string]*listMachine
}

// newCluster starts n servers that know each other and waits for a leader.
func newCluster(t *testing.T, n int) *cluster {
	c := &cluster{t: t, net: newMemNet(), logs: map[string]*Log{}, machines: map[string]*listMachine{}}
	var servers []Server
	for i := range n {
		id := fmt.Sprint("s", i)
		servers = append(servers, Server{ID: id, Addr: id, Voter: true})
		c.open(id, Config{Stream: c.net.listen(id)})
	}
	for _, s := range servers {
		if err := c.logs[s.ID].Bootstrap(servers); err != nil {
			t.Fatal(err)
		}
	}
	c.leader()
	return c
}

func (c *cluster) open(id string, config Config) *Log {
	c.t.Helper()
	config.NodeID = id
	m := &listMachine{}
	l, err := Open(config, m)
	if err != nil {
		c.t.Fatal(err)
	}
	c.logs[id], c.machines[id] = l, m
	c.t.Cleanup(func() {
		if err := l.Close(); err != nil {
			c.t.Error(err)
		}
	})
	return l
}

// leader waits until one of the servers, without those named, leads and may
// serve reads.
func (c *cluster) leader(without ...string) *Log {
	c.t.Helper()
	var found *Log
	eventually(c.t, "a leader", func() bool {
		for id, l := range c.logs {
			if !slices.Contains(without, id) && l.LeaseValid() {
				found = l
				return true
			}
		}
		return false
	})
	return found
}

// followers are the servers that do not lead, in order.
func (c *cluster) followers() []*Log {
	var out []*Log
	for _, id := range slices.Sorted(maps.Keys(c.logs)) {
		if l := c.logs[id]; !l.IsLeader() {
			out = append(out, l)
		}
	}
	return out
}

// eventually waits in simulated time.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("waited 20 s for %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func wantKind(t *testing.T, doing string, err error, kinds ...model.ErrorKind) {
	t.Helper()
	if err == nil || !slices.Contains(kinds, model.KindOf(err)) {
		t.Errorf("%s: error %v of kind %d, want one of %v", doing, err, model.KindOf(err), kinds)
	}
}

func TestFailover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		old := c.leader()
		oldID := old.config.NodeID
		commit(t, old, "a")
		f := c.followers()[0]
		_, err := f.Commit(t.Context(), []byte("x"))
		wantKind(t, "commit at a follower", err, model.KindNotLeader)
		if id, _ := f.Leader(); id != oldID || !strings.Contains(err.Error(), oldID) {
			t.Errorf("follower knows %q, says %q", id, err)
		}
		wantKind(t, "read at a follower", f.ReadIndex(t.Context()), model.KindNotLeader)
		if f.LeaseValid() || f.LastContact() > time.Second {
			t.Errorf("follower: lease %v, last contact %v", f.LeaseValid(), f.LastContact())
		}

		c.net.cut(oldID, true)
		start := time.Now()
		_, err = old.Commit(t.Context(), []byte("lost"))
		wantKind(t, "commit at a leader that was cut off", err, model.KindUncertain)
		_, err = old.Commit(t.Context(), []byte("y"))
		wantKind(t, "commit after the lease", err, model.KindNoLeader)
		wantKind(t, "read after the lease", old.ReadIndex(t.Context()), model.KindNoLeader)
		if old.LeaseValid() {
			t.Error("lease is valid without a majority")
		}
		next := c.leader(oldID)
		t.Logf("new leader %v after the old one was cut off", time.Since(start))
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("new leader after %v", took)
		}
		commit(t, next, "b")
		if err := next.ReadIndex(t.Context()); err != nil {
			t.Error(err)
		}

		c.net.cut(oldID, false)
		eventually(t, "the old leader to follow", func() bool { return len(c.machines[oldID].list()) == 2 })
		for id, m := range c.machines {
			eventually(t, "all to be equal", func() bool { return strings.Join(m.list(), " ") == "a b" })
			if id != next.config.NodeID && c.logs[id].IsLeader() {
				t.Errorf("%s leads, too", id)
			}
		}
	})
}

func TestLostMajority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		l := c.leader()
		for _, f := range c.followers() {
			c.net.cut(f.config.NodeID, true)
		}
		// The read's round must not be answered from before the cut.
		wantKind(t, "read without a majority", l.ReadIndex(t.Context()), model.KindNoLeader)
		_, err := l.Commit(t.Context(), []byte("x"))
		wantKind(t, "commit without a majority", err, model.KindNoLeader)
		for id := range c.logs {
			c.net.cut(id, false)
		}
		commit(t, c.leader(), "a")
	})
}

func TestCommitContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		l := c.leader()
		for _, f := range c.followers() {
			c.net.cut(f.config.NodeID, true)
		}
		// Ten milliseconds are within the lease.
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		var wg sync.WaitGroup
		for range inFlight {
			wg.Go(func() {
				_, err := l.Commit(ctx, make([]byte, maxEntry))
				wantKind(t, "commit that was on its way", err, model.KindUncertain)
			})
			synctest.Wait()
		}
		wg.Go(func() {
			_, err := l.Commit(ctx, []byte("x"))
			wantKind(t, "commit that still waited", err, model.KindUnavailable)
		})
		wg.Wait()
	})
}

func TestCloseHandsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		l := c.leader()
		commit(t, l, "a")
		start := time.Now()
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		next := c.leader(l.config.NodeID)
		if took := time.Since(start); took > 100*time.Millisecond {
			t.Errorf("new leader after %v: leadership was not handed over", took)
		}
		commit(t, next, "b")
		_, err := l.Commit(t.Context(), []byte("c"))
		wantKind(t, "commit after close", err, model.KindNoLeader, model.KindNotLeader, model.KindUnavailable)
		wantKind(t, "read after close", l.ReadIndex(t.Context()), model.KindNoLeader, model.KindNotLeader, model.KindUnavailable)
	})
}

func TestTransferLeadership(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		l := c.leader()
		if err := l.TransferLeadership(); err != nil {
			t.Fatal(err)
		}
		if next := c.leader(); next == l {
			t.Error("leadership stayed")
		}
		wantKind(t, "transfer at a follower", l.TransferLeadership(), model.KindNotLeader, model.KindNoLeader)
	})
}

func TestJoinAndLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{t: t, net: newMemNet(), logs: map[string]*Log{}, machines: map[string]*listMachine{}}
		first := c.open("s0", Config{Stream: c.net.listen("s0"), Bootstrap: true, TrailingEntries: 1})
		c.leader()
		for i := range 20 {
			commit(t, first, fmt.Sprint(i))
		}
		// The new servers get a snapshot.
		if err := first.Snapshot(); err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"s1", "s2"} {
			l := c.open(id, Config{Stream: c.net.listen(id)})
			if l.HasState() {
				t.Errorf("%s has state", id)
			}
			if err := first.raft.AddVoter(raft.ServerID(id), raft.ServerAddress(id), 0, 0).Error(); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the snapshot", func() bool { return c.machines[id].len() == 20 })
			if c.machines[id].restored != 1 || !l.HasState() {
				t.Errorf("%s: %d restores, state %v", id, c.machines[id].restored, l.HasState())
			}
		}
		if n := len(first.Servers()); n != 3 {
			t.Errorf("%d servers", n)
		}
		if err := first.RemoveServer("s2"); err != nil {
			t.Fatal(err)
		}
		if err := first.RemoveServer("s0"); err != nil {
			t.Fatal(err)
		}
		next := c.leader("s0")
		if next.config.NodeID != "s1" {
			t.Errorf("%s leads", next.config.NodeID)
		}
		commit(t, next, "last")
		if got := next.Servers(); len(got) != 1 || got[0] != (Server{ID: "s1", Addr: "s1", Voter: true}) {
			t.Errorf("servers %v", got)
		}
	})
}

// All servers come back under new addresses, which only AddressOf knows.
func TestNewAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{t: t, net: newMemNet(), logs: map[string]*Log{}, machines: map[string]*listMachine{}}
		addressOf := func(id string) (string, error) { return "new-" + id, nil }
		var servers []Server
		for _, id := range []string{"s0", "s1", "s2"} {
			servers = append(servers, Server{ID: id, Addr: "old-" + id, Voter: true})
			c.open(id, Config{Stream: c.net.listen("new-" + id), AddressOf: addressOf})
		}
		for id := range c.logs {
			if err := c.logs[id].Bootstrap(servers); err != nil {
				t.Fatal(err)
			}
		}
		commit(t, c.leader(), "a")
		for _, m := range c.machines {
			eventually(t, "all to have it", func() bool { return m.len() == 1 })
		}
	})
}

// Readers that come together share rounds.
func TestReadIndexShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		l := c.leader()
		var wg sync.WaitGroup
		for range 200 {
			wg.Go(func() {
				if err := l.ReadIndex(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for _, f := range c.followers() {
			c.net.cut(f.config.NodeID, true)
		}
		if err := l.ReadIndex(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("read with a canceled context: %v", err)
		}
	})
}

func TestLeaderChangesKeepsTheLast(t *testing.T) {
	ch := make(chan bool, 1)
	for _, v := range []bool{true, false, true} {
		replace(ch, v)
	}
	if v := <-ch; !v {
		t.Error("the last state was dropped")
	}
	select {
	case v := <-ch:
		t.Errorf("%v came behind it", v)
	default:
	}
}

func TestLeaderChangesEndWithClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := openSingle(t, Config{}, &listMachine{})
		if v := <-l.LeaderChanges(); !v {
			t.Error("not the leader first")
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if v := <-l.LeaderChanges(); v {
			t.Error("leader after close")
		}
		if _, open := <-l.LeaderChanges(); open {
			t.Error("not closed")
		}
	})
}
