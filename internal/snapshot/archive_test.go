package snapshot

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/muster-discovery/muster/internal/fsm"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/state"
)

// machine has a node and some keys.
func machine(t testing.TB, keys int) *fsm.Machine {
	t.Helper()
	m := fsm.New(state.New(), func([]model.Topic) {})
	apply(t, m, &model.Registration{Node: model.Node{Name: "n1", Address: "10.0.0.1"}})
	for i := range keys {
		apply(t, m, &model.KVOp{Verb: model.KVSet, Key: fmt.Sprintf("app/%04d", i), Value: []byte("value")})
	}
	return m
}

func apply(t testing.TB, m *fsm.Machine, op any) {
	t.Helper()
	b, err := fsm.Encode(&fsm.Command{Op: op})
	if err != nil {
		t.Fatal(err)
	}
	if r := m.Apply([][]byte{b}); r[0].Err != nil {
		t.Fatal(r[0].Err)
	}
}

func archive(t testing.TB, m *fsm.Machine) ([]byte, Meta) {
	t.Helper()
	var b bytes.Buffer
	a, err := Prepare(Meta{Term: 3, Node: "n1", Datacenter: "dc1", Time: time.UnixMilli(1700000000123), Muster: "1.0"}, m.Image())
	if err != nil {
		t.Fatal(err)
	}
	if n, err := a.WriteTo(&b); err != nil || n != int64(b.Len()) {
		t.Fatal(n, err)
	}
	return b.Bytes(), a.Meta
}

func TestRoundTrip(t *testing.T) {
	m := machine(t, 100)
	file, wrote := archive(t, m)
	if wrote.ID != "3-102-1700000000123" || wrote.Index != 102 {
		t.Errorf("%+v", wrote)
	}
	var kept bytes.Buffer
	keys := 0
	for _, build := range []bool{false, true} {
		kept.Reset()
		keys = 0
		meta, err := Read(bytes.NewReader(file), Options{
			Build: build,
			Keep: func(m *Meta, size int64) (io.Writer, error) {
				if size != m.StateBytes {
					t.Errorf("size %d, %d in meta", size, m.StateBytes)
				}
				return &kept, nil
			},
			Visit: func(v any, _ int) error {
				if _, ok := v.(*model.KVEntry); ok {
					keys++
				}
				return nil
			},
		})
		if err != nil || !reflect.DeepEqual(*meta, wrote) || keys != 100 {
			t.Fatalf("%v, %d keys\n got %+v\nwant %+v", err, keys, meta, wrote)
		}
	}
	var want bytes.Buffer
	if _, err := m.Image().WriteTo(&want); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(kept.Bytes(), want.Bytes()) {
		t.Error("the state is another one")
	}
	again, _ := archive(t, m)
	if !bytes.Equal(again, file) {
		t.Error("the same state and time give another archive")
	}
}

