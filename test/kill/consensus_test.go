package kill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/muster-discovery/muster/internal/consensus"
	"github.com/muster-discovery/muster/internal/fsm"
)

// callers commit at the same time, each its own numbers 1, 2, 3 ...
const callers = 8

// counters is a machine that keeps each caller's last number. A command that was
// lost, repeated or moved shows as a gap.
type counters struct {
	mu   sync.Mutex
	last map[int]int
}

func (c *counters) Apply(commands [][]byte) []fsm.Result {
	c.mu.Lock()
	defer c.mu.Unlock()
	results := make([]fsm.Result, len(commands))
	for i, command := range commands {
		var caller, n int
		if _, err := fmt.Sscan(string(command), &caller, &n); err != nil {
			panic(fmt.Sprintf("command %q: %v", command, err))
		}
		if n != c.last[caller]+1 {
			panic(fmt.Sprintf("caller %d: command %d after %d", caller, n, c.last[caller]))
		}
		c.last[caller] = n
		results[i].Index = uint64(n)
	}
	return results
}

type snapshot []byte

func (s snapshot) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(s)
	return int64(n), err
}

func (c *counters) Snapshot() (io.WriterTo, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b, err := json.Marshal(c.last)
	return snapshot(b), err
}

func (c *counters) Restore(r io.Reader) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = map[int]int{}
	return json.NewDecoder(r).Decode(&c.last)
}

func (c *counters) of(caller int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last[caller]
}

// openLog opens a log of one server that takes snapshots all the time, and waits
// until everything committed is applied.
func openLog(dir string, m *counters) (*consensus.Log, error) {
	l, err := consensus.Open(consensus.Config{
		NodeID: "server", Dir: dir, Bootstrap: true,
		SegmentSize: 8 << 10, SnapshotThreshold: 200, SnapshotInterval: 10 * time.Millisecond, TrailingEntries: 20,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
	}, m)
	if err != nil {
		return nil, err
	}
	timeout := time.After(10 * time.Second)
	for {
		select {
		case leads := <-l.LeaderChanges():
			if !leads {
				continue
			}
			return l, l.ReadIndex(context.Background())
		case <-timeout:
			return nil, errors.Join(errors.New("no leader after 10 s"), l.Close())
		}
	}
}

// consensusChild prints "caller number" when a commit is acknowledged.
func consensusChild(dir string, _ *rand.Rand) error {
	m := &counters{last: map[int]int{}}
	l, err := openLog(dir, m)
	if err != nil {
		return err
	}
	failed := make(chan error)
	for caller := range callers {
		go func() {
			for n := m.of(caller) + 1; ; n++ {
				if _, err := l.Commit(context.Background(), fmt.Appendf(nil, "%d %d", caller, n)); err != nil {
					failed <- err
					return
				}
				fmt.Fprintln(os.Stdout, caller, n)
			}
		}()
	}
	return <-failed
}

func TestConsensus(t *testing.T) {
	rng, dir := newRand(t), t.TempDir()
	acked := map[int]int{}
	total := 0
	var slowest time.Duration
	for kill := range *kills {
		runChild(t, "consensus", dir, rng, 100*time.Millisecond, func(l string) {
			var caller, n int
			if _, err := fmt.Sscan(l, &caller, &n); err != nil {
				t.Fatalf("line %q: %v", l, err)
			}
			acked[caller] = n
			total++
		})
		m := &counters{last: map[int]int{}}
		start := time.Now()
		l, err := openLog(dir, m)
		slowest = max(slowest, time.Since(start))
		if err != nil {
			t.Fatalf("kill %d: %v", kill, err)
		}
		for caller, n := range acked {
			// One more may have been committed without the acknowledgment being seen.
			if got := m.of(caller); got < n || got > n+1 {
				t.Errorf("kill %d: caller %d is at %d, acknowledged was %d", kill, caller, got, n)
			}
			acked[caller] = m.of(caller)
		}
		if err := l.Close(); err != nil {
			t.Fatalf("kill %d: %v", kill, err)
		}
	}
	t.Logf("%d kills, %d acknowledged commits, slowest start to leader %v", *kills, total, slowest)
	if total < *kills {
		t.Errorf("only %d commits were acknowledged: the test tests nothing", total)
	}
}
