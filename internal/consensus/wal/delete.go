package wal

import (
	"errors"
	"fmt"
)

// DeleteRange removes the entries from min to max, which must reach to the
// beginning or the end of the log. A suffix is gone for good when it returns. A
// head is gone for this process; on disk it goes by whole segments.
func (s *Store) DeleteRange(min, max uint64) error {
	s.writes.Lock()
	defer s.writes.Unlock()
	if s.broken != nil {
		return s.broken
	}
	first, last := s.first, s.lastLocked() // only writers change them
	switch {
	case last == 0 || min > max || max < first || min > last:
		return nil
	case min <= first:
		return s.deleteHead(max)
	case max >= last:
		return s.deleteTail(min)
	}
	return fmt.Errorf("delete entries %d to %d: they are in the middle of the log, which has %d to %d", min, max, first, last)
}

// deleteHead removes the entries up to max. Segments go in ascending order, so
// that a crash leaves a log without a hole.
func (s *Store) deleteHead(max uint64) error {
	removed := false
	for len(s.segments) > 0 && (s.segments[0].empty() || s.segments[0].last() <= max) {
		if err := s.remove(0); err != nil {
			return err
		}
		removed = true
	}
	s.mu.Lock()
	s.first = max + 1
	if len(s.segments) == 0 {
		s.first = 0
	}
	s.mu.Unlock()
	if !removed {
		return nil
	}
	return s.syncDir()
}

// deleteTail removes the entries from min on. Segments go in descending order,
// and the last one that stays is cut only then: a crash in between leaves a
// shorter log without a hole, and Raft cuts it again.
func (s *Store) deleteTail(min uint64) error {
	removed := false
	for n := len(s.segments); n > 0 && s.segments[n-1].first >= min; n-- {
		if err := s.remove(n - 1); err != nil {
			return err
		}
		removed = true
	}
	if removed {
		if err := s.syncDir(); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ahead.forget()
	if n := len(s.segments); n > 0 && s.segments[n-1].last() >= min {
		if err := s.segments[n-1].cut(min); err != nil {
			return s.fail(err)
		}
		s.reserve(s.segments[n-1])
	}
	return nil
}

// reserve makes room again behind a tail that was cut. It is for speed only: a
// full disk shows when something is written.
func (s *Store) reserve(tail *segment) {
	if tail.end < s.opts.SegmentSize {
		_ = s.fsys.Reserve(tail.file, s.opts.SegmentSize)
	}
}

// removeTail removes the last segment, which is empty.
func (s *Store) removeTail() error {
	if err := s.remove(len(s.segments) - 1); err != nil {
		return err
	}
	return s.syncDir()
}

func (s *Store) remove(i int) error {
	seg := s.segments[i]
	if err := s.fsys.Remove(seg.path); err != nil {
		return fmt.Errorf("remove segment %q: %w", seg.path, err)
	}
	s.mu.Lock()
	s.segments = append(s.segments[:i:i], s.segments[i+1:]...)
	s.ahead.forget()
	s.mu.Unlock()
	if err := seg.file.Close(); err != nil {
		return s.fail(fmt.Errorf("close segment %q: %w", seg.path, err))
	}
	return nil
}

func (s *Store) syncDir() error {
	if err := s.fsys.SyncDir(s.dir); err != nil {
		return s.fail(errors.Join(errors.New("remove segments"), err))
	}
	return nil
}
