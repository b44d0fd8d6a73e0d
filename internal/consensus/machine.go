package consensus

import (
	"fmt"
	"io"

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
type machineFSM struct{ Machine }

// Apply panics on an entry that it can't read. Skipping it would let this server's
// state drift away from the others'; the same entry stops every server of this
// version, each with the reason.
func (m machineFSM) Apply(l *raft.Log) any {
	commands, err := decodeEntry(l.Data)
	if err != nil {
		panic(fmt.Sprintf("log entry %d of term %d: %v", l.Index, l.Term, err))
	}
	results := m.Machine.Apply(commands)
	if len(results) != len(commands) {
		panic(fmt.Sprintf("log entry %d of term %d: %d results for %d commands", l.Index, l.Term, len(results), len(commands)))
	}
	return results
}

func (m machineFSM) Snapshot() (raft.FSMSnapshot, error) {
	w, err := m.Machine.Snapshot()
	if err != nil {
		return nil, err
	}
	return machineSnapshot{w}, nil
}

func (m machineFSM) Restore(r io.ReadCloser) error {
	defer r.Close()
	return m.Machine.Restore(r)
}

type machineSnapshot struct{ io.WriterTo }

// Persist streams the state to the sink, which adds the checksum.
func (s machineSnapshot) Persist(sink raft.SnapshotSink) error {
	if _, err := s.WriteTo(sink); err != nil {
		// The write's error is the one that counts.
		_ = sink.Cancel()
		return fmt.Errorf("write snapshot: %w", err)
	}
	return sink.Close()
}

func (machineSnapshot) Release() {}
