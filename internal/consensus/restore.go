package consensus

import (
	"context"
	"errors"
	"io"

	"github.com/hashicorp/raft"

	"github.com/muster-discovery/muster/internal/model"
)

// Restore replaces the machine's state on all servers by a snapshot that an operator
// gives. Only the leader can.
//
// New commands wait in their queue until it is over, for as long as their callers do;
// what was on its way is committed first. Then prepare is called, which sees the state
// as it is going to be replaced and returns the snapshot with its size: it must be one
// that every machine can restore, since one that can't stops its server.
//
// Restore returns once a majority has the snapshot. On KindUncertain this server has
// restored it, but could not get a majority: whether the cluster does depends on who
// leads next.
func (l *Log) Restore(ctx context.Context, prepare func() (io.Reader, int64, error)) error {
	if !l.IsLeader() {
		return l.notLeader()
	}
	resume, err := l.batcher.pause(ctx)
	if err != nil {
		return err
	}
	defer resume()
	if err := l.raft.Barrier(0).Error(); err != nil {
		return l.leaderError("restore snapshot", err)
	}
	snapshot, size, err := prepare()
	if err != nil {
		return err
	}
	before := l.replay.restores.Load()
	err = l.raft.Restore(&raft.SnapshotMeta{Version: raft.SnapshotVersionMax, Size: size}, snapshot, 0)
	if err == nil || l.replay.restores.Load() == before {
		return l.leaderError("restore snapshot", err)
	}
	return model.Errorf(model.KindUncertain, "the snapshot was restored on this server, but not confirmed by a majority (%v); "+
		"look at what the servers hold, and restore again", err)
}

// pause keeps the workers from gathering until the returned function is called. What
// they have sent before stays on its way.
func (b *batcher) pause(ctx context.Context) (resume func(), err error) {
	over := make(chan struct{})
	select {
	case b.pauses <- over:
		return func() { close(over) }, nil
	case <-b.stop:
		return nil, errClosed
	case <-ctx.Done():
		return nil, model.Errorf(model.KindUnavailable, "another restore is under way: %v", context.Cause(ctx))
	}
}

// errAborted is for commands that a restore has swept away. The batcher lets none of
// them be on their way then, so it is seen only by who proposes past it.
var errAborted = model.Errorf(model.KindUncertain, "a snapshot was restored while the write was being committed; it may or may not take effect")

func aborted(err error) bool { return errors.Is(err, raft.ErrAbortedByRestore) }

// Term is Raft's present term.
func (l *Log) Term() uint64 { return l.raft.CurrentTerm() }
