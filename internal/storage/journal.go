package storage

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// compactAt is the size below which a journal is not worth rewriting.
const compactAt = 1 << 20

// maxRecord is the largest key and value together.
const maxRecord = 64 << 20

var errClosed = errors.New("journal is closed")

// Journal is a keyed store in one append-only file. A Put or Delete returns once
// it is on disk; callers that wait at the same time share one write and one
// fsync. After a crash the journal holds everything that was acknowledged, in
// order, and perhaps some of what was not. All methods may be called at the same
// time.
//
// Queue: a batch holds at most one record for each waiting caller; there is no
// other queue.
type Journal struct {
	path string
	// turn is held by the caller who does the disk's work; it guards the fields
	// of the file.
	turn      chan struct{}
	file      journalFile
	salt      uint32
	size      int64 // end of the last good batch
	reserved  int64 // end of the space that was made for more
	live      int64 // bytes of records that count
	values    map[string]location
	compactAt int64
	broken    error // set when the file's content is not known any more
	create    func(path string) (journalFile, error)
	makeRoom  func() bool // gives up a reserve; nil: there is none

	mu      sync.Mutex
	pending *batch
	closed  bool
}

// journalFile is what a journal needs of a file; tests inject errors here.
type journalFile interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Truncate(size int64) error
	// Sync is DataSync, Reserve as it is for files.
	Sync() error
	Reserve(size int64) error
}

type diskFile struct{ *os.File }

func (f diskFile) Sync() error              { return DataSync(f.File) }
func (f diskFile) Reserve(size int64) error { return Reserve(f.File, size) }

// location is where a live value stands in the file.
type location struct {
	at   int64
	size int
}

// batch is what waits for the next write.
type batch struct {
	buf     []byte
	records []record // without their values
	sizes   []int
	done    chan struct{}
	err     error // read after done is closed
}

// Journal opens the journal of that name in the directory.
func (d *Dir) Journal(name string) (*Journal, error) {
	j, err := OpenJournal(d.Path(name))
	if err == nil {
		j.makeRoom = d.makeRoom
	}
	return j, err
}

// Load returns the live records. The caller owns the map and the values.
func (j *Journal) Load() (map[string][]byte, error) {
	j.turn <- struct{}{}
	defer func() { <-j.turn }()
	if j.broken != nil {
		return nil, j.broken
	}
	out := make(map[string][]byte, len(j.values))
	err := j.eachLocked(func(key string, value []byte) error {
		out[key] = bytes.Clone(value)
		return nil
	})
	return out, err
}

// readSize is how much is read at once when all values are.
const readSize = 1 << 20

// eachLocked calls f with every live record, in the order of the file. The value is
// f's only until it returns. The caller has the turn.
func (j *Journal) eachLocked(f func(key string, value []byte) error) error {
	keys := slices.SortedFunc(maps.Keys(j.values), func(a, b string) int {
		return cmp.Compare(j.values[a].at, j.values[b].at)
	})
	var buf []byte
	var start int64
	for _, key := range keys {
		l := j.values[key]
		end := l.at + int64(l.size)
		if end > start+int64(len(buf)) {
			start = l.at
			n := min(max(readSize, int64(l.size)), j.size-start)
			buf = slices.Grow(buf[:0], int(n))[:n]
			if _, err := j.file.ReadAt(buf, start); err != nil {
				return fmt.Errorf("read journal %q: %w", j.path, err)
			}
		}
		if err := f(key, buf[l.at-start:end-start]); err != nil {
			return err
		}
	}
	return nil
}

// Put stores a value and returns once it is on disk. If ctx ends first the value
// may or may not be stored.
func (j *Journal) Put(ctx context.Context, key string, value []byte) error {
	if len(key)+len(value) > maxRecord {
		return fmt.Errorf("write journal %q: record of %d bytes is over the limit of %d", j.path, len(key)+len(value), maxRecord)
	}
	return j.write(ctx, opPut, key, value)
}

// Delete removes a value, if there is one, and returns once that is on disk.
func (j *Journal) Delete(ctx context.Context, key string) error {
	return j.write(ctx, opDelete, key, nil)
}

func (j *Journal) write(ctx context.Context, op byte, key string, value []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	b, err := j.enqueue(op, key, value)
	if err != nil {
		return err
	}
	select {
	case j.turn <- struct{}{}:
		j.flushUntil(b)
		<-j.turn
		return b.err
	case <-b.done:
		return b.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// enqueue adds the record to the batch that is written next.
func (j *Journal) enqueue(op byte, key string, value []byte) (*batch, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return nil, errClosed
	}
	if j.pending == nil {
		j.pending = &batch{buf: beginBatch(), done: make(chan struct{})}
	}
	b := j.pending
	at := int64(len(b.buf)) + recordHead + int64(len(key))
	b.buf = appendRecord(b.buf, op, key, value)
	b.records = append(b.records, record{op: op, key: key, at: at})
	b.sizes = append(b.sizes, len(value))
	return b, nil
}

// flushUntil writes what is pending unless b was written already. The caller has
// the turn. As batches are written in order, a b that is not done is the pending
// one.
func (j *Journal) flushUntil(b *batch) {
	select {
	case <-b.done:
		return
	default:
	}
	j.mu.Lock()
	j.pending = nil
	j.mu.Unlock()
	b.err = j.commit(b)
	close(b.done)
}

// Close waits for the writes under way and closes the file.
func (j *Journal) Close() error {
	j.mu.Lock()
	if j.closed {
		j.mu.Unlock()
		return nil
	}
	j.closed = true
	last := j.pending
	j.mu.Unlock()

	j.turn <- struct{}{}
	defer func() { <-j.turn }()
	if last != nil {
		j.flushUntil(last)
	}
	j.broken = errClosed
	return j.file.Close()
}

func createFile(path string) (journalFile, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	return diskFile{f}, nil
}

func syncParent(path string) error { return SyncDir(filepath.Dir(path)) }
