package consensus

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/raft"
)

// reads answers read indexes: all readers who wait share one round of
// verification. There is no bound on them but that of their own goroutines.
type reads struct {
	log *Log
	// term is the last term in which the machine was seen to hold everything that
	// was committed before it.
	term atomic.Uint64
	wake chan struct{}
	done chan struct{}

	mu      sync.Mutex
	waiting []chan error
}

func newReads(l *Log) *reads {
	return &reads{log: l, wake: make(chan struct{}, 1), done: make(chan struct{})}
}

// ReadIndex returns once the machine on this server holds every command that was
// acknowledged anywhere before the call, with leadership confirmed by a majority
// since. Only the leader can say so.
func (l *Log) ReadIndex(ctx context.Context) error {
	if !l.IsLeader() {
		return l.notLeader()
	}
	answer := make(chan error, 1)
	l.reads.mu.Lock()
	l.reads.waiting = append(l.reads.waiting, answer)
	l.reads.mu.Unlock()
	l.reads.kick()
	select {
	case err := <-answer:
		return err
	case <-l.reads.done:
		return errClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// LeaseValid reports whether this server may answer reads as the leader without
// asking others: it leads, has heard from a majority within the lease, and has
// applied what was committed before its term. A leader without a majority steps
// down when the lease ends.
func (l *Log) LeaseValid() bool {
	return l.IsLeader() && l.reads.term.Load() == l.raft.CurrentTerm()
}

// kick has a round begin after the current one.
func (r *reads) kick() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// run answers rounds until stop is closed. Raft must outlive it: it leaves a
// verification unanswered that it is asked for during its own end.
func (r *reads) run(stop <-chan struct{}) {
	defer close(r.done)
	for {
		select {
		case <-stop:
			return
		case <-r.wake:
		}
		r.mu.Lock()
		waiting := r.waiting
		r.waiting = nil
		r.mu.Unlock()
		err := r.log.leaderError("read index", r.round(len(waiting) > 0))
		for _, answer := range waiting {
			answer <- err
		}
	}
}

// round makes the barrier of the term if there was none yet and verifies
// leadership in the same term.
func (r *reads) round(verify bool) error {
	for {
		term := r.log.raft.CurrentTerm()
		if r.term.Load() != term {
			if !r.log.IsLeader() {
				return raft.ErrNotLeader
			}
			// Entries of earlier terms that reached a majority are committed by the
			// first entry of this one, and the barrier waits until they are applied.
			if err := r.log.raft.Barrier(0).Error(); err != nil {
				return err
			}
			if r.log.raft.CurrentTerm() != term {
				continue
			}
			r.term.Store(term)
		}
		if !verify {
			return nil
		}
		if err := r.log.raft.VerifyLeader().Error(); err != nil {
			return err
		}
		if r.log.raft.CurrentTerm() == term {
			return nil
		}
	}
}
