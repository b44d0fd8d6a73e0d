package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"pgregory.net/rapid"
)

func openJournal(t testing.TB, path string) *Journal {
	t.Helper()
	j, err := OpenJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

func put(t testing.TB, j *Journal, key, value string) {
	t.Helper()
	if err := j.Put(context.Background(), key, []byte(value)); err != nil {
		t.Fatal(err)
	}
}

func load(t testing.TB, j *Journal) map[string]string {
	t.Helper()
	values, err := j.Load()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for k, v := range values {
		out[k] = string(v)
	}
	return out
}

// Random operations and restarts against a map.
func TestJournalIsAMap(t *testing.T) {
	dir := quickDir(t)
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		path := filepath.Join(dir, fmt.Sprint(n))
		j := openQuick(t, path)
		defer func() { j.Close() }()
		want := map[string]string{}
		key := rapid.SampledFrom([]string{"", "a", "b", "c", strings.Repeat("k", 300)})
		rt.Repeat(map[string]func(*rapid.T){
			"put": func(rt *rapid.T) {
				k, v := key.Draw(rt, "key"), string(rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(rt, "value"))
				put(t, j, k, v)
				want[k] = v
			},
			"delete": func(rt *rapid.T) {
				k := key.Draw(rt, "key")
				if err := j.Delete(context.Background(), k); err != nil {
					rt.Fatal(err)
				}
				delete(want, k)
			},
			"reopen": func(rt *rapid.T) {
				if err := j.Close(); err != nil {
					rt.Fatal(err)
				}
				j = openQuick(t, path)
			},
			"": func(rt *rapid.T) {
				if got := load(t, j); !maps.Equal(got, want) {
					rt.Fatalf("journal has %q, want %q", got, want)
				}
			},
		})
	})
}

// quickDir is a directory in memory where there is one: these tests open journals
// by the hundred, and are not about the disk.
func quickDir(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "muster-test")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// openQuick opens a journal that does not sync and compacts early.
func openQuick(t *testing.T, path string) *Journal {
	j := openJournal(t, path)
	j.file = &faultyFile{journalFile: j.file, noSync: true}
	j.create = func(path string) (journalFile, error) {
		f, err := createFile(path)
		return &faultyFile{journalFile: f, noSync: true}, err
	}
	j.compactAt = 500
	return j
}

func TestJournalCompacts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	j := openJournal(t, path)
	value := strings.Repeat("x", 100_000)
	for i := range 50 {
		put(t, j, "key", fmt.Sprint(i, value))
	}
	put(t, j, "other", "y")
	if j.size > 2*compactAt {
		t.Errorf("%d bytes for %d live ones", j.size, j.live)
	}
	j.Close()
	if _, err := os.Stat(path + ".tmp"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("left behind: %v", err)
	}
	want := map[string]string{"key": fmt.Sprint(49, value), "other": "y"}
	if got := load(t, openJournal(t, path)); !maps.Equal(got, want) {
		t.Error("lost by compaction")
	}
}

// Every way in which the last write can be cut off: the file ends early, or has
// zeros from there on.
func TestJournalTornTail(t *testing.T) {
	path := filepath.Join(quickDir(t), "j")
	j := openJournal(t, path)
	put(t, j, "a", "1")
	keep := j.size
	put(t, j, "b", "22")
	whole := readUpTo(t, path, j.size)
	j.Close()
	for cut := keep; cut < int64(len(whole)); cut++ {
		for _, tail := range [][]byte{nil, make([]byte, 100)} {
			content := append(append([]byte(nil), whole[:cut]...), tail...)
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			j := openJournal(t, path)
			put(t, j, "c", "3")
			j.Close()
			j = openJournal(t, path)
			if got := load(t, j); !maps.Equal(got, map[string]string{"a": "1", "c": "3"}) {
				t.Fatalf("cut at %d: %q", cut, got)
			}
			j.Close()
		}
	}
}

func TestJournalDamage(t *testing.T) {
	path := filepath.Join(quickDir(t), "j")
	j := openJournal(t, path)
	put(t, j, "a", "1")
	first := j.size
	put(t, j, "b", "22")
	last := j.size
	put(t, j, "c", "3")
	whole := readUpTo(t, path, j.size)
	j.Close()
	for at := first; at < last; at++ {
		content := append([]byte(nil), whole...)
		content[at] ^= 0x40
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenJournal(path); err == nil || !strings.Contains(err.Error(), "damaged") {
			t.Fatalf("byte %d flipped: %v", at, err)
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, content) {
			t.Fatalf("byte %d flipped: the file was changed", at)
		}
	}
}

func TestJournalForeignFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	for content, want := range map[string]string{
		"":                        "not a journal",
		"hello":                   "not a journal",
		"hello, this is a text":   "not a journal",
		journalMagic + "\x07abcd": "format 7",
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenJournal(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("open %q: %v", content, err)
		}
	}
}

