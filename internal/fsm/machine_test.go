package fsm

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"

	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/state"
)

// fixture is a machine with what it published.
type fixture struct {
	*Machine
	store     *state.Store
	published [][]model.Topic
}

func newFixture() *fixture {
	f := &fixture{store: state.New()}
	f.Machine = New(f.store, func(touched []model.Topic) {
		if touched == nil || len(touched) > 0 {
			f.published = append(f.published, touched)
		}
	})
	return f
}

func (f *fixture) snapshot(t testing.TB) []byte {
	t.Helper()
	s, err := f.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	n, err := s.WriteTo(&buf)
	if err != nil || n != int64(buf.Len()) {
		t.Fatal(n, buf.Len(), err)
	}
	return buf.Bytes()
}

func TestApply(t *testing.T) {
	f := newFixture()
	bad := &Command{Op: &model.Registration{Node: model.Node{Name: "x"}, Checks: []*model.Check{{ID: "c", ServiceID: "none"}}}}
	bad.Meta.RequestID[0] = 99
	entry := [][]byte{encode(t, sample(1)), encode(t, bad), {}, encode(t, sample(2)), encode(t, sample(1)), encode(t, bad)}
	got := f.Apply(entry)
	unknown := model.Errorf(model.KindInvalid, "Unknown service ID 'none' for check ID 'c'")
	want := []Result{{Index: 2}, {Index: 3, Err: unknown}, {Index: 4, Err: errInvalidCommand}, {Index: 5}, {Index: 2}, {Index: 3, Err: unknown}}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	if f.store.Index() != 5 || f.store.Snapshot().Node("x") != nil || len(f.published) != 1 {
		t.Fatal(f.store.Index(), f.published)
	}
	for i, r := range f.Apply(entry[4:]) {
		if !reflect.DeepEqual(r, want[4+i]) {
			t.Fatal("repeated in another entry:", r)
		}
	}
	if len(f.published) != 1 {
		t.Fatal("published for commands that changed nothing")
	}
}

func TestApplyWithoutRequestID(t *testing.T) {
	f := newFixture()
	c := sample(1)
	c.Meta.RequestID = [16]byte{}
	b := encode(t, c)
	if r := f.Apply([][]byte{b, b}); r[0].Index != 2 || r[1].Index != 3 {
		t.Fatal(r)
	}
}

// TestApplyNewer: an entry of a newer version stops the server before any of its
// commands is applied.
func TestApplyNewer(t *testing.T) {
	f := newFixture()
	op := protowire.AppendBytes(protowire.AppendTag([]byte{Format}, 17, protowire.BytesType), nil)
	defer func() {
		text, _ := recover().(string)
		if !strings.Contains(text, "command 2 of 2") || !strings.Contains(text, "newer version of Muster: field 17 of Command") {
			t.Fatal(text)
		}
		if f.store.Index() != 1 {
			t.Fatal("applied in part")
		}
	}()
	f.Apply([][]byte{encode(t, sample(1)), op})
}

func TestRecentIsBounded(t *testing.T) {
	f := newFixture()
	first := encode(t, sample(0))
	f.Apply([][]byte{first})
	var b []byte
	for i := 1; i < maxRecent; i++ {
		b = encode(t, &Command{Meta: sample(i).Meta, Op: &model.Deregistration{Node: "n"}})
		f.Apply([][]byte{b})
	}
	if r := f.Apply([][]byte{first}); r[0].Index != 2 {
		t.Fatal("forgotten too early:", r)
	}
	last := f.store.Index()
	f.Apply([][]byte{encode(t, &Command{Meta: sample(maxRecent).Meta, Op: &model.Deregistration{Node: "n"}})})
	g := newFixture()
	if err := g.Restore(bytes.NewReader(f.snapshot(t))); err != nil {
		t.Fatal(err)
	}
	for _, m := range []*fixture{f, g} {
		if r := m.Apply([][]byte{b, first}); r[0].Index != last || r[1].Index != last+2 {
			t.Fatal(r, last)
		}
	}
	if !bytes.Equal(f.snapshot(t), g.snapshot(t)) {
		t.Fatal("the machines differ")
	}
}

