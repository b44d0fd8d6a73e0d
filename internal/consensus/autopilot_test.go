package consensus

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"
	autopilot "github.com/hashicorp/raft-autopilot"

	"github.com/muster-discovery/muster/internal/model"
)

// flight is autopilot on the leader of a cluster, with gossip by hand.
type flight struct {
	*cluster
	pilot *Autopilot

	mu       sync.Mutex
	settings model.Autopilot
	asked    map[string]*Log // the servers that answer for their progress
	peers    map[string]Peer
	silent   map[string]bool // do not answer for their progress
	forgot   []string
}

// fly starts autopilot on the leader of n voters.
func fly(t *testing.T, n int) *flight {
	f := &flight{cluster: newCluster(t, n), settings: model.DefaultAutopilot(), peers: map[string]Peer{}, silent: map[string]bool{}, asked: map[string]*Log{}}
	for id, l := range f.logs {
		f.asked[id] = l
		f.is(id, PeerAlive)
	}
	f.pilot = f.leader().NewAutopilot(AutopilotConfig{
		Settings: func() *model.Autopilot { f.mu.Lock(); defer f.mu.Unlock(); c := f.settings; return &c },
		Peers: func() (list []Peer) {
			f.mu.Lock()
			defer f.mu.Unlock()
			for _, p := range f.peers {
				list = append(list, p)
			}
			return list
		},
		Progress: func(_ context.Context, id string) (Progress, error) {
			f.mu.Lock()
			l, silent := f.asked[id], f.silent[id]
			f.mu.Unlock()
			if silent || l == nil {
				return Progress{}, errClosed
			}
			return l.Progress(), nil
		},
		Forget: func(p Peer) {
			f.mu.Lock()
			f.forgot = append(f.forgot, p.ID)
			f.mu.Unlock()
			f.is(p.ID, PeerLeft)
			_ = f.pilot.Remove(p.ID) // as the leader's duties do when a server has left
		},
	})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); f.pilot.Run(ctx) }()
	t.Cleanup(func() { stop(); <-done })
	return f
}

func (f *flight) is(id string, s PeerStatus) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.peers[id]
	p.ID, p.Name, p.Addr, p.Status = id, id, id, s
	f.peers[id] = p
}

// join starts a further server, which gossip sees at once, and adds it.
func (f *flight) join(id string) {
	f.t.Helper()
	l := f.open(id, Config{Stream: f.net.listen(id)})
	f.mu.Lock()
	f.asked[id] = l
	f.mu.Unlock()
	f.is(id, PeerAlive)
	if err := f.pilot.Add(id, id); err != nil {
		f.t.Fatal(err)
	}
}

func (f *flight) voters() (list []string) {
	for _, s := range f.leader().Servers() {
		if s.Voter {
			list = append(list, s.ID)
		}
	}
	slices.Sort(list)
	return list
}

func TestNewServerVotesWhenStable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fly(t, 3)
		time.Sleep(15 * time.Second) // until autopilot has run for longer than a server needs to be stable
		f.join("s3")
		begin := time.Now()
		if got := f.voters(); len(got) != 3 {
			t.Fatalf("votes at once: %v", got)
		}
		eventually(t, "the vote", func() bool { return len(f.voters()) == 4 })
		if took := time.Since(begin); took < 10*time.Second || took > 13*time.Second {
			t.Errorf("it votes after %v, want 10 to 13 s", took)
		}
		s, err := f.pilot.State()
		if err != nil || !s.Healthy || s.FailureTolerance != 1 || len(s.Servers) != 4 || len(s.Voters) == 0 || s.Voters[0] != s.Leader {
			t.Errorf("state %+v, %v", s, err)
		}
		if _, err := f.followers()[0].NewAutopilot(AutopilotConfig{}).State(); model.KindOf(err) != model.KindNotLeader {
			t.Errorf("state at a follower: %v", err)
		}
	})
}

func TestUnhealthyServerStaysWithoutVote(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fly(t, 1)
		f.mu.Lock()
		f.silent["s1"] = true
		f.mu.Unlock()
		f.join("s1")
		time.Sleep(30 * time.Second)
		if got := f.voters(); len(got) != 1 {
			t.Errorf("voters %v", got)
		}
		if s, err := f.pilot.State(); err != nil || s.Healthy || s.Servers["s1"].LastContact >= 0 {
			t.Errorf("state %+v, %v", s, err)
		}
	})
}

