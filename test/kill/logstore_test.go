package kill

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/muster-discovery/muster/internal/consensus/wal"
)

// logStore is what the candidates have in common.
type logStore interface {
	raft.LogStore
	io.Closer
}

// segmentSize makes a rotation every few dozen writes.
const segmentSize = 32 << 10

// openers are the log stores that can be tested, by name.
var openers = map[string]func(dir string) (logStore, error){
	"wal": func(dir string) (logStore, error) {
		return wal.Open(dir, wal.Options{SegmentSize: segmentSize})
	},
}

// op is one operation of the child: append entries first to last, cut a suffix
// from first on, or remove a head up to last. Entries of different operations at
// the same index differ.
type op struct {
	id          uint64
	kind        string
	first, last uint64
}

const (
	opAppend = "append"
	opCut    = "cut"
	opHead   = "head"
)

// entry is what the operation writes at an index; anyone can work it out.
func (o op) entry(index uint64) *raft.Log {
	rng := rand.New(rand.NewPCG(o.id, index))
	data := make([]byte, rng.IntN(600))
	for i := range data {
		data[i] = byte(rng.Uint32())
	}
	return &raft.Log{
		Index: index, Term: o.id, Type: raft.LogCommand, Data: data,
		Extensions: binary.LittleEndian.AppendUint64(nil, index^o.id),
		AppendedAt: time.Unix(0, int64(o.id)),
	}
}

func (o op) run(s logStore) error {
	if o.kind != opAppend {
		return s.DeleteRange(o.first, o.last)
	}
	var logs []*raft.Log
	for i := o.first; i <= o.last; i++ {
		logs = append(logs, o.entry(i))
	}
	return s.StoreLogs(logs)
}

// nextOp chooses an operation for a log with the given bounds, 0 for none.
func nextOp(rng *rand.Rand, first, last uint64) op {
	o := op{id: rng.Uint64() >> 2}
	size := last - first + 1
	switch n := rng.IntN(20); {
	case last > 0 && n == 0 && size > 1: // as when an old leader rejoins
		o.kind, o.first, o.last = opCut, last-rng.Uint64N(min(size-1, 40)), last
	case last > 0 && n == 1 && size > 200: // as after a snapshot
		o.kind, o.first, o.last = opHead, first, first+rng.Uint64N(size-100)
	case last > 0 && n == 2 && rng.IntN(10) == 0: // as when a snapshot is installed
		o.kind, o.first, o.last = opHead, first, last
	default:
		o.kind, o.first, o.last = opAppend, last+1, last+1+rng.Uint64N(8)
		if last == 0 {
			jump := rng.Uint64N(1000)
			o.first, o.last = o.first+jump, o.last+jump
		}
	}
	return o
}

// logStoreChild prints each operation before it begins and "ok" when it is
// acknowledged.
func logStoreChild(dir string, rng *rand.Rand) error {
	s, err := openers[*store](dir)
	if err != nil {
		return err
	}
	for {
		first, last, err := bounds(s)
		if err != nil {
			return err
		}
		o := nextOp(rng, first, last)
		fmt.Fprintln(os.Stdout, o.id, o.kind, o.first, o.last)
		if err := o.run(s); err != nil {
			return fmt.Errorf("%v: %w", o, err)
		}
		fmt.Fprintln(os.Stdout, "ok")
	}
}

func bounds(s logStore) (first, last uint64, err error) {
	if first, err = s.FirstIndex(); err != nil {
		return 0, 0, err
	}
	last, err = s.LastIndex()
	return first, last, err
}

// logModel is what must be in the log.
type logModel struct {
	first, last uint64        // 0: empty
	wrote       map[uint64]op // who wrote the entry at an index, also of removed ones
	pending     *op           // begun and not acknowledged
	acked       int
}

func (m *logModel) line(t *testing.T, line string) {
	if line == "ok" {
		m.apply(*m.pending)
		m.pending = nil
		m.acked++
		return
	}
	var o op
	if _, err := fmt.Sscan(line, &o.id, &o.kind, &o.first, &o.last); err != nil {
		t.Fatalf("line %q: %v", line, err)
	}
	m.pending = &o
}

