package consensus

import (
	"math"
	"time"

	"github.com/hashicorp/raft"

	"github.com/muster-discovery/muster/internal/model"
)

// Leader is the leader as far as this server knows, empty if it knows none. The
// address is the one that Raft recorded; peers are reached by id.
func (l *Log) Leader() (id, addr string) {
	a, i := l.raft.LeaderWithID()
	return string(i), string(a)
}

// IsLeader reports whether this server leads. Another one may have been elected
// already; see ReadIndex.
func (l *Log) IsLeader() bool { return l.raft.State() == raft.Leader }

// LeaderChanges tells when this server gains and loses leadership. It is for one
// receiver. A receiver that is slow gets the last state only, so true may come
// twice: leadership was lost and gained again in between. Closed by Close.
func (l *Log) LeaderChanges() <-chan bool { return l.changes }

// LastContact is the time since this server last heard from the leader, 0 on the
// leader itself, the largest duration if it never has.
func (l *Log) LastContact() time.Duration {
	if l.IsLeader() {
		return 0
	}
	last := l.raft.LastContact()
	if last.IsZero() {
		return math.MaxInt64
	}
	return time.Since(last)
}

// followLeadership passes on Raft's notices. Raft blocks on them, so it goes on
// until Raft has ended.
func (l *Log) followLeadership(notices <-chan bool) {
	defer close(l.changes)
	for {
		select {
		case leader := <-notices:
			l.metrics.leader.Set(boolGauge(leader))
			if leader {
				// Has the barrier of this term made before the first reader asks.
				l.reads.kick()
			}
			replace(l.changes, leader)
		case <-l.over:
			replace(l.changes, false)
			return
		}
	}
}

// replace puts v in the place of what the receiver has not taken yet. There is
// one sender, so the second send finds room.
func replace(ch chan bool, v bool) {
	select {
	case <-ch:
	default:
	}
	ch <- v
}

func boolGauge(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// hurry makes a server that is the only voter stand for election now. Nobody
// else can lead, so to wait out the heartbeat timeout would only delay the start.
// Lowering that timeout makes a follower look at once; the election is an ordinary
// one, with pre-vote, and safe whatever the configuration turns out to be.
func (l *Log) hurry() error {
	if !l.onlyVoter() {
		return nil
	}
	normal := l.raft.ReloadableConfig()
	slower := normal
	slower.HeartbeatTimeout += time.Millisecond
	slower.ElectionTimeout += time.Millisecond
	if err := l.raft.ReloadConfig(slower); err != nil {
		return err
	}
	return l.raft.ReloadConfig(normal)
}

func (l *Log) onlyVoter() bool {
	voters, self := 0, false
	for _, s := range l.Servers() {
		if s.Voter {
			voters++
			self = self || s.ID == l.config.NodeID
		}
	}
	return voters == 1 && self
}

// TransferLeadership hands leadership to the follower that is furthest ahead.
func (l *Log) TransferLeadership() error {
	return l.leaderError("hand over leadership", l.raft.LeadershipTransfer().Error())
}

// TransferLeadershipTo hands leadership to another voter.
func (l *Log) TransferLeadershipTo(id string) error {
	if !l.IsLeader() {
		return l.notLeader()
	}
	for _, s := range l.Servers() {
		switch {
		case s.ID != id:
		case id == l.config.NodeID:
			return model.Errorf(model.KindInvalid, "server %q is the leader already", id)
		case !s.Voter:
			return model.Errorf(model.KindInvalid, "server %q has no vote: it can't lead", id)
		default:
			err := l.raft.LeadershipTransferToServer(raft.ServerID(id), raft.ServerAddress(s.Addr)).Error()
			return l.leaderError("hand over leadership to "+id, err)
		}
	}
	return model.Errorf(model.KindInvalid, "id %q was not found in the Raft configuration", id)
}
