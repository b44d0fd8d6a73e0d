package storage

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/muster-discovery/muster/internal/model"
)

const mib = 1 << 20

func TestMarks(t *testing.T) {
	for _, c := range []struct {
		name           string
		total, largest int64
		refuse         int64
	}{
		{"small disk, empty", 32 * mib, 0, 8 * mib},
		{"smaller than the log's files", 8 * mib, 0, 8 * mib * 2 / 5},
		{"a snapshot has to be written anew", 1 << 30, 100 * mib, 133 * mib},
		{"one in a hundred", 10 << 30, 0, 10 << 30 / 100},
		{"large disk", 10 << 40, 0, 256 * mib},
		{"large state on a large disk", 10 << 40, 1 << 30, 8*mib + 1280*mib},
		{"state larger than the disk could hold twice", 100 * mib, 70 * mib, 40 * mib},
	} {
		m := newMarks(c.total, c.largest)
		if m.refuse != c.refuse {
			t.Errorf("%s: refuses below %s, want %s", c.name, size(m.refuse), size(c.refuse))
		}
		if !(m.refuse < m.resume && m.resume < m.warn && m.warn < m.calm && m.calm < c.total) {
			t.Errorf("%s: %+v are out of order", c.name, m)
		}
	}
}

func TestStates(t *testing.T) {
	m := marks{total: 1000, refuse: 100, resume: 125, warn: 200, calm: 225}
	for _, c := range []struct {
		was  SpaceState
		free int64
		full time.Duration
		want SpaceState
	}{
		{SpaceOK, 500, never, SpaceOK},
		{SpaceOK, 210, never, SpaceOK},
		{SpaceOK, 199, never, SpaceWarning},
		{SpaceOK, 500, 10 * time.Minute, SpaceWarning},
		{SpaceOK, 500, 45 * time.Minute, SpaceOK},
		{SpaceOK, 99, never, SpaceRefusing},
		{SpaceWarning, 210, never, SpaceWarning},
		{SpaceWarning, 225, never, SpaceOK},
		{SpaceWarning, 500, 45 * time.Minute, SpaceWarning},
		{SpaceWarning, 110, never, SpaceWarning},
		{SpaceRefusing, 124, never, SpaceRefusing},
		{SpaceRefusing, 125, never, SpaceWarning},
		{SpaceRefusing, 500, never, SpaceOK},
	} {
		if got := m.next(c.was, c.free, c.full); got != c.want {
			t.Errorf("%v with %d free, full in %v: %v, want %v", c.was, c.free, c.full, got, c.want)
		}
	}
}

func TestForecast(t *testing.T) {
	start := time.Unix(1000, 0)
	fill := func(free func(second int) int64, seconds int) *forecast {
		f := &forecast{}
		for s := 0; s <= seconds; s++ {
			f.add(start.Add(time.Duration(s)*time.Second), free(s))
		}
		return f
	}
	line := func(s int) int64 { return 100*mib - int64(s)*mib/100 }
	saw := func(s int) int64 { return line(s) - int64(s%20)*mib/10 }
	for _, c := range []struct {
		name     string
		f        *forecast
		min, max time.Duration
	}{
		{"too early", fill(line, 50), never, never},
		{"nothing happens", fill(func(int) int64 { return 5 }, 300), never, never},
		{"it grows", fill(func(s int) int64 { return int64(s) }, 300), never, never},
		{"steady", fill(line, 100), 9899 * time.Second, 9901 * time.Second},
		{"steady, longer than the window", fill(line, 2000), 7999 * time.Second, 8001 * time.Second},
		{"in steps", fill(saw, 600), 8800 * time.Second, 9900 * time.Second},
		{"slower than anybody cares", fill(func(s int) int64 { return math.MaxInt64/2 - int64(s/60) }, 600), 1 << 40, never},
	} {
		if got := c.f.until(0); got < c.min || got > c.max {
			t.Errorf("%s: %v, want %v to %v", c.name, got, c.min, c.max)
		}
		if len(c.f.at) > samples {
			t.Errorf("%s: %d samples", c.name, len(c.f.at))
		}
	}
}

// fakeDisk is a disk whose free space is set by hand. The ballast takes its part.
type fakeDisk struct {
	mu          sync.Mutex
	total, free int64
	used        int64
	dir         string
}

func (d *fakeDisk) Size(string) (int64, int64, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	free := d.free
	if info, err := os.Stat(filepath.Join(d.dir, ballastFile)); err == nil {
		free -= info.Size()
	}
	return d.total, max(free, 0), true
}

func (d *fakeDisk) Usage(string) (int64, int64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.used, 0, nil
}

func (d *fakeDisk) set(free int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.free = free
}

func newSpace(t *testing.T, c SpaceConfig, total, free int64) (*Space, *fakeDisk) {
	t.Helper()
	dir := &Dir{path: t.TempDir()}
	d := &fakeDisk{total: total, free: free, dir: dir.path}
	c.disk, c.Node = d, "n1"
	s := NewSpace(dir, c)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = s.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	return s, d
}