// history is a list of random commands that meet each other, some repeated, some
// malformed.
func history(t *rapid.T) (list [][]byte) {
	for i := range rapid.IntRange(0, 40).Draw(t, "commands") {
		c := sample(rapid.IntRange(0, 5).Draw(t, "instance"))
		c.Meta.RequestID = [16]byte{byte(rapid.IntRange(0, 30).Draw(t, "id"))}
		c.Meta.Time = t0.AddDate(0, 0, i)
		r := c.Op.(*model.Registration)
		switch rapid.IntRange(0, 13).Draw(t, "op") {
		case 13:
			c.Op = genMeetingHistory(t)
		case 8, 9, 10, 11, 12:
			c.Op = genMeetingOp(t, r.Node.Name)
		case 0:
			c.Op = &model.Deregistration{Node: r.Node.Name}
		case 1:
			c.Op = &model.Deregistration{Node: r.Node.Name, ServiceID: r.Service.ID}
		case 2:
			r.Checks[1].Status = rapid.SampledFrom([]string{"passing", "critical", "odd"}).Draw(t, "status")
		case 3:
			r.Service.Connect.Native = true
		case 4:
			r.Node.Name = rapid.SampledFrom([]string{"a", "A", "b"}).Draw(t, "name")
		case 5:
			r.Service = nil // its check then fails or not
		case 6:
			c.Op = &model.CARootSet{ClusterID: "c", Roots: []*model.CARoot{{ID: "r", KeyPEM: "k"}}}
		case 7:
			list = append(list, []byte{Format})
		}
		b, err := Encode(c)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, b)
	}
	return list
}

// TestBatchesDoNotMatter: the same commands in other entries, with a restore in
// between, give the same results and the same bytes.
func TestBatchesDoNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		commands := history(t)
		a, b := newFixture(), newFixture()
		var want, got []Result
		for _, c := range commands {
			want = append(want, a.Apply([][]byte{c})...)
		}
		for rest := commands; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "entry")
			got = append(got, b.Apply(rest[:n])...)
			rest = rest[n:]
			if rapid.IntRange(0, 3).Draw(t, "restore") == 0 {
				c := newFixture()
				if err := c.Restore(bytes.NewReader(b.snapshot(quiet{}))); err != nil {
					t.Fatal(err)
				}
				b = c
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("\n got %v\nwant %v", got, want)
		}
		if !bytes.Equal(a.snapshot(quiet{}), b.snapshot(quiet{})) {
			t.Fatal("the snapshots differ")
		}
	})
}

// quiet lets helpers of ordinary tests be used in rapid's.
type quiet struct{ testing.TB }

func (quiet) Helper() {}

func TestRestore(t *testing.T) {
	f := newFixture()
	for i := range 50 {
		f.Apply([][]byte{encode(t, sample(i))})
	}
	f.Apply([][]byte{encode(t, &Command{Op: &model.CARootSet{ClusterID: "id", Roots: []*model.CARoot{{ID: "r", KeyPEM: "k", NotAfter: t0}}}})})
	f.Apply([][]byte{encode(t, &Command{Op: &model.Deregistration{Node: sample(3).Op.(*model.Registration).Node.Name}})})
	image := f.snapshot(t)
	g := newFixture()
	g.Apply([][]byte{encode(t, sample(99))})
	g.published = nil
	if err := g.Restore(bytes.NewReader(image)); err != nil {
		t.Fatal(err)
	}
	if len(g.published) != 1 || g.published[0] != nil {
		t.Fatal("no reset was published:", g.published)
	}
	if !bytes.Equal(image, g.snapshot(t)) {
		t.Fatal("written again it differs")
	}
}

