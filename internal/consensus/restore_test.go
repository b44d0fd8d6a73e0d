package consensus

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-discovery/muster/internal/model"
)

// image is a listMachine's snapshot of these commands.
func image(t testing.TB, commands ...string) []byte {
	t.Helper()
	w, err := (&listMachine{commands: commands}).Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := w.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func given(b []byte) func() (io.Reader, int64, error) {
	return func() (io.Reader, int64, error) { return bytes.NewReader(b), int64(len(b)), nil }
}

func TestRestoreReachesAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		leader := c.leader()
		for i := range 20 {
			commit(t, leader, fmt.Sprint(i))
		}
		if err := leader.Restore(t.Context(), given(image(t, "x", "y"))); err != nil {
			t.Fatal(err)
		}
		commit(t, leader, "after")
		for id, m := range c.machines {
			eventually(t, id+" has the restored state", func() bool { return slices.Equal(m.list(), []string{"x", "y", "after"}) })
		}
		for _, l := range c.followers() {
			wantKind(t, "restore on a follower", l.Restore(t.Context(), given(nil)), model.KindNotLeader)
		}
	})
}

// TestRestoreHoldsWritesBack: what was acknowledged before is seen by prepare, what
// comes later waits and goes onto the restored state. Nothing that was acknowledged
// afterwards is lost.
func TestRestoreHoldsWritesBack(t *testing.T) {
	for range 20 {
		m := &listMachine{}
		l := openSingle(t, Config{Dir: t.TempDir()}, m)
		awaitLeader(t, l)
		stop, acked := make(chan struct{}), make(chan []string)
		for w := range 4 {
			go func() {
				var done []string
				for i := 0; ; i++ {
					select {
					case <-stop:
						acked <- done
						return
					default:
					}
					c := fmt.Sprintf("%d.%d", w, i)
					if _, err := l.Commit(context.Background(), []byte(c)); err != nil {
						t.Error(err)
					}
					done = append(done, c)
				}
			}()
		}
		var before []string
		err := l.Restore(t.Context(), func() (io.Reader, int64, error) {
			before = m.list()
			return given(image(t, "restored"))()
		})
		if err != nil {
			t.Fatal(err)
		}
		commit(t, l, "last")
		close(stop)
		have := map[string]bool{}
		for _, c := range append(m.list(), before...) {
			have[c] = true
		}
		for range 4 {
			for _, c := range <-acked {
				if !have[c] && !slices.Contains(m.list(), c) {
					t.Fatalf("%s was acknowledged and is in neither state", c)
				}
			}
		}
		if m.list()[0] != "restored" {
			t.Fatal(m.list())
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRestoreFails(t *testing.T) {
	m := &listMachine{}
	l := openSingle(t, Config{Dir: t.TempDir()}, m)
	awaitLeader(t, l)
	commit(t, l, "a")
	mine := model.Errorf(model.KindInvalid, "mine")
	for name, prepare := range map[string]func() (io.Reader, int64, error){
		"prepare": func() (io.Reader, int64, error) { return nil, 0, mine },
		"size":    func() (io.Reader, int64, error) { return strings.NewReader("abc"), 4, nil },
	} {
		if err := l.Restore(t.Context(), prepare); err == nil || name == "prepare" && err != mine {
			t.Errorf("%s: %v", name, err)
		}
		commit(t, l, "b") // it goes on
	}
	if got := strings.Join(m.list(), " "); got != "a b b" {
		t.Error(got)
	}
	// Somebody else restores for a while.
	resume, err := l.batcher.pause(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	wantKind(t, "second restore", l.Restore(ctx, given(nil)), model.KindUnavailable)
	resume()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := l.Restore(t.Context(), given(nil)); err == nil {
		t.Error("restored after close")
	}
}

// TestRestoreIsDurable: the restored state is there after a restart.
func TestRestoreIsDurable(t *testing.T) {
	dir := t.TempDir()
	l := openSingle(t, Config{Dir: dir}, &listMachine{})
	awaitLeader(t, l)
	commit(t, l, "a")
	if err := l.Restore(t.Context(), given(image(t, "x"))); err != nil {
		t.Fatal(err)
	}
	commit(t, l, "b")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	m := &listMachine{}
	l = openSingle(t, Config{Dir: dir}, m)
	awaitLeader(t, l)
	if got := strings.Join(m.list(), " "); got != "x b" {
		t.Error(got)
	}
}

// TestSnapshotBySize: the log is cut by its size, also where Raft would wait for more
// entries, and the usual number of entries stays behind an ordinary snapshot.
func TestSnapshotBySize(t *testing.T) {
	dir := t.TempDir()
	l := openSingle(t, Config{Dir: dir, SegmentSize: 1000, SnapshotBytes: 5000, SnapshotThreshold: 1 << 20}, &listMachine{})
	awaitLeader(t, l)
	most := 0
	for i := range 300 {
		commit(t, l, fmt.Sprintf("a command of a hundred bytes, so that not too many of them fit into a segment of the log: %8d", i))
		most = max(most, segments(t, dir))
	}
	if most > 30 {
		t.Errorf("%d segments", most)
	}
	eventually(t, "few segments", func() bool { return segments(t, dir) <= 12 })
	eventually(t, "the usual length again", func() bool { return l.raft.ReloadableConfig().TrailingLogs == 10240 })
}