// TestSpace goes through a disk that fills up, is full, and is emptied.
func TestSpace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewRegistry()
		s, d := newSpace(t, SpaceConfig{Registry: reg}, 100*mib, 60*mib)
		look := func(free int64) { d.set(free); time.Sleep(2 * lookEvery); synctest.Wait() }
		if s.State() != SpaceOK || s.Admit(mib) != nil || s.ballast.size() != 8*mib {
			t.Fatalf("%v, reserve %d", s.State(), s.ballast.size())
		}
		look(20 * mib) // 8 of them are the reserve
		if s.State() != SpaceWarning || s.Admit(mib) != nil {
			t.Errorf("%v", s.State())
		}
		look(15 * mib)
		err := s.Admit(100)
		if s.State() != SpaceRefusing || model.KindOf(err) != model.KindNoSpace {
			t.Fatalf("%v: %v", s.State(), err)
		}
		for _, part := range []string{"server n1", s.dir.path, "has 7.0 MiB free", "8.0 MiB are kept", "free space"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q does not say %q", err, part)
			}
		}
		look(17 * mib) // 9: above the mark, below the one to resume
		if s.State() != SpaceRefusing {
			t.Errorf("%v: no hysteresis", s.State())
		}
		look(0)
		if s.State() != SpaceRefusing || !s.MakeRoom() || s.MakeRoom() || s.ballast.size() != 0 {
			t.Errorf("%v, reserve %d", s.State(), s.ballast.size())
		}
		look(12 * mib) // enough to go on, too little for a new reserve
		if s.State() == SpaceRefusing || s.ballast.size() != 0 || s.Admit(mib) != nil {
			t.Errorf("%v, reserve %d", s.State(), s.ballast.size())
		}
		look(60 * mib)
		if s.State() != SpaceOK || s.ballast.size() != 8*mib {
			t.Errorf("%v, reserve %d: not back by itself", s.State(), s.ballast.size())
		}
		if _, err := reg.Gather(); err != nil {
			t.Error(err)
		}
	})
}

// TestSpaceCountsWrites: what is let in between two looks counts.
func TestSpaceCountsWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d := newSpace(t, SpaceConfig{Reserve: -1}, 100*mib, 20*mib)
		n := int64(0)
		for s.Admit(mib) == nil && n < 100 {
			n++
			d.set(20*mib - n*mib)
		}
		if n != 12 || s.State() != SpaceRefusing {
			t.Errorf("%d MiB let in with 12 MiB above the mark; %v", n, s.State())
		}
		d.set(9 * mib)
		if s.Admit(1) == nil {
			t.Error("a small write gets in where a large one did not")
		}
		d.set(50 * mib)
		time.Sleep(2 * lookEvery)
		synctest.Wait()
		for range 100 { // into space that was set aside before, say
			if err := s.Admit(mib); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestQuota(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d := newSpace(t, SpaceConfig{Quota: 50 * mib, Reserve: -1}, 1000*mib, 900*mib)
		if s.State() != SpaceOK {
			t.Fatalf("%v", s.State())
		}
		d.mu.Lock()
		d.used = 45 * mib
		d.mu.Unlock()
		time.Sleep(2 * usageEvery)
		synctest.Wait()
		if err := s.Admit(1); err == nil || !strings.Contains(err.Error(), "storage.quota") {
			t.Errorf("%v", err)
		}
	})
}

// TestFilling: a disk that others fill is foretold.
func TestFilling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d := newSpace(t, SpaceConfig{}, 1000*mib, 900*mib)
		for i := range 120 {
			d.set((900 - int64(i)) * mib)
			time.Sleep(time.Second)
		}
		if got := s.fullInSeconds(); s.State() != SpaceWarning || got < 600 || got > 800 {
			t.Errorf("%v, full in %v s", s.State(), got)
		}
	})
}

func TestBallastIsKeptOverRestarts(t *testing.T) {
	path := filepath.Join(t.TempDir(), ballastFile)
	b := &ballast{path: path}
	if b.release() {
		t.Error("released what is not there")
	}
	if err := b.make(3 * mib); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || blocks(info) < 3*mib {
		t.Fatalf("%v: %d bytes on disk", err, blocks(info))
	}
	again := &ballast{path: path}
	if again.size() != 3*mib || !again.release() || again.release() {
		t.Errorf("%d bytes after a restart", again.size())
	}
	if info, err = os.Stat(path); err == nil && info.Size() != 0 {
		t.Errorf("%d bytes are left", info.Size())
	}
}

// TestJournalUsesReserve: a journal of the directory goes on when its disk is full.
func TestJournalUsesReserve(t *testing.T) {
	full := true
	d := &Dir{path: t.TempDir(), makeRoom: func() bool { full = false; return true }}
	j, err := d.Journal("j")
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	j.file = fullFile{j.file, &full}
	if err := j.Put(t.Context(), "k", []byte("v")); err != nil || full {
		t.Fatalf("%v", err)
	}
	full, j.makeRoom = true, func() bool { return false }
	if err := j.Put(t.Context(), "k", []byte("w")); !IsFull(err) {
		t.Fatalf("%v", err)
	}
	full = false
	if err := j.Put(t.Context(), "k", []byte("x")); err != nil {
		t.Fatalf("with space again: %v", err)
	}
}

type fullFile struct {
	journalFile
	full *bool
}

func (f fullFile) WriteAt(b []byte, at int64) (int, error) {
	if *f.full {
		return 0, syscall.ENOSPC
	}
	return f.journalFile.WriteAt(b, at)
}
