package consensus

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/muster-discovery/muster/internal/fsm"
)

// listMachine remembers the commands it was given, in order.
type listMachine struct {
	mu       sync.Mutex
	commands []string
	restored int
}

func (m *listMachine) Apply(commands [][]byte) []fsm.Result {
	m.mu.Lock()
	defer m.mu.Unlock()
	results := make([]fsm.Result, len(commands))
	for i, c := range commands {
		m.commands = append(m.commands, string(c))
		results[i].Index = uint64(len(m.commands))
	}
	return results
}

func (m *listMachine) Snapshot() (io.WriterTo, error) {
	var buf bytes.Buffer
	for _, c := range m.list() {
		b := binary.AppendUvarint(nil, uint64(len(c)))
		buf.Write(append(b, c...))
	}
	return &buf, nil
}

func (m *listMachine) Restore(r io.Reader) error {
	content, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	var commands []string
	for len(content) > 0 {
		n, used := binary.Uvarint(content)
		if used <= 0 || n > uint64(len(content)-used) {
			return fmt.Errorf("bad snapshot")
		}
		commands = append(commands, string(content[used:used+int(n)]))
		content = content[used+int(n):]
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.commands = commands
	m.restored++
	return nil
}

func (m *listMachine) list() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.commands...)
}

func (m *listMachine) len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.commands)
}

// testLogger shows warnings and what is worse with the test's output.
func testLogger(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError}))
}

func openSingle(t testing.TB, c Config, m Machine) *Log {
	t.Helper()
	c.NodeID, c.Bootstrap = "one", true
	if c.Logger == nil {
		c.Logger = testLogger(t)
	}
	l, err := Open(c, m)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// awaitLeader waits until l leads and its first barrier is through.
func awaitLeader(t testing.TB, l *Log) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	for {
		select {
		case leads := <-l.LeaderChanges():
			if !leads {
				continue
			}
			if err := l.ReadIndex(context.Background()); err != nil {
				t.Fatal(err)
			}
			return
		case <-deadline:
			t.Fatal("no leader after 10 s")
		}
	}
}

func commit(t testing.TB, l *Log, command string) {
	t.Helper()
	r, err := l.Commit(context.Background(), []byte(command))
	if err != nil || r.Err != nil {
		t.Fatalf("commit %q: %v, %v", command, err, r.Err)
	}
}

// countMachine only counts, for measurements.
type countMachine struct {
	listMachine
	n uint64
}

func (m *countMachine) Apply(commands [][]byte) []fsm.Result {
	results := make([]fsm.Result, len(commands))
	for i := range commands {
		m.n++
		results[i].Index = m.n
	}
	return results
}
