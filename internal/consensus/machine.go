package consensus

import (
	"fmt"
	"io"
	"time"

	"github.com/hashicorp/raft"

	"github.com/muster-discovery/muster/internal/fsm"
)

// Machine is what the log is replicated for. Apply and Restore never overlap with
// each other or with Snapshot; the writer that Snapshot returned may be used while
// Apply goes on. Apply may not keep the commands' bytes. A panic ends the process:
// a server whose machine has gone wrong must not serve on.
type Machine interface {
	// Apply applies one log entry's commands in order and returns a result each.
	Apply(commands [][]byte) []fsm.Result
	// Snapshot fixes the current state and returns what writes it.
	Snapshot() (io.WriterTo, error)
	// Restore replaces the state by one that Snapshot's writer wrote.
	Restore(r io.Reader) error
}

// machineFSM shows a Machine to Raft.
type machineFSM struct {
	Machine
	replay  *replay
	metrics *metrics
}

// Apply panics on an entry that it can't read. Skipping it would let this server's
// state drift away from the others'; the same entry stops every server of this
// version, each with the reason.
func (m machineFSM) Apply(l *raft.Log) any {
	commands, err := decodeEntry(l.Data)
	if err != nil {
		panic(fmt.Sprintf("log entry %d of term %d: %v", l.Index, l.Term, err))
	}
	start := time.Now()
	results := m.Machine.Apply(commands)
	m.metrics.applied.Observe(time.Since(start).Seconds())
	if len(results) != len(commands) {
		panic(fmt.Sprintf("log entry %d of term %d: %d results for %d commands", l.Index, l.Term, len(results), len(commands)))
	}
	m.replay.applied(len(l.Data))
	return results
}

func (m machineFSM) Snapshot() (raft.FSMSnapshot, error) {
	w, err := m.Machine.Snapshot()
	if err != nil {
		return nil, err
	}
	m.replay.begun()
	return machineSnapshot{w, m.metrics}, nil
}

func (m machineFSM) Restore(r io.ReadCloser) error {
	defer r.Close()
	if err := m.Machine.Restore(r); err != nil {
		return err
	}
	m.replay.restored()
	return nil
}

type machineSnapshot struct {
	io.WriterTo
	metrics *metrics
}

// Persist streams the state to the sink, which adds the checksum.
func (s machineSnapshot) Persist(sink raft.SnapshotSink) error {
	start := time.Now()
	n, err := s.WriteTo(sink)
	if err != nil {
		// The write's error is the one that counts.
		_ = sink.Cancel()
		return fmt.Errorf("write snapshot: %w", err)
	}
	if err := sink.Close(); err != nil {
		return err
	}
	s.metrics.snapshotted(n, start)
	return nil
}

func (machineSnapshot) Release() {}
