package consensus

import (
	"context"
	"errors"

	"github.com/hashicorp/raft"

	"github.com/muster-discovery/muster/internal/consensus/wal"
	"github.com/muster-discovery/muster/internal/model"
)

var errClosed = model.Errorf(model.KindUnavailable, "the server is shutting down")

// commitError gives Raft's answer to an entry its kind. What Raft refused before
// it went into the log is certain; everything after may yet be committed by the
// next leader.
func (l *Log) commitError(err error) error {
	switch {
	case errors.Is(err, raft.ErrNotLeader):
		return l.notLeader()
	case errors.Is(err, raft.ErrLeadershipTransferInProgress):
		return errTransfer
	case aborted(err):
		return errAborted
	case errors.Is(err, wal.ErrFull):
		return model.Errorf(model.KindNoSpace, "the write was not done: the disk of server %s is full; free some space", l.config.NodeID)
	case errors.Is(err, raft.ErrLeadershipLost):
		return model.Errorf(model.KindUncertain, "leadership was lost while the write was being committed; it may or may not take effect")
	}
	return model.Errorf(model.KindUncertain, "commit: %v; the write may or may not take effect", err)
}

var errTransfer = model.Errorf(model.KindNoLeader, "leadership is being handed over")

// leaderError gives Raft's answer to a request that changes no state of ours its
// kind. To repeat such a request is safe.
func (l *Log) leaderError(doing string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, raft.ErrNotLeader), errors.Is(err, raft.ErrLeadershipLost):
		return l.notLeader()
	case errors.Is(err, raft.ErrLeadershipTransferInProgress):
		return errTransfer
	case errors.Is(err, raft.ErrRaftShutdown):
		return errClosed
	}
	return model.Errorf(model.KindUnavailable, "%s: %v", doing, err)
}

func (l *Log) notLeader() error {
	if id, _ := l.Leader(); id != "" && id != l.config.NodeID {
		return model.Errorf(model.KindNotLeader, "this server is not the leader; %s is", id)
	}
	return model.Errorf(model.KindNoLeader, "no cluster leader")
}

// gaveUp is for a caller that left the queue in time.
func gaveUp(ctx context.Context) error {
	return model.Errorf(model.KindUnavailable, "the write was not started in time: %v", context.Cause(ctx))
}

// leftOpen is for a caller that left while its command was on its way.
func leftOpen(ctx context.Context) error {
	return model.Errorf(model.KindUncertain, "the write was not confirmed in time: %v; it may or may not take effect", context.Cause(ctx))
}
