package fsm

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/state"
)

// Machine applies log entries to a store. Apply, Snapshot and Restore may not
// overlap each other except that a snapshot is written out while entries are
// applied.
type Machine struct {
	publish func([]model.Topic)

	mu     sync.Mutex
	store  *state.Store
	recent *recent
	names  *names
}

// New makes a machine on a store that nobody else writes to. After each entry publish
// is called, once the store's readers see the change, with the topics concerned, of
// which there may be none; after a restore with nil: everything may have changed.
func New(store *state.Store, publish func(touched []model.Topic)) *Machine {
	return &Machine{publish: publish, store: store, recent: newRecent(), names: newNames()}
}

// Apply runs the commands of one log entry, each as a transaction of its own, and
// returns their results in order. Readers see the entry as a whole.
//
// A command that no version could have written fails, on every server alike. One
// that a newer version wrote can't be skipped, as this server's state would
// silently differ from then on: Apply panics, before it has changed anything.
func (m *Machine) Apply(commands [][]byte) []Result {
	results, touched := m.apply(commands)
	if touched == nil {
		touched = []model.Topic{} // nil would stand for all
	}
	m.publish(touched)
	return results
}

func (m *Machine) apply(entries [][]byte) ([]Result, []model.Topic) {
	m.mu.Lock()
	defer m.mu.Unlock()
	commands := m.decodeAll(entries)
	batch := m.store.Batch()
	results := make([]Result, len(commands))
	for i, c := range commands {
		if c == nil {
			results[i] = Result{Index: batch.Fail(), Err: errInvalidCommand}
			continue
		}
		results[i] = m.run(batch, c)
	}
	return results, batch.Commit()
}

// errInvalidCommand is the result of a command that can't be decoded. Its text is
// the same for all, since results are compared and kept.
var errInvalidCommand = &model.Error{Kind: model.KindInvalid, Text: "malformed command"}

// decodeAll decodes before anything is applied; nil stands for a malformed command.
func (m *Machine) decodeAll(entries [][]byte) []*Command {
	commands := make([]*Command, len(entries))
	for i, b := range entries {
		c, err := decode(b, m.names)
		if newer := (*newerError)(nil); errors.As(err, &newer) {
			panic(fmt.Sprintf("log entry, command %d of %d: %v; this server must not go on, "+
				"start it with that version or a later one", i+1, len(entries), newer))
		}
		if err == nil {
			commands[i] = c
		}
	}
	return commands
}

// run applies one command, or repeats the result of an earlier one with its id.
func (m *Machine) run(batch *state.Batch, c *Command) Result {
	id := c.Meta.RequestID
	if r, ok := m.recent.find(id); ok {
		return r
	}
	var r Result
	switch op := c.Op.(type) {
	case *model.Registration:
		r.Index, r.Err = batch.Register(&c.Meta, op)
	case *model.Deregistration:
		r.Index, r.Err = batch.Deregister(&c.Meta, op)
	case *model.CARootSet:
		r.Index, r.Err = batch.SetCARoots(&c.Meta, op)
	case *model.KVOp:
		var out model.Outcome
		r.Index, out.Token, r.Err = batch.WriteKV(&c.Meta, op)
		if out.Token != 0 {
			r.Data = EncodeOutcome(&out)
		}
	case *model.SessionCreation:
		r.Index, r.Err = batch.CreateSession(&c.Meta, op)
	case *model.SessionDestruction:
		r.Index, r.Err = batch.DestroySession(&c.Meta, op)
	case *model.Expiry:
		r.Index, r.Err = batch.Expire(&c.Meta, op)
	case *model.Txn:
		var out *model.Outcome
		r.Index, out, r.Err = batch.Transact(&c.Meta, op)
		if out != nil {
			r.Data = EncodeOutcome(out)
		}
	case *model.QuerySet:
		r.Index, r.Err = batch.SetQuery(&c.Meta, op)
	case *model.QueryDeletion:
		r.Index, r.Err = batch.DeleteQuery(&c.Meta, op)
	case *model.CoordinateUpdate:
		r.Index, r.Err = batch.UpdateCoordinates(&c.Meta, op)
	case *model.AutopilotSet:
		r.Index, r.Err = batch.SetAutopilot(&c.Meta, op)
	case *model.KVHistorySet:
		r.Index, r.Err = batch.SetHistory(&c.Meta, op)
	default: // a renewal, which nobody puts into the log
		r.Index, r.Err = batch.Fail(), errInvalidCommand
	}
	m.recent.add(id, r)
	return r
}

// Snapshot takes hold of the present state in constant time. What it returns
// writes it out, also while later entries are applied.
func (m *Machine) Snapshot() (io.WriterTo, error) { return m.Image(), nil }

// Image is Snapshot for callers that want to know what is in it.
func (m *Machine) Image() *Image {
	m.mu.Lock()
	defer m.mu.Unlock()
	return &Image{state: m.store.Snapshot(), recent: m.recent.clone()}
}

// Restore replaces the state by a snapshot's. Nothing is replaced unless the whole
// snapshot was read and its checksum is right.
func (m *Machine) Restore(r io.Reader) error {
	if err := m.restore(r); err != nil {
		return fmt.Errorf("restore snapshot: %w", err)
	}
	m.publish(nil)
	return nil
}

func (m *Machine) restore(r io.Reader) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	restorer, recent, err := readSnapshot(r, m.names)
	if err != nil {
		return err
	}
	restorer.Finish(m.store)
	m.recent = recent
	return nil
}
