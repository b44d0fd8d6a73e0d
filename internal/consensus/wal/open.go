package wal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// Open opens the log in dir, which it creates if need be. A last write that a
// crash cut off is dropped; it was never acknowledged. Anything else that does
// not fit is damage, and an error: going on would lose acknowledged entries.
func Open(dir string, opts Options) (*Store, error) {
	if opts.SegmentSize <= 0 {
		opts.SegmentSize = 4 << 20
	}
	if opts.fsys == nil {
		opts.fsys = disk{}
	}
	s := &Store{dir: dir, opts: opts, fsys: opts.fsys}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	paths, err := listSegments(dir)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	var content []byte // one buffer for all
	for i, path := range paths {
		content, err = readFile(path, content)
		if err == nil {
			err = s.load(path, content, i == len(paths)-1)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("open log segment %q: %w", path, err), s.Close())
		}
	}
	if err := s.settle(); err != nil {
		return nil, errors.Join(fmt.Errorf("open log %q: %w", dir, err), s.Close())
	}
	return s, nil
}

func readFile(path string, buf []byte) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return buf, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return buf, err
	}
	buf = slices.Grow(buf[:0], int(info.Size()))[:info.Size()]
	_, err = io.ReadFull(f, buf)
	return buf, err
}

// load adds one segment with that content to the store.
func (s *Store) load(path string, content []byte, tail bool) error {
	h, err := decodeHeader(content)
	if errors.Is(err, errBadHeader) && tail && abandoned(content) {
		// The crash came while the file was made; no entry was ever in it.
		return s.fsys.Remove(path)
	}
	if err != nil {
		return err
	}
	if err := s.fits(h.first); err != nil {
		return err
	}
	seg := &segment{header: h, path: path, end: headerSize}
	if err := seg.scan(content, tail); err != nil {
		return err
	}
	if seg.file, err = s.fsys.Open(path); err != nil {
		return err
	}
	s.segments = append(s.segments, seg)
	if len(s.segments) == 1 {
		s.first = h.first
	}
	if tail {
		return s.trim(seg, content)
	}
	return nil
}

// abandoned reports whether content is what is left of making a segment file.
// The header is on disk before the first entry is written, so without one there
// can't be a frame.
func abandoned(content []byte) bool {
	return len(content) <= headerSize || isZero(content[headerSize:])
}

// fits checks that a segment begins where the one before it ends.
func (s *Store) fits(first uint64) error {
	if len(s.segments) == 0 {
		return nil
	}
	if last := s.segments[len(s.segments)-1].last(); first != last+1 {
		return fmt.Errorf("damaged: begins with entry %d, but the segment before it ends with %d", first, last)
	}
	return nil
}

// scan finds the entries. Only the tail may end in a write that was cut off.
func (s *segment) scan(content []byte, tail bool) error {
	batch := s.first // first index of the batch that the next entry continues
	for s.end < int64(len(content)) {
		f, n, err := decodeFrame(content[s.end:], s.salt)
		next := s.first + uint64(len(s.offsets))
		if err != nil || f.log.Index != next {
			break
		}
		if f.batch == 0 {
			batch = next
		}
		if batch+uint64(f.batch) != next {
			break
		}
		s.offsets = append(s.offsets, uint32(s.end))
		// The padding of the last frame may be missing at the end of the file.
		s.end += int64(n)
	}
	if s.end >= int64(len(content)) || isZero(content[s.end:]) {
		return nil
	}
	if !tail {
		return fmt.Errorf("damaged at byte %d", s.end)
	}
	return s.torn(content)
}

// torn tells a write that was cut off from damage. Writes follow each other, and
// each is on disk before the next begins; so if a frame of a later write is there,
// the bad one had been acknowledged.
func (s *segment) torn(content []byte) error {
	next := s.first + uint64(len(s.offsets))
	for at := s.end; at+frameHead <= int64(len(content)); at += frameAlign {
		if binary.LittleEndian.Uint32(content[at:]) != frameMagic {
			continue
		}
		f, _, err := decodeFrame(content[at:], s.salt)
		if err == nil && f.log.Index-uint64(f.batch) > next {
			return fmt.Errorf("damaged at byte %d, entry %d: entry %d of a later write is behind it", s.end, next, f.log.Index)
		}
	}
	return nil
}

// trim cuts off what a torn write left, so that nothing of it can follow a later
// and shorter write.
func (s *Store) trim(seg *segment, content []byte) error {
	size := int64(len(content))
	if size != seg.end && (size < seg.end || !isZero(content[seg.end:])) {
		if err := seg.file.Truncate(seg.end); err != nil {
			return err
		}
	}
	s.reserve(seg)
	return nil
}

// settle makes durable what was read: after a crash of the process alone some of
// it may be in the kernel's memory only, and Raft is about to rely on it.
func (s *Store) settle() error {
	if n := len(s.segments); n > 0 {
		if err := s.segments[n-1].file.Sync(); err != nil {
			return err
		}
	}
	return s.fsys.SyncDir(s.dir)
}
