package consensus

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-discovery/muster/internal/model"
)

func TestSingleServer(t *testing.T) {
	for _, dir := range []string{"", t.TempDir()} {
		m := &listMachine{}
		l := openSingle(t, Config{Dir: dir}, m)
		awaitLeader(t, l)
		if !l.LeaseValid() || !l.HasState() || l.LastContact() != 0 {
			t.Errorf("lease %v, state %v, contact %v", l.LeaseValid(), l.HasState(), l.LastContact())
		}
		if id, _ := l.Leader(); id != "one" {
			t.Errorf("leader %q", id)
		}
		commit(t, l, "a")
		commit(t, l, "b")
		if got := strings.Join(m.list(), " "); got != "a b" {
			t.Errorf("machine has %q", got)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if _, err := l.Commit(context.Background(), []byte("c")); model.KindOf(err) == model.KindInternal {
			t.Errorf("commit after close: %v", err)
		}
	}
}

// The only voter does not wait for anyone: no time passes at all.
func TestSingleServerLeadsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		bootstrapped := openSingle(t, Config{}, &listMachine{})
		awaitLeader(t, bootstrapped)
		later, err := Open(Config{NodeID: "two"}, &listMachine{})
		if err != nil {
			t.Fatal(err)
		}
		defer later.Close()
		if err := later.Bootstrap([]Server{{ID: "two", Addr: "two", Voter: true}}); err != nil {
			t.Fatal(err)
		}
		awaitLeader(t, later)
		if took := time.Since(start); took > time.Millisecond {
			t.Errorf("leader after %v", took)
		}
	})
}

func TestRestartKeepsCommands(t *testing.T) {
	dir := t.TempDir()
	var want []string
	for round := range 5 {
		m := &listMachine{}
		l := openSingle(t, Config{Dir: dir, TrailingEntries: 3}, m)
		awaitLeader(t, l)
		if got := m.list(); strings.Join(got, " ") != strings.Join(want, " ") {
			t.Fatalf("round %d: machine has %v, want %v", round, got, want)
		}
		for i := range 10 {
			c := fmt.Sprintf("%d.%d", round, i)
			commit(t, l, c)
			want = append(want, c)
		}
		if round%2 == 1 {
			if err := l.Snapshot(); err != nil {
				t.Fatal(err)
			}
			if err := l.Snapshot(); err != nil {
				t.Errorf("second snapshot: %v", err)
			}
		}
		commit(t, l, "after")
		want = append(want, "after")
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestConcurrentCommitsShareEntries(t *testing.T) {
	m := &listMachine{}
	l := openSingle(t, Config{Dir: t.TempDir()}, m)
	awaitLeader(t, l)
	before := l.raft.LastIndex()
	const callers, each = 32, 50
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			for i := range each {
				command := fmt.Sprintf("%d.%d", c, i)
				r, err := l.Commit(context.Background(), []byte(command))
				if err != nil {
					t.Error(err)
					return
				}
				// Each caller gets the result of its own command.
				if got := m.list()[r.Index-1]; got != command {
					t.Errorf("command %s was answered with the result of %s", command, got)
				}
			}
		})
	}
	wg.Wait()
	if n := m.len(); n != callers*each {
		t.Errorf("%d commands applied, want %d", n, callers*each)
	}
	if entries := l.raft.LastIndex() - before; entries > callers*each/2 {
		t.Errorf("%d commands took %d entries", callers*each, entries)
	}
}

// Whenever Close comes, every caller is answered, and what was acknowledged is
// there after a restart.
func TestCloseAnswersEveryone(t *testing.T) {
	dir := t.TempDir()
	var acked atomic.Int64
	for range 5 {
		m := &listMachine{}
		l := openSingle(t, Config{Dir: dir, Queue: 4}, m)
		awaitLeader(t, l)
		if n := int64(m.len()); n < acked.Load() {
			t.Fatalf("%d commands, %d were acknowledged", n, acked.Load())
		}
		target := acked.Load() + 50
		enough := make(chan struct{})
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				for {
					if _, err := l.Commit(context.Background(), []byte("x")); err != nil {
						wantKind(t, "commit during close", err,
							model.KindUnavailable, model.KindNoLeader, model.KindNotLeader, model.KindUncertain)
						return
					}
					if acked.Add(1) == target {
						close(enough)
					}
				}
			})
			wg.Go(func() {
				for l.ReadIndex(context.Background()) == nil {
				}
			})
		}
		<-enough
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		wg.Wait()
	}
}
