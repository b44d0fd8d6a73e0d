package wal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"
	"pgregory.net/rapid"
)

func open(t testing.TB, dir string, o Options) *Store {
	t.Helper()
	if o.fsys == nil {
		o.fsys = &faultyDisk{}
	}
	if o.SegmentSize == 0 {
		o.SegmentSize = 4096
	}
	s, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// logs makes entries first to last; those of different terms differ in length.
func logs(term, first, last uint64) []*raft.Log {
	var out []*raft.Log
	for i := first; i <= last; i++ {
		out = append(out, &raft.Log{
			Index: i, Term: term, Type: raft.LogType(i % 3),
			Data:       []byte(strings.Repeat(fmt.Sprint(term, "/", i, " "), int(i*term%7))),
			Extensions: bytes.Repeat([]byte{byte(i)}, int(i%3)),
			AppendedAt: time.Unix(0, int64(i*term)),
		})
	}
	return out
}

func store(t testing.TB, s *Store, entries []*raft.Log) {
	t.Helper()
	if err := s.StoreLogs(entries); err != nil {
		t.Fatal(err)
	}
}

func remove(t testing.TB, s *Store, min, max uint64) {
	t.Helper()
	if err := s.DeleteRange(min, max); err != nil {
		t.Fatal(err)
	}
}

func check(t testing.TB, s *Store, want []*raft.Log) {
	t.Helper()
	if err := compare(s, want); err != nil {
		t.Fatal(err)
	}
}

func compare(s *Store, want []*raft.Log) error {
	first, err1 := s.FirstIndex()
	last, err2 := s.LastIndex()
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	if len(want) == 0 {
		if first != 0 || last != 0 {
			return fmt.Errorf("log has %d to %d, want none", first, last)
		}
		return nil
	}
	if first != want[0].Index || last != want[len(want)-1].Index {
		return fmt.Errorf("log has %d to %d, want %d to %d", first, last, want[0].Index, want[len(want)-1].Index)
	}
	for _, w := range want {
		var got raft.Log
		if err := s.GetLog(w.Index, &got); err != nil {
			return fmt.Errorf("entry %d: %w", w.Index, err)
		}
		if got.Index != w.Index || got.Term != w.Term || got.Type != w.Type || !got.AppendedAt.Equal(w.AppendedAt) ||
			!bytes.Equal(got.Data, w.Data) || !bytes.Equal(got.Extensions, w.Extensions) {
			return fmt.Errorf("entry %d is %+v, want %+v", w.Index, got, *w)
		}
	}
	var got raft.Log
	for _, i := range []uint64{first - 1, last + 1} {
		if err := s.GetLog(i, &got); !errors.Is(err, raft.ErrLogNotFound) {
			return fmt.Errorf("entry %d outside the log: %v", i, err)
		}
	}
	return nil
}

// Random operations and restarts against a slice.
func TestStoreIsASlice(t *testing.T) {
	root := t.TempDir()
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		dir := filepath.Join(root, fmt.Sprint(n))
		o := Options{SegmentSize: 700}
		s := open(t, dir, o)
		defer func() { s.Close() }()
		var want []*raft.Log
		term := uint64(0)
		rt.Repeat(map[string]func(*rapid.T){
			"append": func(rt *rapid.T) {
				term++
				next := rapid.Uint64Range(1, 50).Draw(rt, "first")
				if len(want) > 0 {
					next = want[len(want)-1].Index + 1
				}
				batch := logs(term, next, next+rapid.Uint64Range(0, 9).Draw(rt, "more"))
				store(t, s, batch)
				want = append(want, batch...)
			},
			"cut": func(rt *rapid.T) {
				if len(want) == 0 {
					rt.Skip()
				}
				at := rapid.IntRange(0, len(want)-1).Draw(rt, "at")
				remove(t, s, want[at].Index, want[len(want)-1].Index)
				want = want[:at:at]
			},
			"head": func(rt *rapid.T) {
				if len(want) == 0 {
					rt.Skip()
				}
				at := rapid.IntRange(0, len(want)-1).Draw(rt, "at")
				remove(t, s, want[0].Index, want[at].Index)
				want = want[at+1:]
			},
			"reopen": func(rt *rapid.T) {
				if err := s.Close(); err != nil {
					rt.Fatal(err)
				}
				s = open(t, dir, o)
				// The head goes by whole segments; what is back must be older.
				first, _ := s.FirstIndex()
				if len(want) > 0 && first < want[0].Index {
					remove(t, s, first, want[0].Index-1)
				}
				if last, _ := s.LastIndex(); len(want) == 0 && last > 0 {
					rt.Fatalf("an empty log came back with %d to %d", first, last)
				}
			},
			"": func(rt *rapid.T) {
				if err := compare(s, want); err != nil {
					rt.Fatal(err)
				}
			},
		})
	})
}