func (m *logModel) apply(o op) {
	switch {
	case o.kind == opAppend:
		if m.last == 0 {
			m.first = o.first
		}
		m.last = o.last
		for i := o.first; i <= o.last; i++ {
			m.wrote[i] = o
		}
	case o.kind == opCut:
		m.last = o.first - 1
	case o.last == m.last:
		m.first, m.last = 0, 0
	default:
		m.first = o.last + 1
	}
}

// check compares the log with the model and makes the model what it found.
func (m *logModel) check(s logStore) error {
	first, last, err := bounds(s)
	if err != nil {
		return err
	}
	if err := m.checkBounds(first, last); err != nil {
		return err
	}
	for i := first; i <= last && last > 0; i++ {
		if err := m.checkEntry(s, i); err != nil {
			return err
		}
	}
	m.first, m.last, m.pending = first, last, nil
	return nil
}

// checkBounds allows the operation that was under way to have happened in part. A
// removed head may be back, since it goes by whole segments.
func (m *logModel) checkBounds(first, last uint64) error {
	lowest, highest, latestFirst := m.last, m.last, m.first
	if p := m.pending; p != nil {
		switch {
		case p.kind == opAppend:
			highest = p.last
		case p.kind == opCut:
			lowest = p.first - 1
		case p.last == m.last:
			lowest, latestFirst = 0, m.last
		default:
			latestFirst = p.last + 1
		}
	}
	if last < lowest || last > highest {
		return fmt.Errorf("the log ends with %d, not %d to %d (acknowledged %d to %d, under way %v)", last, lowest, highest, m.first, m.last, m.pending)
	}
	if m.last > 0 && last > 0 && first > latestFirst {
		return fmt.Errorf("the log begins with %d, not %d (under way %v)", first, latestFirst, m.pending)
	}
	return nil
}

func (m *logModel) checkEntry(s logStore, i uint64) error {
	var got raft.Log
	if err := s.GetLog(i, &got); err != nil {
		return fmt.Errorf("entry %d: %w", i, err)
	}
	o, ok := m.wrote[i]
	if p := m.pending; p != nil && p.kind == opAppend && i >= p.first {
		o, ok = *p, true
	}
	if !ok {
		return fmt.Errorf("entry %d was never written", i)
	}
	want := o.entry(i)
	if got.Index != i || got.Term != want.Term || got.Type != want.Type || !bytes.Equal(got.Data, want.Data) ||
		!bytes.Equal(got.Extensions, want.Extensions) || !got.AppendedAt.Equal(want.AppendedAt) {
		return fmt.Errorf("entry %d is not the one that %v wrote", i, o)
	}
	m.wrote[i] = o
	return nil
}

func TestLogStore(t *testing.T) {
	rng, dir := newRand(t), t.TempDir()
	m := &logModel{wrote: map[uint64]op{}}
	var slowest time.Duration
	bad := 0
	for kill := range *kills {
		runChild(t, "logstore", dir, rng, 60*time.Millisecond, func(l string) { m.line(t, l) })
		start := time.Now()
		s, err := openers[*store](dir)
		slowest = max(slowest, time.Since(start))
		if err == nil {
			// A log that opens and reads must take entries, too.
			if err = m.check(s); err == nil {
				err = appendOne(m, s, rng)
			}
			err = joinClose(err, s)
		}
		if err != nil {
			t.Errorf("kill %d: %v", kill, err)
			// Starts over, so that a candidate's failures can be counted.
			bad++
			dir, m = t.TempDir(), &logModel{wrote: map[uint64]op{}, acked: m.acked}
		}
	}
	t.Logf("%s: %d kills, %d acknowledged operations, %d bad, slowest open %v", *store, *kills, m.acked, bad, slowest)
	if m.acked < *kills {
		t.Errorf("only %d operations were acknowledged: the test tests nothing", m.acked)
	}
}

func appendOne(m *logModel, s logStore, rng *rand.Rand) error {
	o := op{id: rng.Uint64() >> 2, kind: opAppend, first: m.last + 1, last: m.last + 1}
	if err := o.run(s); err != nil {
		return fmt.Errorf("append after reopening: %w", err)
	}
	m.apply(o)
	return nil
}

func joinClose(err error, c io.Closer) error {
	if e := c.Close(); err == nil {
		return e
	}
	return err
}
