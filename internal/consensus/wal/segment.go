package wal

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sort"
)

// segment is one file: entries first, first+1, ... in a row. The last segment of
// a store is the one that is written to.
type segment struct {
	header
	path string
	file file
	// offsets[i] is where entry first+i begins. Four bytes an entry: a segment
	// stays below 4 GiB, see maxSegment.
	offsets []uint32
	end     int64 // end of the last entry
}

const maxSegment = 1 << 31

func segmentName(first uint64) string { return fmt.Sprintf("%020d.wal", first) }

func (s *segment) last() uint64 { return s.first + uint64(len(s.offsets)) - 1 }

func (s *segment) empty() bool { return len(s.offsets) == 0 }

// createSegment makes an empty segment, durable with its name.
func createSegment(fsys fileSystem, dir string, first uint64, size int64) (*segment, error) {
	s := &segment{
		header: header{salt: rand.Uint32(), first: first},
		path:   filepath.Join(dir, segmentName(first)),
		end:    headerSize,
	}
	f, err := fsys.Create(s.path)
	if err != nil {
		return nil, fmt.Errorf("create segment: %w", err)
	}
	s.file = f
	_, err = f.WriteAt(s.encode(), 0)
	if err == nil && size > 0 {
		err = fsys.Reserve(f, size)
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = fsys.SyncDir(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("create segment %q: %w", s.path, errors.Join(err, f.Close(), fsys.Remove(s.path)))
	}
	return s, nil
}

// bounds is where the entry at index stands; it must be in the segment.
func (s *segment) bounds(index uint64) (at, end int64) {
	i := int(index - s.first)
	if i+1 < len(s.offsets) {
		return int64(s.offsets[i]), int64(s.offsets[i+1])
	}
	return int64(s.offsets[i]), s.end
}

// cut drops the entries from index on, durably. The file shrinks, so that
// nothing of what is cut can ever be read again.
func (s *segment) cut(index uint64) error {
	at := int64(s.offsets[index-s.first])
	if err := s.file.Truncate(at); err != nil {
		return fmt.Errorf("cut segment %q: %w", s.path, err)
	}
	if err := s.file.Sync(); err != nil {
		return fmt.Errorf("cut segment %q: %w", s.path, err)
	}
	s.offsets, s.end = s.offsets[:index-s.first], at
	return nil
}

// listSegments returns the paths of the segments in dir in the order of their
// indexes.
func listSegments(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, e := range entries {
		if filepath.Ext(e.Name()) == ".wal" {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	sort.Strings(paths)
	return paths, nil
}
