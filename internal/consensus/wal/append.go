package wal

import (
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"github.com/muster-discovery/muster/internal/storage"
)

// keepBuf is the largest write buffer that is kept for the next write.
const keepBuf = 1 << 20

// StoreLogs appends entries, which must follow the last one without a gap, with
// one write and one fsync. After an error none of them is in the log, although
// some may be found there after a restart.
func (s *Store) StoreLogs(logs []*raft.Log) error {
	err := s.append(logs)
	if err != nil && s.opts.Failed != nil {
		s.opts.Failed(err)
	}
	return err
}

func (s *Store) append(logs []*raft.Log) error {
	s.writes.Lock()
	defer s.writes.Unlock()
	if s.broken != nil || len(logs) == 0 {
		return s.broken
	}
	if err := s.checkOrder(logs); err != nil {
		return err
	}
	tail, err := s.tail(logs[0].Index)
	if err != nil {
		return full(err)
	}
	offsets := s.encode(tail, logs)
	if tail.end+int64(len(s.buf)) > maxSegment {
		return fmt.Errorf("store entries %d to %d: %d bytes are too much for one write", logs[0].Index, logs[len(logs)-1].Index, len(s.buf))
	}
	if err := s.observed(tail); err != nil {
		return fmt.Errorf("store entries %d to %d: %w", logs[0].Index, logs[len(logs)-1].Index, err)
	}
	s.mu.Lock()
	if s.lastLocked() == 0 {
		s.first = logs[0].Index
	}
	tail.offsets = append(tail.offsets, offsets...)
	tail.end += int64(len(s.buf))
	s.mu.Unlock()
	if cap(s.buf) > keepBuf {
		s.buf = nil
	}
	return nil
}

func (s *Store) checkOrder(logs []*raft.Log) error {
	last := s.lastLocked() // only writers change it
	for i, l := range logs {
		want := logs[0].Index + uint64(i)
		if i == 0 && last != 0 {
			want = last + 1
		}
		if l.Index != want || l.Index == 0 {
			return fmt.Errorf("store entry %d: the log's next index is %d", l.Index, want)
		}
	}
	return nil
}

// encode fills the write buffer and returns the entries' offsets in the file.
func (s *Store) encode(tail *segment, logs []*raft.Log) []uint32 {
	offsets := make([]uint32, len(logs))
	s.buf = s.buf[:0]
	for i, l := range logs {
		offsets[i] = uint32(tail.end + int64(len(s.buf)))
		s.buf = appendFrame(s.buf, tail.salt, uint32(i), l)
	}
	return offsets
}

// observed is write with its observers.
func (s *Store) observed(tail *segment) error {
	if s.opts.Appending != nil {
		s.opts.Appending(len(s.buf))
	}
	synced, err := s.write(tail)
	if s.opts.Appended != nil {
		s.opts.Appended(synced)
	}
	return err
}

func (s *Store) write(tail *segment) (synced time.Duration, err error) {
	_, err = tail.file.WriteAt(s.buf, tail.end)
	if storage.IsFull(err) && s.makeRoom() {
		_, err = tail.file.WriteAt(s.buf, tail.end)
	}
	if err != nil {
		// For want of space, most likely. Cut off what was written: the next write
		// may be shorter, and must not be followed by the rest of this one.
		if cut := tail.cutAt(tail.end); cut != nil {
			return -1, s.fail(errors.Join(err, cut))
		}
		return -1, full(err)
	}
	start := time.Now()
	if err := tail.file.Sync(); err != nil {
		// The kernel may have dropped the dirty pages, and a second fsync may
		// succeed all the same. Only reading from the disk again tells.
		return -1, s.fail(err)
	}
	return time.Since(start), nil
}

func (s *Store) makeRoom() bool { return s.opts.MakeRoom != nil && s.opts.MakeRoom() }

// full marks errors for want of space of which nothing is left.
func full(err error) error {
	if storage.IsFull(err) {
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return err
}

func (s *segment) cutAt(at int64) error {
	if err := s.file.Truncate(at); err != nil {
		return err
	}
	return s.file.Sync()
}

// tail returns the segment to append to, closing the last one if it is full.
func (s *Store) tail(next uint64) (*segment, error) {
	var old *segment
	if n := len(s.segments); n > 0 {
		old = s.segments[n-1]
		if old.empty() && old.first != next {
			// Emptied, and the log goes on elsewhere.
			if err := s.removeTail(); err != nil {
				return nil, err
			}
			return s.tail(next)
		}
		if old.end < s.opts.SegmentSize {
			return old, nil
		}
		// Gives back what was reserved and not used. Not durable, as nothing
		// depends on it.
		if err := old.file.Truncate(old.end); err != nil {
			return nil, fmt.Errorf("close segment %q: %w", old.path, err)
		}
	}
	seg, err := createSegment(s.fsys, s.dir, next, s.opts.SegmentSize)
	if storage.IsFull(err) && s.makeRoom() {
		seg, err = createSegment(s.fsys, s.dir, next, s.opts.SegmentSize)
	}
	if storage.IsFull(err) {
		// A few more entries may fit where a whole file does not.
		seg, err = createSegment(s.fsys, s.dir, next, 0)
	}
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.segments = append(s.segments, seg)
	s.mu.Unlock()
	return seg, nil
}
