package consensus

import (
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// Standing is this server's place among the voters, as failover weighs it. The
// parts are read one after the other: an election may begin in between.
type Standing struct {
	Leader    string // id; empty: none is known
	Follower  bool
	Candidate bool
	Term      uint64 // the current one
	// LastTerm and LastIndex are those of the newest entry in the log.
	LastTerm, LastIndex uint64
}

// Standing reads the place now.
func (l *Log) Standing() Standing {
	leader, _ := l.Leader()
	state := l.raft.State()
	s := Standing{Leader: leader, Follower: state == raft.Follower, Candidate: state == raft.Candidate, Term: l.raft.CurrentTerm()}
	stats := l.raft.Stats()
	number := func(name string) uint64 {
		n, _ := strconv.ParseUint(stats[name], 10, 64) // texts for people, but numbers by construction
		return n
	}
	s.LastIndex, s.LastTerm = number("last_log_index"), number("last_log_term")
	if i := number("last_snapshot_index"); i > s.LastIndex {
		s.LastIndex, s.LastTerm = i, number("last_snapshot_term")
	}
	return s
}

// Stand makes this server a candidate now, whatever it is: the caller has made sure
// that it follows and that its leader is gone. The others vote although they still
// know that leader, and without a vote on the intention before, so two servers that
// stand together cost a whole election timeout. What is committed is as safe as in
// any election.
func (l *Log) Stand() error {
	id, addr := raft.ServerID(l.config.NodeID), l.transport.LocalAddr()
	request := raft.TimeoutNowRequest{RPCHeader: raft.RPCHeader{
		ProtocolVersion: raft.ProtocolVersionMax,
		ID:              []byte(id),
		Addr:            l.transport.EncodePeer(id, addr),
	}}
	err := l.transport.TimeoutNow(id, addr, &request, new(raft.TimeoutNowResponse))
	return l.leaderError("stand for election", err)
}

// LeaderChanged returns a channel that is closed when the known leader is another
// one, or none, than at the call.
func (l *Log) LeaderChanged() <-chan struct{} { return l.leaders.next() }

// observeLeader has the signal follow Raft's word on who leads, until Raft has
// ended. An observation may be dropped while another waits: they say the same.
func (l *Log) observeLeader() {
	heard := make(chan raft.Observation, 1)
	observer := raft.NewObserver(heard, false, func(o *raft.Observation) bool {
		_, ok := o.Data.(raft.LeaderObservation)
		return ok
	})
	l.raft.RegisterObserver(observer)
	l.noteLeader(time.Now())
	l.followed.Go(func() {
		defer l.raft.DeregisterObserver(observer)
		for {
			select {
			case <-heard:
				l.noteLeader(time.Now())
				l.leaders.fire()
			case <-l.over:
				return
			}
		}
	})
}

// noteLeader keeps since when no leader has been known.
func (l *Log) noteLeader(now time.Time) {
	if id, _ := l.Leader(); id != "" {
		l.leaderless.Store(0)
		return
	}
	l.leaderless.CompareAndSwap(0, now.UnixNano())
}

// Leaderless is for how long no leader has been known, 0 if one is.
func (l *Log) Leaderless() time.Duration {
	since := l.leaderless.Load()
	if id, _ := l.Leader(); id != "" || since == 0 {
		return 0
	}
	return time.Since(time.Unix(0, since))
}

// signal wakes everyone who waits for the next event, at once.
type signal struct {
	mu sync.Mutex
	ch chan struct{} // nil: nobody waits
}

func (s *signal) next() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch == nil {
		s.ch = make(chan struct{})
	}
	return s.ch
}

func (s *signal) fire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch != nil {
		close(s.ch)
		s.ch = nil
	}
}
