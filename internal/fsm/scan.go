package fsm

import (
	"encoding/binary"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/muster-discovery/muster/internal/pb"
	"github.com/muster-discovery/muster/internal/state"
)

// Summary is what a snapshot holds.
type Summary struct {
	Header state.Header
	Bytes  int64
	Kinds  []Kind // that occur, in the order of their numbers
}

// Kind is how many records of one kind a snapshot has, with their size.
type Kind struct {
	Name  string // as in the schema: node, service, check, key ...
	Count uint64
	Bytes uint64
}

// Scan reads a snapshot to its end without building the state, and compares its
// checksum. Visit, which may be nil, sees the records of the state with their size;
// it can't rely on the checksum yet. Their types are those of state.Snapshot.Records.
func Scan(from io.Reader, visit func(v any, bytes int) error) (Summary, error) {
	return scan(from, visit, true)
}

// Check reads a snapshot to its end as Restore would, and throws the state away. What
// passes it can be restored.
func Check(from io.Reader, visit func(v any, bytes int) error) (Summary, error) {
	return scan(from, visit, false)
}

func scan(from io.Reader, visit func(v any, bytes int) error, loose bool) (Summary, error) {
	counted := &countingReader{r: from}
	sr := newSnapshotReader(counted)
	sr.visit, sr.loose = visit, loose
	err := sr.all()
	if err != nil {
		err = fmt.Errorf("read snapshot: %w", err)
	}
	return Summary{Header: sr.parsed, Bytes: counted.n, Kinds: sr.tally.kinds()}, err
}

type countingReader struct {
	r io.Reader
	n int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// tally counts records by number.
type tally [32]Kind

func (t *tally) add(num protowire.Number, bytes int) {
	if num > 0 && int(num) < len(t) {
		t[num].Count++
		t[num].Bytes += uint64(bytes)
	}
}

var recordFields = (*pb.SnapshotRecord)(nil).ProtoReflect().Descriptor().Fields()

func (t *tally) kinds() []Kind {
	var list []Kind
	for num, k := range t {
		f := recordFields.ByNumber(protowire.Number(num))
		if k.Count == 0 || f == nil || num == recordHeader || num == recordFooter {
			continue
		}
		k.Name = string(f.Name())
		list = append(list, k)
	}
	return list
}

func uvarintLen(n int) int {
	var b [binary.MaxVarintLen64]byte
	return binary.PutUvarint(b[:], uint64(n))
}