// pack makes an archive of files, name and content in turn.
func pack(t testing.TB, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	out := tar.NewWriter(zip)
	for i := 0; i < len(files); i += 2 {
		if err := out.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: files[i], Size: int64(len(files[i+1])), Mode: 0o600}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(out, files[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(out.Close(), zip.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// unpack is the content of an archive's files by name.
func unpack(t testing.TB, file []byte) map[string]string {
	t.Helper()
	zip, err := gzip.NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for in := tar.NewReader(zip); ; {
		h, err := in.Next()
		if err == io.EOF {
			return got
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		got[h.Name] = string(data)
	}
}

func TestRefused(t *testing.T) {
	file, _ := archive(t, machine(t, 3))
	f := unpack(t, file)
	meta, st, sums := f[metaFile], f[stateFile], f[sumsFile]
	other := strings.Replace(meta, `"n1"`, `"n2"`, 1)
	later := strings.Replace(meta, `"Version": 1`, `"Version": 2`, 1)
	flip := func(s string, at int) string {
		b := []byte(s)
		b[at] ^= 1
		return string(b)
	}
	for name, tt := range map[string]struct {
		file []byte
		want string
	}{
		"nothing":       {nil, "the snapshot is empty"},
		"garbage":       {[]byte("garbage"), "not compressed by gzip"},
		"garbage, long": {bytes.Repeat([]byte("garbage"), 1000), "not compressed by gzip"},
		"truncated":     {file[:len(file)/2], "ends too early"},
		"without end":   {file[:len(file)-9], "ends too early"},
		"trailing data": {append(bytes.Clone(file), 'x'), "data behind its end"},
		"two archives":  {append(bytes.Clone(file), file...), "data behind its end"},
		"no tar":        {gz(t, []byte("hello")), "ends too early"},
		"consul's": {pack(t, metaFile, `{"Version":1,"ID":"2-5-1","Index":5,"Term":2,"Peers":"a","Configuration":{},"ConfigurationIndex":1,"Size":3}`,
			stateFile, "abc", sumsFile, ""), "snapshot of Consul"},
		"meta of nothing":  {pack(t, metaFile, `{}`, stateFile, st, sumsFile, sums), "does not say that it belongs"},
		"meta no JSON":     {pack(t, metaFile, `nope`, stateFile, st, sumsFile, sums), "not JSON"},
		"meta changed":     {pack(t, metaFile, other, stateFile, st, sumsFile, sums), "checksum of meta.json"},
		"a later version":  {pack(t, metaFile, later, stateFile, st, sumsFile, sums), "archive version 2"},
		"state changed":    {pack(t, metaFile, meta, stateFile, flip(st, 60), sumsFile, sums), "state.bin"},
		"sum changed":      {pack(t, metaFile, meta, stateFile, st, sumsFile, flip(sums, 80)), "checksum of state.bin"},
		"no sums":          {pack(t, metaFile, meta, stateFile, st), "ends too early"},
		"another order":    {pack(t, stateFile, st, metaFile, meta, sumsFile, sums), "in the place of"},
		"path trick":       {pack(t, "../"+metaFile, meta, stateFile, st, sumsFile, sums), "in the place of"},
		"a fourth file":    {pack(t, metaFile, meta, stateFile, st, sumsFile, sums, "x", ""), "fourth file"},
		"bomb":             {pack(t, metaFile, meta, stateFile, strings.Repeat("\x00", 1<<20), sumsFile, sums), "not a snapshot of Muster"},
		"large meta":       {pack(t, metaFile, strings.Repeat(" ", maxMeta+1), stateFile, st, sumsFile, sums), "at most"},
		"longer than told": {pack(t, metaFile, meta, stateFile, st+"x", sumsFile, sums), "data after the checksum"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read(bytes.NewReader(tt.file), Options{Build: true})
			var own *Error
			if !errors.As(err, &own) || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("%v; want %q", err, tt.want)
			}
		})
	}
	if _, err := Read(bytes.NewReader(file), Options{MaxState: 10}); err == nil || !strings.Contains(err.Error(), "at most 10 are taken") {
		t.Error("limit:", err)
	}
}

func gz(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	if _, err := zip.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestEveryBitCounts: whatever one bit is flipped, the archive is refused, or it was
// one that says nothing: in gzip's header, or between its blocks.
func TestEveryBitCounts(t *testing.T) {
	file, wrote := archive(t, machine(t, 2))
	state := unpack(t, file)[stateFile]
	unnoticed := 0
	for at := range file {
		damaged := bytes.Clone(file)
		damaged[at] ^= 1 << (at % 8)
		var kept bytes.Buffer
		meta, err := Read(bytes.NewReader(damaged), Options{Build: true, Keep: func(*Meta, int64) (io.Writer, error) { return &kept, nil }})
		if err != nil {
			continue
		}
		unnoticed++
		if !reflect.DeepEqual(*meta, wrote) || kept.String() != state {
			t.Errorf("byte %d of %d: unnoticed", at, len(file))
		}
	}
	if unnoticed > 20 {
		t.Errorf("%d of %d bits say nothing", unnoticed, len(file))
	}
	for n := range file {
		if _, err := Read(bytes.NewReader(file[:n]), Options{}); err == nil {
			t.Errorf("cut off after %d of %d: unnoticed", n, len(file))
		}
	}
}

// TestForeignErrors are passed on as they are.
func TestForeignErrors(t *testing.T) {
	file, _ := archive(t, machine(t, 3))
	mine := errors.New("mine")
	for name, o := range map[string]Options{
		"keep":  {Keep: func(*Meta, int64) (io.Writer, error) { return nil, mine }},
		"write": {Keep: func(*Meta, int64) (io.Writer, error) { return failing{mine}, nil }},
		"visit": {Visit: func(any, int) error { return mine }},
	} {
		if _, err := Read(bytes.NewReader(file), o); err != mine {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := Read(io.MultiReader(bytes.NewReader(file[:50]), failing{mine}), Options{})
	if !errors.Is(err, mine) {
		t.Errorf("source: %v", err)
	}
	a, err := Prepare(Meta{}, machine(t, 1).Image())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.WriteTo(failing{mine}); !errors.Is(err, mine) {
		t.Errorf("to: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
func (f failing) Read([]byte) (int, error)  { return 0, f.err }

func FuzzRead(f *testing.F) {
	file, _ := archive(f, machine(f, 2))
	files := unpack(f, file)
	f.Add([]byte(files[metaFile]), []byte(files[stateFile]), []byte(files[sumsFile]), []byte(nil))
	f.Add([]byte("{}"), []byte("MUSTSNAP"), []byte(""), []byte("x"))
	f.Fuzz(func(t *testing.T, meta, st, sums, tail []byte) {
		for _, data := range [][]byte{
			append(pack(t, metaFile, string(meta), stateFile, string(st), sumsFile, string(sums)), tail...), gz(t, tail), tail,
		} {
			m, err := Read(bytes.NewReader(data), Options{Build: true, MaxState: 1 << 20})
			if (m == nil) == (err == nil) {
				t.Fatal(m, err)
			}
		}
	})
}
