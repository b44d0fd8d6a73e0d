package fsm

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/state"
)

// The layout is specified in docs/format/snapshot.md.
const (
	snapshotMagic  = "MUSTSNAP"
	snapshotFormat = 1

	// maxRecord bounds one record. Commands are smaller by far; the bound keeps a
	// damaged length from asking for all memory.
	maxRecord = 64 << 20
)

// The record types' field numbers in SnapshotRecord.
const (
	recordHeader  = 1
	recordNode    = 2
	recordService = 3
	recordCheck   = 4
	recordCARoot  = 5
	recordTopic   = 6
	recordRecent  = 7
	recordFooter  = 8
	recordKey     = 9
	recordSession = 10
	recordDelay   = 11
	recordKeyTomb = 12

	recordQuery      = 13
	recordCoordinate = 14
	recordAutopilot  = 15
	recordHistory    = 16
	recordRevision   = 17
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Image is the state at one moment, ready to be written out, as often as needed.
type Image struct {
	state  *state.Snapshot
	recent []done
}

// WriteTo writes the snapshot. Equal states give equal bytes.
func (s *Image) WriteTo(to io.Writer) (int64, error) {
	sum, err := s.Write(to)
	return sum.Bytes, err
}

// Write is WriteTo that tells what was written.
func (s *Image) Write(to io.Writer) (Summary, error) {
	sw := &snapshotWriter{out: bufio.NewWriterSize(to, 1<<18), sum: crc32.New(castagnoli)}
	err := sw.all(s)
	if err != nil {
		err = fmt.Errorf("write snapshot: %w", err)
	}
	return Summary{Header: s.state.Header(), Bytes: sw.n, Kinds: sw.tally.kinds()}, err
}

type snapshotWriter struct {
	out     *bufio.Writer
	sum     hash.Hash32
	n       int64
	records uint64
	tally   tally
	rec     writer
	size    [binary.MaxVarintLen64]byte
}

func (sw *snapshotWriter) all(s *Image) error {
	if err := sw.write(binary.BigEndian.AppendUint32([]byte(snapshotMagic), snapshotFormat)); err != nil {
		return err
	}
	h := s.state.Header()
	if err := sw.record(recordHeader, func(w *writer) { w.header(&h) }); err != nil {
		return err
	}
	if err := s.state.Records(sw.value); err != nil {
		return err
	}
	for i := range s.recent {
		if err := sw.record(recordRecent, func(w *writer) { w.done(&s.recent[i]) }); err != nil {
			return err
		}
	}
	between := sw.records - 1
	if err := sw.record(recordFooter, func(w *writer) { w.uint(1, between) }); err != nil {
		return err
	}
	if err := sw.write(binary.BigEndian.AppendUint32(nil, sw.sum.Sum32())); err != nil {
		return err
	}
	return sw.out.Flush()
}

// value writes a record of the state.
func (sw *snapshotWriter) value(v any) error {
	switch v := v.(type) {
	case *model.Node:
		return sw.record(recordNode, func(w *writer) { w.node(v) })
	case *model.Service:
		return sw.record(recordService, func(w *writer) { w.service(v) })
	case *model.Check:
		c := *v
		c.ServiceName, c.ServiceTags = "", nil // follow from the service
		return sw.record(recordCheck, func(w *writer) { w.check(&c) })
	case *model.CARoot:
		return sw.record(recordCARoot, func(w *writer) { w.root(v) })
	case state.TopicRecord:
		return sw.record(recordTopic, func(w *writer) { w.topic(&v) })
	case *model.KVEntry:
		return sw.record(recordKey, func(w *writer) { w.kvEntry(v) })
	case *model.Session:
		return sw.record(recordSession, func(w *writer) { w.session(v) })
	case *model.LockDelay:
		return sw.record(recordDelay, func(w *writer) { w.lockDelay(v) })
	case *model.Query:
		return sw.record(recordQuery, func(w *writer) { w.query(v) })
	case *model.NodeCoordinate:
		return sw.record(recordCoordinate, func(w *writer) { w.nodeCoordinate(v) })
	case *model.Autopilot:
		return sw.record(recordAutopilot, func(w *writer) { w.autopilot(v) })
	case *model.KVHistory:
		return sw.record(recordHistory, func(w *writer) { w.history(v) })
	case state.RevisionRecord:
		return sw.record(recordRevision, func(w *writer) { w.revision(&v) })
	case state.KeyTombRecord:
		return sw.record(recordKeyTomb, func(w *writer) { w.keyTomb(&v) })
	}
	return fmt.Errorf("unknown record %T", v)
}

func (sw *snapshotWriter) record(num protowire.Number, fill func(*writer)) error {
	sw.rec.buf = sw.rec.buf[:0]
	start := sw.rec.begin(num)
	fill(&sw.rec)
	sw.rec.end(start)
	sw.records++
	n := binary.PutUvarint(sw.size[:], uint64(len(sw.rec.buf)))
	sw.tally.add(num, n+len(sw.rec.buf))
	if err := sw.write(sw.size[:n]); err != nil {
		return err
	}
	return sw.write(sw.rec.buf)
}

func (sw *snapshotWriter) write(b []byte) error {
	sw.sum.Write(b)
	n, err := sw.out.Write(b)
	sw.n += int64(n)
	return err
}

// readSnapshot builds the state of a snapshot aside.
func readSnapshot(from io.Reader, n *names) (*state.Restorer, *recent, error) {
	sr := newSnapshotReader(from)
	sr.names = n
	if err := sr.all(); err != nil {
		return nil, nil, err
	}
	return sr.restorer, sr.recent, nil
}

func newSnapshotReader(from io.Reader) *snapshotReader {
	return &snapshotReader{in: bufio.NewReaderSize(from, 1<<18), sum: crc32.New(castagnoli), recent: newRecent()}
}

func (sr *snapshotReader) all() error {
	if err := sr.head(); err != nil {
		return err
	}
	for !sr.done {
		if err := sr.record(); err != nil {
			return fmt.Errorf("record %d: %w", sr.records, err)
		}
	}
	return sr.tail()
}

type snapshotReader struct {
	in       *bufio.Reader
	sum      hash.Hash32
	names    *names
	restorer *state.Restorer
	visit    func(v any, bytes int) error // nil: nobody looks on
	loose    bool                         // the state is not built
	tally    tally
	parsed   state.Header
	recent   *recent
	records  uint64 // read so far
	done     bool   // the footer was read
	buf      bytes.Buffer
	one      [1]byte
}

func (sr *snapshotReader) head() error {
	head := make([]byte, len(snapshotMagic)+4)
	if err := sr.read(head); err != nil {
		return fmt.Errorf("header: %w", err)
	}
	if string(head[:len(snapshotMagic)]) != snapshotMagic {
		return errors.New("not a snapshot of Muster")
	}
	if v := binary.BigEndian.Uint32(head[len(snapshotMagic):]); v != snapshotFormat {
		return fmt.Errorf("snapshot format %d, this version knows %d: start the version that wrote it, or a later one",
			v, snapshotFormat)
	}
	return nil
}

func (sr *snapshotReader) read(b []byte) error {
	if _, err := io.ReadFull(sr.in, b); err != nil {
		return cutOff(err)
	}
	sr.sum.Write(b)
	return nil
}

// ReadByte serves binary.ReadUvarint.
func (sr *snapshotReader) ReadByte() (byte, error) {
	err := sr.read(sr.one[:])
	return sr.one[0], err
}

func (sr *snapshotReader) record() error {
	size, err := binary.ReadUvarint(sr)
	if err != nil {
		return err
	}
	if size > maxRecord {
		return fmt.Errorf("%d bytes, more than %d", size, maxRecord)
	}
	sr.buf.Reset()
	// The buffer grows with what really arrives, not with what the length says.
	if _, err := io.CopyN(&sr.buf, sr.in, int64(size)); err != nil {
		return cutOff(err)
	}
	sr.sum.Write(sr.buf.Bytes())
	err = sr.value(sr.buf.Bytes())
	sr.records++
	return err
}

func (sr *snapshotReader) value(b []byte) error {
	r := reader{buf: b, names: sr.names}
	if !r.next() {
		r.fail(errMalformed)
		return r.err
	}
	sr.tally.add(r.num, len(b)+uvarintLen(len(b)))
	m := r.message()
	if r.err != nil {
		return r.err
	}
	if first := sr.restorer == nil; first != (r.num == recordHeader) || len(r.buf) > 0 {
		return errMalformed
	}
	switch r.num {
	case recordHeader:
		return sr.header(&m)
	case recordNode:
		v := new(model.Node)
		m.node(v)
		return sr.add(v, m.err)
	case recordService:
		v := new(model.Service)
		m.service(v)
		return sr.add(v, m.err)
	case recordCheck:
		v := new(model.Check)
		m.check(v)
		return sr.add(v, m.err)
	case recordCARoot:
		v := new(model.CARoot)
		m.root(v)
		return sr.add(v, m.err)
	case recordTopic:
		v := m.topic()
		return sr.add(v, m.err)
	case recordKey:
		v := new(model.KVEntry)
		m.kvEntry(v)
		return sr.add(v, m.err)
	case recordSession:
		v := new(model.Session)
		m.session(v)
		return sr.add(v, m.err)
	case recordDelay:
		v := new(model.LockDelay)
		m.lockDelay(v)
		return sr.add(v, m.err)
	case recordKeyTomb:
		v := m.keyTomb()
		return sr.add(v, m.err)
	case recordQuery:
		v := new(model.Query)
		m.query(v)
		return sr.add(v, m.err)
	case recordCoordinate:
		v := new(model.NodeCoordinate)
		m.nodeCoordinate(v)
		return sr.add(v, m.err)
	case recordAutopilot:
		v := new(model.Autopilot)
		m.autopilot(v)
		return sr.add(v, m.err)
	case recordHistory:
		v := new(model.KVHistory)
		m.history(v)
		return sr.add(v, m.err)
	case recordRevision:
		v := m.revision()
		return sr.add(v, m.err)
	case recordRecent:
		v := m.doneRecord()
		if _, twice := sr.recent.find(v.id); m.err == nil && (twice || len(sr.recent.ring) == maxRecent) {
			m.fail(errMalformed)
		}
		sr.recent.add(v.id, v.result)
		return m.err
	case recordFooter:
		return sr.footer(&m)
	}
	r.unknown("SnapshotRecord")
	return r.err
}

func (sr *snapshotReader) add(v any, err error) error {
	if err != nil {
		return err
	}
	if sr.visit != nil {
		if err := sr.visit(v, sr.buf.Len()); err != nil {
			return err
		}
	}
	if sr.loose {
		return nil
	}
	return sr.restorer.Add(v)
}

func (sr *snapshotReader) header(m *reader) (err error) {
	h := m.header()
	if m.err != nil {
		return m.err
	}
	sr.parsed = h
	sr.restorer, err = state.NewRestorer(h)
	return err
}

func (sr *snapshotReader) footer(m *reader) error {
	var count uint64
	for m.next() {
		if m.num != 1 {
			m.unknown("SnapshotFooter")
			break
		}
		count = m.uint()
	}
	if m.err == nil && count != sr.records-1 {
		m.err = fmt.Errorf("%d records, the footer says %d", sr.records-1, count)
	}
	sr.done = true
	return m.err
}

// tail compares the checksum and sees that nothing follows it.
func (sr *snapshotReader) tail() error {
	want := sr.sum.Sum32()
	var sum [4]byte
	if err := sr.read(sum[:]); err != nil {
		return fmt.Errorf("checksum: %w", err)
	}
	if got := binary.BigEndian.Uint32(sum[:]); got != want {
		return fmt.Errorf("checksum %08x, computed %08x: the snapshot is damaged", got, want)
	}
	if _, err := sr.in.ReadByte(); err != io.EOF {
		return errors.New("data after the checksum")
	}
	return nil
}

func cutOff(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return errors.New("the snapshot ends too early")
	}
	return err
}
