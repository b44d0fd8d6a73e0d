package wal

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// Options are the store's settings; the zero value has the defaults.
type Options struct {
	// SegmentSize is where a segment is closed and the next one begun. Default 4
	// MiB: a snapshot frees most of the log, a start reads no more at once, and the
	// three more fsyncs of a change are rare even at 30 MB/s.
	SegmentSize int64
	// Appending and Appended are told when an append of so many bytes begins, and when it
	// has ended, with the time of its fsync; below 0: it did not come to that. Failed is
	// told of every append that did not succeed. Optional; they must not block.
	Appending func(bytes int)
	Appended  func(synced time.Duration)
	Failed    func(error)
	// MakeRoom is asked once when the disk is full: true means that it is worth another
	// try. Optional.
	MakeRoom func() bool

	fsys fileSystem
}

// Store is the log. Reads may overlap with each other and with a write; writes
// may not overlap, and wait for each other. After an error that leaves it unknown
// what is on disk, every write fails with that error until the store is opened
// again.
type Store struct {
	dir  string
	opts Options
	fsys fileSystem

	writes sync.Mutex
	buf    []byte
	broken error

	// mu guards the segments against readers. It is held for reading over the
	// read of an entry, so that no file is closed or cut under it, and for writing
	// to show the outcome of a write and while a suffix is cut, which is rare.
	mu       sync.RWMutex
	segments []*segment // contiguous; never holds an empty one except as the only or last one
	first    uint64     // may lie within the first segment after a head truncation
	closed   bool

	ahead ahead
}

var (
	_ raft.LogStore          = (*Store)(nil)
	_ raft.MonotonicLogStore = (*Store)(nil)

	errClosed = errors.New("log store is closed")
)

// ErrFull is in the chain of errors of appends that failed for want of space, and of
// which nothing is left on disk. The store can be used again once there is space.
var ErrFull = errors.New("the disk is full")

// IsMonotonic tells Raft to remove the whole log when a snapshot from a peer
// leaves a gap, since indexes here are contiguous.
func (s *Store) IsMonotonic() bool { return true }

// FirstIndex is the index of the oldest entry, 0 if there is none. After a head
// truncation it may be lower again when the store is opened the next time: the
// head is removed by whole segments.
func (s *Store) FirstIndex() (uint64, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return 0, errClosed
	}
	if s.lastLocked() == 0 {
		return 0, nil
	}
	return s.first, nil
}

// LastIndex is the index of the newest entry, 0 if there is none.
func (s *Store) LastIndex() (uint64, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return 0, errClosed
	}
	return s.lastLocked(), nil
}

// lastLocked skips an empty tail.
func (s *Store) lastLocked() uint64 {
	for i := len(s.segments) - 1; i >= 0; i-- {
		if !s.segments[i].empty() {
			return s.segments[i].last()
		}
	}
	return 0
}

// StoreLog appends one entry.
func (s *Store) StoreLog(log *raft.Log) error { return s.StoreLogs([]*raft.Log{log}) }

// Close closes the files. What was stored is on disk already.
func (s *Store) Close() error {
	s.writes.Lock()
	defer s.writes.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed, s.broken = true, errClosed
	var err error
	for _, seg := range s.segments {
		err = errors.Join(err, seg.file.Close())
	}
	return err
}

// fail marks the store as broken. The caller holds writes.
func (s *Store) fail(err error) error {
	if s.broken == nil {
		s.broken = fmt.Errorf("the log is not written to any more until a restart, after: %w", err)
	}
	return s.broken
}
