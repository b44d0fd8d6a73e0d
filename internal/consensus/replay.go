package consensus

import (
	"sync/atomic"

	"github.com/hashicorp/raft"
)

// replay counts what a restart would have to apply again: the entries since the last
// snapshot. Raft itself takes snapshots by their number, which says little where one
// entry may hold thousands of commands.
type replay struct {
	limit    int64 // in bytes
	bytes    atomic.Int64
	entries  atomic.Int64
	restores atomic.Uint64
	due      chan struct{} // holds one signal
}

func newReplay(limit int64) *replay { return &replay{limit: limit, due: make(chan struct{}, 1)} }

// applied is called for each entry, by Raft's one goroutine.
func (r *replay) applied(bytes int) {
	r.entries.Add(1)
	if n := r.bytes.Add(int64(bytes)); n < r.limit || n-int64(bytes) >= r.limit {
		return // not yet, or told already
	}
	select {
	case r.due <- struct{}{}:
	default:
	}
}

// begun is called when the state of a snapshot was fixed. Should that not get to the
// disk, the next one is due after as many bytes again: a disk that is full or broken
// isn't tried all the time.
func (r *replay) begun() {
	r.bytes.Store(0)
	r.entries.Store(0)
}

func (r *replay) restored() {
	r.begun()
	r.restores.Add(1)
}

// snapshotBySize takes snapshots when enough bytes have come in, until Raft has ended.
func (l *Log) snapshotBySize() {
	for {
		select {
		case <-l.replay.due:
			l.shrink()
		case <-l.over:
			return
		}
	}
}

// shrink takes a snapshot and leaves no more behind it in the log than the limit, for
// followers that lag.
func (l *Log) shrink() {
	bytes, entries := l.replay.bytes.Load(), l.replay.entries.Load()
	if bytes < l.replay.limit {
		return // there was one in the meantime
	}
	usual := l.raft.ReloadableConfig()
	few := usual
	few.TrailingLogs = min(usual.TrailingLogs, uint64(entries*l.replay.limit/bytes))
	if err := l.raft.ReloadConfig(few); err != nil {
		l.config.Logger.Warn("cannot shorten the log", "err", err)
	}
	if err := l.raft.Snapshot().Error(); err != nil && err != raft.ErrNothingNewToSnapshot && err != raft.ErrRaftShutdown {
		l.config.Logger.Warn("cannot take a snapshot", "bytes", bytes, "err", err)
	}
	if err := l.raft.ReloadConfig(usual); err != nil {
		l.config.Logger.Warn("cannot set the log's length back", "err", err)
	}
}