func TestJournalSharesSyncs(t *testing.T) {
	j := openJournal(t, filepath.Join(t.TempDir(), "j"))
	f := &faultyFile{journalFile: j.file}
	j.file = f
	const callers, each = 64, 20
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			for i := range each {
				if err := j.Put(context.Background(), fmt.Sprint(c, ".", i), []byte("v")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := len(load(t, j)); n != callers*each {
		t.Errorf("%d records, want %d", n, callers*each)
	}
	if n := f.syncs.Load(); n > callers*each/2 {
		t.Errorf("%d syncs for %d puts", n, callers*each)
	}
}

// faultyFile fails on demand and counts.
type faultyFile struct {
	journalFile
	syncs             atomic.Int64
	write, sync, trim error
	noSync            bool
	short             bool // a failed write leaves half of its bytes
}

func (f *faultyFile) WriteAt(p []byte, off int64) (int, error) {
	if f.write == nil {
		return f.journalFile.WriteAt(p, off)
	}
	n := 0
	if f.short {
		n, _ = f.journalFile.WriteAt(p[:len(p)/2], off)
	}
	return n, f.write
}

func (f *faultyFile) Sync() error {
	f.syncs.Add(1)
	if f.sync != nil || f.noSync {
		return f.sync
	}
	return f.journalFile.Sync()
}

func (f *faultyFile) Truncate(size int64) error {
	if f.trim != nil {
		return f.trim
	}
	return f.journalFile.Truncate(size)
}

func TestJournalFullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	j := openJournal(t, path)
	put(t, j, "a", "1")
	f := &faultyFile{journalFile: j.file, write: syscall.ENOSPC, short: true}
	j.file = f
	if err := j.Put(context.Background(), "b", []byte("a long value that is cut")); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("put on a full disk: %v", err)
	}
	if got := load(t, j); !maps.Equal(got, map[string]string{"a": "1"}) {
		t.Errorf("after the failure: %q", got)
	}
	f.write = nil
	put(t, j, "c", "3")
	j.Close()
	if got := load(t, openJournal(t, path)); !maps.Equal(got, map[string]string{"a": "1", "c": "3"}) {
		t.Errorf("after there was space again: %q", got)
	}
}

func TestJournalBreaks(t *testing.T) {
	for name, f := range map[string]*faultyFile{
		"sync":          {sync: syscall.EIO},
		"write and cut": {write: syscall.EIO, trim: syscall.EIO},
	} {
		j := openJournal(t, filepath.Join(t.TempDir(), "j"))
		put(t, j, "a", "1")
		f.journalFile = j.file
		j.file = f
		for range 2 {
			if err := j.Put(context.Background(), "b", []byte("2")); !errors.Is(err, syscall.EIO) {
				t.Errorf("%s: %v", name, err)
			}
			// The disk seems well again, but what is on it is unknown.
			f.sync, f.write, f.trim = nil, nil, nil
		}
	}
}

func TestJournalClosedAndCanceled(t *testing.T) {
	j := openJournal(t, filepath.Join(t.TempDir(), "j"))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := j.Put(ctx, "a", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("put with a canceled context: %v", err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
	if err := j.Put(context.Background(), "a", nil); !errors.Is(err, errClosed) {
		t.Errorf("put after close: %v", err)
	}
	if _, err := j.Load(); !errors.Is(err, errClosed) {
		t.Errorf("load after close: %v", err)
	}
}

func FuzzDecodeBatch(f *testing.F) {
	b := appendRecord(beginBatch(), opPut, "key", []byte("value"))
	b = appendRecord(b, opDelete, "other", nil)
	sealBatch(b, 7)
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		// A right checksum lets the fuzzer reach the records.
		if len(b) >= batchHead {
			sealBatch(b, 7)
		}
		records, n, err := decodeBatch(b, 7)
		if err != nil {
			return
		}
		again := beginBatch()
		for _, r := range records {
			if r.op == opPut && !bytes.Equal(r.value, b[r.at:r.at+int64(len(r.value))]) {
				t.Errorf("value of %q is not at %d", r.key, r.at)
			}
			again = appendRecord(again, r.op, r.key, r.value)
		}
		if len(again) > n {
			t.Errorf("%d bytes became %d", n, len(again))
		}
	})
}

func readUpTo(t *testing.T, path string, size int64) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content[:size]
}

// countedFile counts over compactions.
type countedFile struct {
	journalFile
	syncs *atomic.Int64
}

func (f countedFile) Sync() error {
	f.syncs.Add(1)
	return f.journalFile.Sync()
}

func BenchmarkJournalPut(b *testing.B) {
	for _, callers := range []int{1, 16, 64, 256} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			j := openJournal(b, filepath.Join(b.TempDir(), "j"))
			var syncs atomic.Int64
			j.file = countedFile{j.file, &syncs}
			j.create = func(path string) (journalFile, error) {
				f, err := createFile(path)
				return countedFile{f, &syncs}, err
			}
			value := bytes.Repeat([]byte("v"), 500)
			var next atomic.Int64
			b.ResetTimer()
			var wg sync.WaitGroup
			for range callers {
				wg.Go(func() {
					for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
						if err := j.Put(context.Background(), fmt.Sprint(i%10_000), value); err != nil {
							b.Error(err)
						}
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "puts/s")
			b.ReportMetric(float64(b.N)/float64(syncs.Load()), "puts/sync")
		})
	}
}
