package consensus

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/muster-discovery/muster/internal/consensus/wal"
	"github.com/muster-discovery/muster/internal/model"
)

// filled makes a data dir with n commands and a snapshot of them, and returns the
// index of the snapshot.
func filled(t *testing.T, n int) (dir string, index uint64) {
	t.Helper()
	dir = t.TempDir()
	l := openSingle(t, Config{Dir: dir, TrailingEntries: 1}, &listMachine{})
	awaitLeader(t, l)
	for i := range n {
		commit(t, l, fmt.Sprint(i))
	}
	if err := l.Snapshot(); err != nil {
		t.Fatal(err)
	}
	index = l.raft.LastIndex()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, index
}

// reopenWith changes the log and the snapshots of a closed data dir.
func withLog(t *testing.T, dir string, change func(*wal.Store)) {
	t.Helper()
	s, err := wal.Open(filepath.Join(dir, "log"), wal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	change(s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// A snapshot from the leader was installed, and the crash came before the old log
// was removed.
func TestLogEndsBeforeSnapshot(t *testing.T) {
	dir, index := filled(t, 10)
	withLog(t, dir, func(s *wal.Store) {
		if err := s.DeleteRange(index-3, index); err != nil {
			t.Fatal(err)
		}
	})
	m := &listMachine{}
	l := openSingle(t, Config{Dir: dir}, m)
	awaitLeader(t, l)
	commit(t, l, "more")
	if m.len() != 11 || m.restored != 1 {
		t.Errorf("%d commands, %d restores", m.len(), m.restored)
	}
}

func TestLogBeginsAfterSnapshot(t *testing.T) {
	dir, _ := filled(t, 10)
	if err := os.RemoveAll(filepath.Join(dir, "snapshots")); err != nil {
		t.Fatal(err)
	}
	withLog(t, dir, func(s *wal.Store) {
		first, last, _ := bounds(s)
		if err := s.DeleteRange(first, last); err != nil {
			t.Fatal(err)
		}
		if err := s.StoreLog(&raft.Log{Index: last + 1, Term: 9, Type: raft.LogNoop}); err != nil {
			t.Fatal(err)
		}
	})
	_, err := Open(Config{NodeID: "one", Dir: dir}, &listMachine{})
	if err == nil || !strings.Contains(err.Error(), "entries are missing") {
		t.Errorf("open: %v", err)
	}
}

func TestDamagedSnapshot(t *testing.T) {
	dir, _ := filled(t, 10)
	states, err := filepath.Glob(filepath.Join(dir, "snapshots", "*", "state.bin"))
	if err != nil || len(states) != 1 {
		t.Fatal(states, err)
	}
	content, err := os.ReadFile(states[0])
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)/2] ^= 1
	if err := os.WriteFile(states[0], content, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Config{NodeID: "one", Dir: dir}, &listMachine{}); err == nil || !strings.Contains(err.Error(), "snapshot") {
		t.Errorf("open: %v", err)
	}
}

func TestUnfinishedSnapshotIsRemoved(t *testing.T) {
	dir, _ := filled(t, 3)
	tmp := filepath.Join(dir, "snapshots", "1-2-3.tmp")
	if err := os.MkdirAll(tmp, 0o700); err != nil {
		t.Fatal(err)
	}
	l := openSingle(t, Config{Dir: dir}, &listMachine{})
	if _, err := os.Stat(tmp); !os.IsNotExist(err) {
		t.Errorf("still there: %v", err)
	}
	awaitLeader(t, l)
}

func TestSnapshotShrinksLog(t *testing.T) {
	dir := t.TempDir()
	l := openSingle(t, Config{Dir: dir, TrailingEntries: 5, SegmentSize: 1000}, &listMachine{})
	awaitLeader(t, l)
	for i := range 200 {
		commit(t, l, fmt.Sprint("a command of some length ", i))
	}
	before := segments(t, dir)
	if err := l.Snapshot(); err != nil {
		t.Fatal(err)
	}
	if after := segments(t, dir); after > 3 || before < 10 {
		t.Errorf("%d segments, %d after the snapshot", before, after)
	}
}

func segments(t *testing.T, dir string) int {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "log", "*.wal"))
	if err != nil {
		t.Fatal(err)
	}
	return len(paths)
}

// The crash came between the two steps of a bootstrap.
func TestInterruptedBootstrap(t *testing.T) {
	dir := t.TempDir()
	s, err := openStable(filepath.Join(dir, "stable"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.SetUint64([]byte(keyCurrentTerm), 1); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	l := openSingle(t, Config{Dir: dir}, &listMachine{})
	awaitLeader(t, l)
	commit(t, l, "a")
}

// A vote that was cast is not forgotten.
func TestVoteIsKept(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "stable")
	s, err := openStable(path)
	if err != nil {
		t.Fatal(err)
	}
	for key, v := range map[string]uint64{keyCurrentTerm: 1, keyLastVoteTerm: 1} {
		if err := s.SetUint64([]byte(key), v); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	l := openSingle(t, Config{Dir: dir}, &listMachine{})
	if l.HasState() {
		t.Error("a server that has voted was bootstrapped")
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = openStable(path); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if term, err := s.GetUint64([]byte(keyCurrentTerm)); term != 1 || err != nil {
		t.Errorf("term %d, %v", term, err)
	}
}

func TestLargeCommands(t *testing.T) {
	m := &listMachine{}
	l := openSingle(t, Config{}, m)
	awaitLeader(t, l)
	_, err := l.Commit(context.Background(), make([]byte, 1<<20+1))
	wantKind(t, "commit of more than the limit", err, model.KindTooLarge)
	commit(t, l, string(make([]byte, 1<<20)))
	if m.len() != 1 {
		t.Errorf("%d commands", m.len())
	}
}

// Commands fill entries up to the limit, in the order of the queue.
func TestGather(t *testing.T) {
	b := &batcher{queue: make(chan *proposal, 20), stop: make(chan struct{})}
	third := maxEntry / 3
	for _, size := range []int{10, third, third, third, maxEntry + 5, 1, 2, 3} {
		b.queue <- &proposal{command: make([]byte, size)}
	}
	gone := &proposal{}
	gone.taken.Store(true)
	b.queue <- gone
	b.queue <- &proposal{command: make([]byte, 4)}
	for _, want := range [][]int{{10, third, third}, {third}, {maxEntry + 5}, {1, 2, 3, 4}} {
		var got []int
		for _, p := range b.gather() {
			got = append(got, len(p.command))
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("gathered %v, want %v", got, want)
		}
	}
	close(b.stop)
	if batch := b.gather(); batch != nil {
		t.Errorf("gathered %d after close", len(batch))
	}
}

func TestConfigErrors(t *testing.T) {
	for name, c := range map[string]Config{
		"node id":            {},
		"LeaderLeaseTimeout": {NodeID: "a", LeaderLease: 1e12},
	} {
		if _, err := Open(c, &listMachine{}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