func TestRefusesGaps(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	store(t, s, logs(1, 5, 9))
	for _, batch := range [][]*raft.Log{
		logs(1, 9, 9), logs(1, 11, 12), append(logs(1, 10, 10), logs(1, 12, 12)...), logs(1, 0, 0),
	} {
		if err := s.StoreLogs(batch); err == nil {
			t.Errorf("entry %d was stored behind 9", batch[0].Index)
		}
	}
	if err := s.DeleteRange(6, 7); err == nil {
		t.Error("a hole was made")
	}
	for _, r := range [][2]uint64{{1, 4}, {10, 20}, {8, 7}} {
		remove(t, s, r[0], r[1])
	}
	check(t, s, logs(1, 5, 9))
}

func TestSegments(t *testing.T) {
	dir := t.TempDir()
	o := Options{SegmentSize: 1000}
	s := open(t, dir, o)
	var want []*raft.Log
	for i := uint64(1); i <= 200; i++ {
		store(t, s, logs(1, i, i))
		want = append(want, logs(1, i, i)...)
	}
	paths, err := listSegments(dir)
	if err != nil || len(paths) < 10 {
		t.Fatalf("segments %v, %v", paths, err)
	}
	remove(t, s, 1, 150)
	check(t, s, want[150:])
	left, err := listSegments(dir)
	if err != nil || len(left) > len(paths)/3 {
		t.Errorf("%d of %d segments are left, %v", len(left), len(paths), err)
	}
	remove(t, s, 151, 200)
	check(t, s, nil)
	s.Close()
	s = open(t, dir, o)
	check(t, s, nil)
	store(t, s, logs(3, 1000, 1003))
	check(t, s, logs(3, 1000, 1003))
}

// Every way in which the last write can be cut off, in an append of three
// entries: the file ends early, or has zeros from there on.
func TestTornTail(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{SegmentSize: 4096})
	store(t, s, logs(2, 1, 3))
	keep := s.segments[0].end
	store(t, s, logs(2, 4, 6))
	path, offsets, end := s.segments[0].path, s.segments[0].offsets, s.segments[0].end
	s.Close()
	whole := read(t, path)[:end]
	for cut := keep; cut < end; cut++ {
		// What may be left of the write are its first entries.
		have := uint64(3)
		for i := 3; i < 6; i++ {
			next := end
			if i < 5 {
				next = int64(offsets[i+1])
			}
			if cut >= next {
				have++
			}
		}
		for _, tail := range [][]byte{nil, make([]byte, 64)} {
			rewrite(t, path, append(append([]byte(nil), whole[:cut]...), tail...))
			s := open(t, dir, Options{SegmentSize: 4096})
			last, _ := s.LastIndex()
			// A frame may be whole without its padding.
			if last != have && last != have+1 {
				t.Fatalf("cut at %d: log ends with %d, want %d", cut, last, have)
			}
			store(t, s, logs(3, last+1, last+1))
			s.Close()
			s = open(t, dir, Options{SegmentSize: 4096})
			check(t, s, append(logs(2, 1, last), logs(3, last+1, last+1)...))
			s.Close()
		}
	}
}