// TestRestoreDamaged: no damage goes unnoticed, and a snapshot that can't be read
// leaves the state as it was.
func TestRestoreDamaged(t *testing.T) {
	f := newFixture()
	f.Apply([][]byte{encode(t, sample(1))})
	image := f.snapshot(t)
	g := newFixture()
	g.Apply([][]byte{encode(t, sample(7))})
	g.published = nil
	before := g.snapshot(t)
	refuse := func(what string, at int, b []byte) {
		if err := g.Restore(bytes.NewReader(b)); err == nil {
			t.Fatalf("%s at %d: no error", what, at)
		}
	}
	for i := range image {
		refuse("cut off", i, image[:i])
		b := bytes.Clone(image)
		b[i] ^= 0x41
		refuse("changed byte", i, b)
	}
	refuse("more data", len(image), append(bytes.Clone(image), 0))
	if !bytes.Equal(before, g.snapshot(t)) || len(g.published) != 0 {
		t.Fatal("the state changed")
	}
}

func TestRestoreErrors(t *testing.T) {
	newer := binary.BigEndian.AppendUint32([]byte(snapshotMagic), 2)
	tests := []struct {
		name string
		in   []byte
		want string
	}{
		{"other file", []byte("SQLite format 3\x00...."), "not a snapshot of Muster"},
		{"newer", newer, "snapshot format 2, this version knows 1"},
		{"empty", nil, "ends too early"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := newFixture().Restore(bytes.NewReader(tt.in))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// TestGoldenSnapshot pins format 1. Never change the file, add one for a new format.
func TestGoldenSnapshot(t *testing.T) {
	f := newFixture()
	for i := range 3 {
		c := sample(i)
		c.Op.(*model.Registration).Service.Connect.Native = i == 2
		f.Apply([][]byte{encode(t, c)})
	}
	f.Apply([][]byte{encode(t, &Command{Op: &model.CARootSet{ClusterID: "id", Roots: []*model.CARoot{{ID: "r", KeyPEM: "k", NotAfter: t0}}}})})
	failing := &Command{Meta: sample(9).Meta, Op: &model.Registration{Node: model.Node{Name: "x"}, Checks: []*model.Check{{ID: "c", ServiceID: "s"}}}}
	f.Apply([][]byte{encode(t, failing)})
	f.Apply([][]byte{encode(t, &Command{Op: &model.Deregistration{Node: sample(0).Op.(*model.Registration).Node.Name}})})
	for _, op := range sampleKeyOps() {
		f.Apply([][]byte{encode(t, &Command{Meta: model.CommandMeta{RequestID: [16]byte{7, byte(len(f.published))}, Time: t0}, Op: op})})
	}
	for _, op := range sampleQueryOps() {
		f.Apply([][]byte{encode(t, &Command{Op: op})})
	}
	golden(t, "testdata/snapshot_1.bin", f.snapshot(t))
}

// FuzzRestore feeds records behind a right checksum, so that the fuzzer gets past it.
func FuzzRestore(f *testing.F) {
	m := newFixture()
	m.Apply([][]byte{encode(f, sample(1)), encode(f, sample(2))})
	for i, op := range sampleKeyOps() {
		m.Apply([][]byte{encode(f, &Command{Meta: model.CommandMeta{RequestID: [16]byte{8, byte(i)}}, Op: op})})
		if i == 1 {
			m.Apply([][]byte{encode(f, &Command{Op: sampleHistory()})})
		}
	}
	image := m.snapshot(f)
	f.Add(image[12 : len(image)-4])
	f.Fuzz(func(t *testing.T, records []byte) {
		b := binary.BigEndian.AppendUint32([]byte(snapshotMagic), snapshotFormat)
		b = append(b, records...)
		b = binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
		g := newFixture()
		if g.Restore(bytes.NewReader(b)) != nil {
			return
		}
		once := g.snapshot(t)
		h := newFixture()
		if err := h.Restore(bytes.NewReader(once)); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(once, h.snapshot(t)) {
			t.Fatal("written again it differs")
		}
		g.Apply([][]byte{encode(t, sample(1)), encode(t, sample(3)), encode(t, &Command{Op: &model.Deregistration{Node: "n"}})})
	})
}