func TestReplicaNeverVotes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fly(t, 1)
		f.mu.Lock()
		f.peers["s1"] = Peer{Replica: true}
		f.mu.Unlock()
		f.join("s1")
		time.Sleep(30 * time.Second)
		s, err := f.pilot.State()
		if err != nil || len(s.Voters) != 1 || !s.Servers["s1"].Healthy || !s.Servers["s1"].Replica || s.Servers["s1"].Role != "non-voter" {
			t.Errorf("state %+v, %v", s, err)
		}
	})
}

// TestDeadServerGoesWhenReplaced: alone it keeps its place, since it may come back.
func TestDeadServerGoesWhenReplaced(t *testing.T) {
	for _, cleanup := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			f := fly(t, 3)
			f.mu.Lock()
			f.settings.CleanupDeadServers = cleanup
			f.mu.Unlock()
			dead := f.followers()[0].config.NodeID
			f.net.cut(dead, true)
			time.Sleep(5300 * time.Millisecond) // between two states
			f.is(dead, PeerFailed)
			f.pilot.pilot.RemoveDeadServers()
			time.Sleep(20 * time.Second)
			if got := f.voters(); !slices.Contains(got, dead) {
				t.Fatalf("removed without a replacement: %v", got)
			}
			f.join("s3")
			time.Sleep(15 * time.Second)
			if got := f.voters(); slices.Contains(got, dead) == cleanup || !slices.Contains(got, "s3") {
				t.Errorf("cleanup %v: voters %v, dead is %s", cleanup, got, dead)
			}
		})
	}
}

// TestSameAddressReplaces: the server that had the address before is gone.
func TestSameAddressReplaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fly(t, 3)
		old := f.followers()[0].config.NodeID
		f.is("new", PeerAlive)
		f.mu.Lock()
		delete(f.peers, old)
		f.mu.Unlock()
		if err := f.pilot.Add("new", old); err != nil {
			t.Fatal(err)
		}
		for _, s := range f.leader().Servers() {
			if s.ID == old {
				t.Error("the predecessor is still there")
			}
			if s.ID == "new" && s.Voter {
				t.Error("the newcomer votes at once")
			}
		}
	})
}

func TestRemovable(t *testing.T) {
	for _, c := range []struct{ alive, dead, want int }{
		{3, 0, 0}, {2, 1, 0}, {3, 1, 1}, {4, 1, 0}, {3, 2, 2}, {5, 1, 1}, {4, 3, 2}, {1, 1, 1}, {6, 1, 0},
	} {
		if got := removable(c.alive, c.dead); got != c.want {
			t.Errorf("%d alive, %d dead: %d may go, want %d", c.alive, c.dead, got, c.want)
		}
	}
}

func TestRemovalsAreFiltered(t *testing.T) {
	now := time.Now()
	server := func(id string, status autopilot.NodeStatus, since time.Duration) *autopilot.ServerState {
		return &autopilot.ServerState{State: autopilot.RaftVoter, Server: autopilot.Server{ID: raft.ServerID(id), NodeStatus: status, NodeType: autopilot.NodeVoter},
			Health: autopilot.ServerHealth{Healthy: status == autopilot.NodeAlive, StableSince: now.Add(-since)}}
	}
	for _, c := range []struct {
		name  string
		age   time.Duration // how long the stale voter has been unknown
		min   uint
		stale int
	}{
		{"just restarted", time.Second, 0, 0},
		{"long gone", time.Minute, 0, 1},
		{"needed for the minimum", time.Minute, 3, 0},
	} {
		s := &autopilot.State{Servers: map[raft.ServerID]*autopilot.ServerState{
			"a": server("a", autopilot.NodeAlive, time.Hour), "b": server("b", autopilot.NodeAlive, time.Hour), "c": server("c", autopilot.NodeLeft, c.age)}}
		got := (&promoter{}).FilterFailedServerRemovals(&autopilot.Config{MinQuorum: c.min}, s, &autopilot.FailedServers{StaleVoters: []raft.ServerID{"c"}})
		if len(got.StaleVoters) != c.stale {
			t.Errorf("%s: %v may go, want %d", c.name, got.StaleVoters, c.stale)
		}
	}
}
