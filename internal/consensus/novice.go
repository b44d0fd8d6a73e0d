package consensus

import (
	"errors"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/muster-discovery/muster/internal/telemetry"
)

// keyNovice is set in the stable store of a server that began with an empty one, until
// it has caught up.
const keyNovice = "MusterNovice"

// noviceTimeout keeps a novice from standing for election. It is longer than anything
// that a server waits for.
const noviceTimeout = time.Hour

var errNovice = errors.New("this server's disk was empty when it started: it does not vote until it has caught up with a leader; " +
	"if none can be elected without it, start the servers that are missing, or recover the cluster with peers.json")

// novice stands between Raft and the network of a server that began with an empty disk.
// Such a server may have been a voter that lost its log. It would then elect a leader
// that lacks what it helped to commit before, so it neither votes nor stands for
// election until it holds all that the first leader it hears of had. New servers are
// novices, too; they don't notice, since they have no vote before.
type novice struct {
	raft.Transport
	raft.WithPreVote
	log    *slog.Logger
	began  time.Time
	warned telemetry.Rarely

	rpcs chan raft.RPC
	stop chan struct{}
	done sync.WaitGroup
	once sync.Once

	over     atomic.Bool // it votes like any other
	lastLog  func() uint64
	caughtUp func()
	terms    map[uint64]bool // whose leaders have said how far they are
	target   uint64          // the last entry that they had
}

// markNovice tells whether this server is a novice, and remembers it across restarts.
func (s *stores) markNovice() (bool, error) {
	marked, err := s.stable.GetUint64([]byte(keyNovice))
	if err != nil || marked != 0 {
		return marked != 0, err
	}
	hasState, err := raft.HasExistingState(s.log, s.stable, s.snapshots)
	if err != nil || hasState {
		return false, err
	}
	return true, s.stable.SetUint64([]byte(keyNovice), 1)
}

// unmarkNovice is for servers that begin a cluster, or that need not catch up any more.
func (s *stores) unmarkNovice() error { return s.stable.SetUint64([]byte(keyNovice), 0) }

// guardNovice puts a novice's transport and timeouts in the place of the usual ones.
func (l *Log) guardNovice(rc *raft.Config) error {
	inner, ok := l.transport.(raft.WithPreVote)
	isNovice, err := l.stores.markNovice()
	if err != nil || !isNovice || !ok {
		return err
	}
	heartbeat, election := rc.HeartbeatTimeout, rc.ElectionTimeout
	rc.HeartbeatTimeout, rc.ElectionTimeout = noviceTimeout, noviceTimeout
	n := &novice{
		Transport: l.transport, WithPreVote: inner, log: l.config.Logger, began: time.Now(),
		rpcs: make(chan raft.RPC), stop: make(chan struct{}), terms: map[uint64]bool{},
		lastLog:  func() uint64 { return l.raft.LastIndex() },
		caughtUp: func() { l.endNovice(heartbeat, election) },
	}
	l.novice, l.transport = n, n
	return nil
}

// endNovice makes a novice an ordinary server.
func (l *Log) endNovice(heartbeat, election time.Duration) {
	if !l.novice.over.CompareAndSwap(false, true) {
		return
	}
	if err := l.stores.unmarkNovice(); err != nil {
		l.config.Logger.Error("cannot note that this server has caught up; after a restart it has to do so once more", "err", err)
	}
	c := l.raft.ReloadableConfig()
	c.HeartbeatTimeout, c.ElectionTimeout = heartbeat, election
	if err := l.raft.ReloadConfig(c); err != nil {
		l.config.Logger.Error("cannot set the timeouts of elections", "err", err)
	}
}

// Consumer implements raft.Transport.
func (n *novice) Consumer() <-chan raft.RPC { return n.rpcs }

// start begins to pass on what comes in; Raft must run by then.
func (n *novice) start() { n.done.Go(n.run) }

func (n *novice) run() {
	in := n.Transport.Consumer()
	for {
		select {
		case rpc := <-in:
			if !n.over.Load() && !n.admit(rpc) {
				continue
			}
			select {
			case n.rpcs <- rpc:
			case <-n.stop:
				return
			}
		case <-n.stop:
			return
		}
	}
}

// admit answers what a novice must not do, and learns from the rest how far it is.
func (n *novice) admit(rpc raft.RPC) bool {
	switch r := rpc.Command.(type) {
	case *raft.RequestVoteRequest:
		n.refused()
		rpc.Respond(&raft.RequestVoteResponse{RPCHeader: r.RPCHeader, Term: r.Term}, nil)
		return false
	case *raft.RequestPreVoteRequest:
		n.refused()
		rpc.Respond(&raft.RequestPreVoteResponse{RPCHeader: r.RPCHeader, Term: r.Term}, nil)
		return false
	case *raft.TimeoutNowRequest:
		rpc.Respond(nil, errNovice)
		return false
	case *raft.AppendEntriesRequest:
		n.heard(r.Term, max(r.PrevLogEntry, r.LeaderCommitIndex))
	case *raft.InstallSnapshotRequest:
		n.heard(r.Term, r.LastLogIndex)
	}
	return true
}

// refused tells of a vote that was not given, unless it is of a cluster that is just
// beginning: there nobody needs to know.
func (n *novice) refused() {
	now := time.Now()
	if now.Sub(n.began) < patience {
		return
	}
	if ok, count := n.warned.Now(now); ok {
		n.log.Warn("a vote was refused", "err", errNovice, "count", count)
	}
}

// patience is how long a cluster may take to begin.
const patience = 10 * time.Second

// heard notes where a leader begins with this server: not before the last entry that it
// knows this server to have had, and in a new term not before its own last. From there
// on it counts this server's word for what it really has.
func (n *novice) heard(term, index uint64) {
	if index == 0 {
		return // a heartbeat says nothing
	}
	if !n.terms[term] {
		n.terms[term] = true
		n.target = max(n.target, index)
	}
	if n.lastLog() >= n.target {
		n.log.Info("this server has caught up, and may vote", "index", n.target)
		n.caughtUp()
	}
}

// Close ends the passing on and the transport below. Raft has ended by then.
func (n *novice) Close() error {
	n.once.Do(func() { close(n.stop) })
	n.done.Wait()
	if c, ok := n.Transport.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