// Pages of the last write may reach the disk in any order.
func TestTornMiddleOfLastWrite(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{SegmentSize: 4096})
	store(t, s, logs(2, 1, 3))
	store(t, s, logs(2, 4, 9))
	path, at := s.segments[0].path, s.segments[0].offsets[5]
	s.Close()
	content := read(t, path)
	clear(content[at : at+frameHead])
	rewrite(t, path, content)
	s = open(t, dir, Options{SegmentSize: 4096})
	check(t, s, logs(2, 1, 5))
	store(t, s, logs(3, 6, 6))
	s.Close()
	check(t, open(t, dir, Options{SegmentSize: 4096}), append(logs(2, 1, 5), logs(3, 6, 6)...))
}

// Damage before the last write is not a torn tail.
func TestDamage(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spoil func(t *testing.T, paths []string)
	}{
		{"flipped byte before the last write", func(t *testing.T, paths []string) { flip(t, paths[len(paths)-1], headerSize+20) }},
		{"flipped byte in an older segment", func(t *testing.T, paths []string) { flip(t, paths[0], headerSize+20) }},
		{"header of the last segment", func(t *testing.T, paths []string) { flip(t, paths[len(paths)-1], 20) }},
		{"older segment cut short", func(t *testing.T, paths []string) { rewrite(t, paths[0], read(t, paths[0])[:headerSize+64]) }},
		{"missing segment", func(t *testing.T, paths []string) { must(t, os.Remove(paths[1])) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir, Options{SegmentSize: 500})
			for i := uint64(1); i < 40 || len(s.segments[len(s.segments)-1].offsets) < 3; i++ {
				store(t, s, logs(2, i, i))
			}
			s.Close()
			paths, err := listSegments(dir)
			must(t, err)
			tt.spoil(t, paths)
			_, err = Open(dir, Options{fsys: &faultyDisk{}})
			if err == nil || !strings.Contains(err.Error(), dir) {
				t.Errorf("open: %v", err)
			}
		})
	}
}

func TestNewerFormat(t *testing.T) {
	dir := t.TempDir()
	h := header{first: 1}.encode()
	h[len(fileMagic)] = 2
	sum(h)
	rewrite(t, filepath.Join(dir, segmentName(1)), h)
	if _, err := Open(dir, Options{}); err == nil || !strings.Contains(err.Error(), "newer version") {
		t.Errorf("open: %v", err)
	}
}

// A crash while a segment file was made leaves any part of its header.
func TestAbandonedSegment(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	store(t, s, logs(1, 1, 3))
	s.Close()
	next := header{first: 4}.encode()
	for n := 0; n <= headerSize; n++ {
		for _, tail := range [][]byte{nil, make([]byte, 500)} {
			rewrite(t, filepath.Join(dir, segmentName(4)), append(append([]byte(nil), next[:n]...), tail...))
			s := open(t, dir, Options{})
			check(t, s, logs(1, 1, 3))
			store(t, s, logs(1, 4, 4))
			check(t, s, logs(1, 1, 4))
			remove(t, s, 4, 4)
			s.Close()
		}
	}
}

func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	d := &faultyDisk{}
	s := open(t, dir, Options{SegmentSize: 300, fsys: d})
	store(t, s, logs(2, 1, 2))
	d.write, d.short = syscall.ENOSPC, true
	if err := s.StoreLogs(logs(2, 3, 6)); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("write: %v", err)
	}
	check(t, s, logs(2, 1, 2))
	d.write = nil
	store(t, s, logs(2, 3, 6)) // the segment is full now
	d.create = syscall.ENOSPC
	if err := s.StoreLogs(logs(2, 7, 7)); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("new segment: %v", err)
	}
	d.create = nil
	store(t, s, logs(2, 7, 8))
	s.Close()
	check(t, open(t, dir, Options{}), logs(2, 1, 8))
}

