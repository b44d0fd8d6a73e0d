package wal

import (
	"fmt"
	"sort"
	"sync"

	"github.com/hashicorp/raft"
)

// aheadSize is how much is read at once from a log that is read in order. A start
// reads everything behind the snapshot twice, and a call to the system for each
// entry was two thirds of its time.
const aheadSize = 64 << 10

// ahead is the part of a segment that was read last.
type ahead struct {
	mu   sync.Mutex
	seg  *segment
	at   int64
	b    []byte
	next uint64 // the entry that a reader in order asks for next
}

// GetLog reads the entry at index, or returns raft.ErrLogNotFound. The entry's
// bytes must not be changed.
func (s *Store) GetLog(index uint64, log *raft.Log) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return errClosed
	}
	if index < s.first || index > s.lastLocked() {
		return raft.ErrLogNotFound
	}
	i := sort.Search(len(s.segments), func(i int) bool { return s.segments[i].first > index }) - 1
	if i < 0 || s.segments[i].empty() {
		return raft.ErrLogNotFound
	}
	seg := s.segments[i]
	b, err := s.ahead.read(seg, index)
	if err != nil {
		return fmt.Errorf("read entry %d in segment %q: %w", index, seg.path, err)
	}
	f, _, err := decodeFrame(b, seg.salt)
	if err != nil {
		return fmt.Errorf("read entry %d in segment %q: %w", index, seg.path, err)
	}
	*log = f.log
	return nil
}

// read returns an entry's frame.
func (a *ahead) read(seg *segment, index uint64) ([]byte, error) {
	at, end := seg.bounds(index)
	a.mu.Lock()
	inOrder := a.next == index
	a.next = index + 1
	if a.seg == seg && at >= a.at && end <= a.at+int64(len(a.b)) {
		b := a.b[at-a.at : end-a.at]
		a.mu.Unlock()
		return b, nil
	}
	a.mu.Unlock()
	size := end - at
	if inOrder {
		size = max(size, min(aheadSize, seg.end-at))
	}
	b := make([]byte, size)
	if _, err := seg.file.ReadAt(b, at); err != nil {
		return nil, err
	}
	if inOrder {
		a.mu.Lock()
		a.seg, a.at, a.b = seg, at, b
		a.mu.Unlock()
	}
	return b[:end-at], nil
}

// forget drops what was read, which a cut would make wrong. No reader is under way.
func (a *ahead) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seg, a.b = nil, nil
}
