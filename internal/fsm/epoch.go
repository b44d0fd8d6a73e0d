package fsm

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"time"
)

// epochShift is where a fencing token's epoch begins. The low bits count acquisitions;
// should they ever run over, they carry into the epoch and tokens grow all the same.
const epochShift = 32

// RaiseEpoch copies a snapshot that is about to be restored, with the last fencing
// token raised into a new epoch: above the snapshot's, above known, which is the last
// one that this cluster's present state has given out, and above the clock. So tokens
// grow strictly even if the same old snapshot is restored twice, also into a cluster
// that knows nothing of the first time.
//
// It is for restores by an operator. A server that loads its own snapshot goes on in
// the same epoch.
func RaiseEpoch(to io.Writer, from io.Reader, known uint64, now time.Time) error {
	sr := &snapshotReader{in: bufio.NewReaderSize(from, 1<<18), sum: crc32.New(castagnoli), recent: newRecent()}
	if err := sr.head(); err != nil {
		return fmt.Errorf("raise the epoch of a snapshot: %w", err)
	}
	sw := &snapshotWriter{out: bufio.NewWriterSize(to, 1<<18), sum: crc32.New(castagnoli)}
	if err := sr.raise(sw, known, now); err != nil {
		return fmt.Errorf("raise the epoch of a snapshot: %w", err)
	}
	return nil
}

func (sr *snapshotReader) raise(sw *snapshotWriter, known uint64, now time.Time) error {
	if err := sr.record(); err != nil { // the header
		return err
	}
	h := sr.parsed
	epoch := max(h.Fence>>epochShift, known>>epochShift) + 1
	h.Fence = max(epoch, uint64(max(now.Unix(), 0))) << epochShift
	if h.Fence>>epochShift < epoch {
		return errors.New("the epochs are used up")
	}
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
	const tail = 4
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