// TestMakesRoom: a full disk is tried once more where somebody made room, and where a
// new segment can't be reserved it is used without.
func TestMakesRoom(t *testing.T) {
	d := &faultyDisk{}
	rooms, failed := 1, 0
	s := open(t, t.TempDir(), Options{SegmentSize: 300, fsys: d, Failed: func(error) { failed++ }, MakeRoom: func() bool {
		if rooms == 0 {
			return false
		}
		rooms--
		d.write, d.create = nil, nil
		return true
	}})
	d.create = syscall.ENOSPC
	store(t, s, logs(2, 1, 2))
	rooms, d.write, d.short = 1, syscall.ENOSPC, true
	store(t, s, logs(2, 3, 8))
	d.write = syscall.ENOSPC
	if err := s.StoreLogs(logs(2, 9, 9)); !errors.Is(err, ErrFull) || failed != 1 {
		t.Errorf("%v, %d failures", err, failed)
	}
	d.write, d.reserve = nil, syscall.ENOSPC
	store(t, s, logs(2, 9, 20))
	check(t, s, logs(2, 1, 20))
	d.write, d.trim = syscall.ENOSPC, syscall.EIO
	if err := s.StoreLogs(logs(2, 21, 21)); err == nil || errors.Is(err, ErrFull) {
		t.Errorf("what is on disk is not known, and yet: %v", err)
	}
	s.Close()
	d.trim = nil
	check(t, open(t, s.dir, Options{}), logs(2, 1, 20))
}

func TestBreaks(t *testing.T) {
	for name, d := range map[string]*faultyDisk{
		"sync":          {sync: syscall.EIO},
		"write and cut": {write: syscall.EIO, trim: syscall.EIO},
	} {
		well := &faultyDisk{}
		s := open(t, t.TempDir(), Options{fsys: well})
		store(t, s, logs(1, 1, 2))
		well.sync, well.write, well.trim = d.sync, d.write, d.trim
		for range 2 {
			if err := s.StoreLogs(logs(1, 3, 3)); !errors.Is(err, syscall.EIO) {
				t.Errorf("%s: %v", name, err)
			}
			if err := s.DeleteRange(1, 1); !errors.Is(err, syscall.EIO) {
				t.Errorf("%s: delete: %v", name, err)
			}
			// The disk seems well again, but what is on it is unknown.
			well.sync, well.write, well.trim = nil, nil, nil
		}
		check(t, s, logs(1, 1, 2))
	}
}

func TestOneSyncForABatch(t *testing.T) {
	d := &faultyDisk{}
	var synced int
	s := open(t, t.TempDir(), Options{fsys: d, Appended: func(time.Duration) { synced++ }})
	store(t, s, logs(1, 1, 1))
	before := d.syncs.Load()
	store(t, s, logs(1, 2, 100))
	if n := d.syncs.Load() - before; n != 1 || synced != 2 {
		t.Errorf("%d syncs, told of %d", n, synced)
	}
}

// TestTellsOfAppends: whoever watches for a slow disk hears of an append before it hangs.
func TestTellsOfAppends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &faultyDisk{}
		var told []string
		s := open(t, t.TempDir(), Options{fsys: d,
			Appending: func(n int) { told = append(told, fmt.Sprintf("%t %v", n > 100, d.syncs.Load())) },
			Appended:  func(took time.Duration) { told = append(told, took.String()) },
		})
		store(t, s, logs(2, 1, 5))
		before := d.syncs.Load()
		told, d.slow = nil, 700*time.Millisecond
		store(t, s, logs(2, 6, 10))
		d.write = syscall.EIO
		if s.StoreLogs(logs(2, 11, 11)) == nil {
			t.Error("no error")
		}
		want := []string{fmt.Sprintf("true %d", before), "700ms", fmt.Sprintf("false %d", before+1), "-1ns"}
		if fmt.Sprint(told) != fmt.Sprint(want) {
			t.Errorf("%q, want %q", told, want)
		}
	})
}

func TestClosed(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	store(t, s, logs(1, 1, 2))
	must(t, s.Close())
	must(t, s.Close())
	_, err1 := s.FirstIndex()
	_, err2 := s.LastIndex()
	for i, err := range []error{err1, err2, s.GetLog(1, new(raft.Log)), s.StoreLogs(logs(1, 3, 3)), s.DeleteRange(1, 1)} {
		if !errors.Is(err, errClosed) {
			t.Errorf("%d: %v", i, err)
		}
	}
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	must(t, err)
	return content
}

func rewrite(t testing.TB, path string, content []byte) {
	t.Helper()
	must(t, os.WriteFile(path, content, 0o600))
}

func flip(t testing.TB, path string, at int) {
	t.Helper()
	content := read(t, path)
	content[at] ^= 1
	rewrite(t, path, content)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
