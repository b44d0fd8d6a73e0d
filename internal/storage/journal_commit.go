package storage

import (
	"errors"
	"fmt"
	"os"
)

// commit writes a batch and its fsync, then moves the index. The caller has the
// turn.
func (j *Journal) commit(b *batch) error {
	if j.broken != nil {
		return j.broken
	}
	sealBatch(b.buf, j.salt)
	if len(b.buf) > maxBatch {
		return fmt.Errorf("write journal %q: batch of %d bytes is over the limit of %d", j.path, len(b.buf), maxBatch)
	}
	j.reserve(j.size + int64(len(b.buf)))
	_, err := j.file.WriteAt(b.buf, j.size)
	if IsFull(err) && j.makeRoom != nil && j.makeRoom() {
		_, err = j.file.WriteAt(b.buf, j.size)
	}
	if err != nil {
		return j.undo(fmt.Errorf("write journal %q: %w", j.path, err))
	}
	if err := j.file.Sync(); err != nil {
		// What the kernel did with the dirty pages is unknown, and a second fsync
		// may report success for data that is gone. Only a restart reads what is
		// really there.
		j.broken = fmt.Errorf("journal %q is not written to any more after: sync: %w", j.path, err)
		return j.broken
	}
	for i, r := range b.records {
		j.index(r.op, r.key, location{at: j.size + r.at, size: b.sizes[i]})
	}
	j.size += int64(len(b.buf))
	if j.size > j.compactAt && j.size-j.live > j.live {
		// The batch itself is on disk, whatever becomes of the rewrite. A failed
		// one, for want of space most likely, is tried again at twice the size.
		j.compactAt = compactAt
		if err := j.compact(); err != nil {
			j.compactAt = 2 * j.size
		}
	}
	return nil
}

// reserveStep is how much space is made at a time.
const reserveStep = 1 << 20

// reserve makes space up to size and some more. It is for speed only: a full disk
// shows when something is written.
func (j *Journal) reserve(size int64) {
	if size <= j.reserved {
		return
	}
	j.reserved = size + reserveStep
	_ = j.file.Reserve(j.reserved)
}

// undo cuts off what a failed write left, so that the journal goes on when there
// is space again.
func (j *Journal) undo(err error) error {
	if cut := j.file.Truncate(j.size); cut != nil {
		j.broken = fmt.Errorf("journal %q is not written to any more after: %w", j.path, errors.Join(err, cut))
		return j.broken
	}
	j.reserved = j.size
	return err
}

func recordSize(key string, size int) int64 { return recordHead + int64(len(key)+size) }

// index notes a change in the map of live values.
func (j *Journal) index(op byte, key string, l location) {
	if old, ok := j.values[key]; ok {
		j.live -= recordSize(key, old.size)
		delete(j.values, key)
	}
	if op == opPut {
		j.live += recordSize(key, l.size)
		j.values[key] = l
	}
}

// compactBatch is the size at which compaction begins another batch.
const compactBatch = 1 << 20

// compact writes the live records to a new file and puts it in the old one's
// place. Until the rename the old file is complete; after it the new one is.
func (j *Journal) compact() error {
	tmp := j.path + ".tmp"
	f, err := j.create(tmp)
	if err != nil {
		return fmt.Errorf("compact journal %q: %w", j.path, err)
	}
	header, salt := newHeader()
	size, values, err := j.copyLive(f, header, salt)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = os.Rename(tmp, j.path)
	}
	if err != nil {
		return fmt.Errorf("compact journal %q: %w", j.path, errors.Join(err, f.Close(), os.Remove(tmp)))
	}
	old := j.file
	j.file, j.salt, j.size, j.values, j.reserved = f, salt, size, values, size
	if err := errors.Join(old.Close(), syncParent(j.path)); err != nil {
		// After a power loss the old file could be back, without what follows.
		j.broken = fmt.Errorf("journal %q is not written to any more after: compact: %w", j.path, err)
		return j.broken
	}
	return nil
}

func (j *Journal) copyLive(f journalFile, header []byte, salt uint32) (int64, map[string]location, error) {
	if _, err := f.WriteAt(header, 0); err != nil {
		return 0, nil, err
	}
	size := int64(len(header))
	values := make(map[string]location, len(j.values))
	buf := beginBatch()
	flush := func() error {
		if len(buf) == batchHead {
			return nil
		}
		sealBatch(buf, salt)
		_, err := f.WriteAt(buf, size)
		size += int64(len(buf))
		buf = buf[:batchHead]
		return err
	}
	err := j.eachLocked(func(key string, value []byte) error {
		values[key] = location{at: size + int64(len(buf)) + recordHead + int64(len(key)), size: len(value)}
		buf = appendRecord(buf, opPut, key, value)
		if len(buf) < compactBatch {
			return nil
		}
		return flush()
	})
	if err == nil {
		err = flush()
	}
	if err != nil {
		return 0, nil, err
	}
	return size, values, nil
}
