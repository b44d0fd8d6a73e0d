package fsm

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"time"

	"github.com/muster-discovery/muster/internal/state"
)

// epochShift is where a fencing token's epoch begins. The low bits count acquisitions;
// should they ever run over, they carry into the epoch and tokens grow all the same.
const epochShift = 32

// RaiseEpoch copies a snapshot that is about to be restored in the place of a state
// with the header known. It changes the snapshot's own header only.
//
// The last fencing token is raised into a new epoch: above the snapshot's, above the
// last one that the present state has given out, and above the clock. So tokens grow
// strictly even if the same old snapshot is restored twice, also into a cluster that
// knows nothing of the first time.
//
// The index is raised above both states', as if the restore were one more command,
// and no topic is told below it from then on. Things keep their indexes. So none is
// ever given twice, which a check-and-set could not tell apart; whoever waits for a
// change sees one, also who asks only later; and a server that has not loaded the
// snapshot yet can't be taken for one that has.
//
// It is for restores by an operator. A server that loads its own snapshot goes on in
// the same epoch.
func RaiseEpoch(to io.Writer, from io.Reader, known state.Header, now time.Time) error {
	sr := newSnapshotReader(from)
	if err := sr.head(); err != nil {
		return fmt.Errorf("raise the epoch of a snapshot: %w", err)
	}
	sw := &snapshotWriter{out: bufio.NewWriterSize(to, 1<<18), sum: crc32.New(castagnoli)}
	if err := sr.raise(sw, known, now); err != nil {
		return fmt.Errorf("raise the epoch of a snapshot: %w", err)
	}
	return nil
}

func (sr *snapshotReader) raise(sw *snapshotWriter, known state.Header, now time.Time) error {
	if err := sr.record(); err != nil { // the header
		return err
	}
	h := sr.parsed
	epoch := max(h.Fence>>epochShift, known.Fence>>epochShift) + 1
	h.Fence = max(epoch, uint64(max(now.Unix(), 0))) << epochShift
	if h.Fence>>epochShift < epoch {
		return errors.New("the epochs are used up")
	}
	h.Index = max(h.Index, known.Index) + 1
	h.Raised = h.Index
	head := binary.BigEndian.AppendUint32([]byte(snapshotMagic), snapshotFormat)
	if err := sw.write(head); err != nil {
		return err
	}
	if err := sw.record(recordHeader, func(w *writer) { w.header(&h) }); err != nil {
		return err
	}
	if err := sr.copyRest(sw); err != nil {
		return err
	}
	if err := sw.write(binary.BigEndian.AppendUint32(nil, sw.sum.Sum32())); err != nil {
		return err
	}
	return sw.out.Flush()
}

// copyRest copies all up to the checksum, which it compares.
func (sr *snapshotReader) copyRest(sw *snapshotWriter) error {
	const tail = checksumSize
	buf := make([]byte, 1<<18)
	for {
		// The last bytes are the checksum: they are only looked at.
		ahead, err := sr.in.Peek(tail + 1)
		if err == io.EOF && len(ahead) == tail {
			return sr.tail()
		}
		if err != nil {
			return cutOff(err)
		}
		n := min(max(sr.in.Buffered()-tail, 1), len(buf))
		if err := sr.read(buf[:n]); err != nil {
			return err
		}
		if err := sw.write(buf[:n]); err != nil {
			return err
		}
	}
}

// Raised is what RaiseEpoch would copy, without the copy: only the header and the
// checksum at the end are new, so they are put around what lies between in the file.
// It reads the file once.
func Raised(file io.ReaderAt, size int64, known state.Header, now time.Time) (io.Reader, int64, error) {
	var e ends
	if err := RaiseEpoch(&e, io.NewSectionReader(file, 0, size), known, now); err != nil {
		return nil, 0, err
	}
	var old ends
	if _, err := file.ReadAt(old.head[:min(size, int64(len(old.head)))], 0); err != nil {
		return nil, 0, fmt.Errorf("raise the epoch of a snapshot: %w", err)
	}
	from, head := headerEnd(old.head[:]), headerEnd(e.head[:])
	if from > len(old.head) || head > len(e.head) {
		return nil, 0, errors.New("raise the epoch of a snapshot: its header is too long")
	}
	between := size - int64(from) - checksumSize
	return io.MultiReader(bytes.NewReader(e.head[:head]), io.NewSectionReader(file, int64(from), between), bytes.NewReader(e.tail[:])), e.n, nil
}

const checksumSize = 4

// ends keeps the first and the last bytes of what is written to it.
type ends struct {
	head [4 << 10]byte // a header has some numbers and the cluster's id
	tail [checksumSize]byte
	n    int64
}

func (e *ends) Write(p []byte) (int, error) {
	if e.n < int64(len(e.head)) {
		copy(e.head[e.n:], p)
	}
	last := append(e.tail[:], p[max(len(p)-checksumSize, 0):]...)
	copy(e.tail[:], last[len(last)-checksumSize:])
	e.n += int64(len(p))
	return len(p), nil
}

// headerEnd is where the header's record ends.
func headerEnd(b []byte) int {
	const start = len(snapshotMagic) + 4
	size, n := binary.Uvarint(b[start:])
	if size > uint64(len(b)) {
		return len(b) + 1
	}
	return start + n + int(size)
}
