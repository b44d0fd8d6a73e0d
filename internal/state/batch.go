package state

import "github.com/muster-discovery/muster/internal/model"

// Batch applies commands, one transaction each, and publishes them together. A
// command that fails has taken its index and changed nothing else. Only one batch
// may be open at a time, and it must be committed.
//
// The values of a command belong to the store once they were passed in.
type Batch struct {
	s    *Store
	meta *model.CommandMeta

	// Of the current command.
	written []*subject         // subjects touched
	listed  []string           // names whose entry in the list of services may have changed
	keys    keyChanges         // keys written
	kind    model.RevisionKind // of what is being done to keys

	topics []model.Topic // touched since the batch was opened
	seen   map[model.Topic]struct{}
}

// Batch opens a batch.
func (s *Store) Batch() *Batch {
	return &Batch{s: s, seen: make(map[model.Topic]struct{})}
}

// Fail takes an index for a command that can't be run at all.
func (b *Batch) Fail() uint64 { return b.begin(nil) }

// Commit publishes the batch and returns the topics whose answers changed, each
// once, in the order of their first change.
func (b *Batch) Commit() []model.Topic {
	b.s.publish()
	return b.topics
}

// begin starts a command and takes its index: each has one, also if it fails or
// changes nothing.
func (b *Batch) begin(meta *model.CommandMeta) uint64 {
	b.meta = meta
	b.s.work.index++
	return b.s.work.index
}

// end completes a command that may have changed something.
func (b *Batch) end() {
	b.list()
	b.bury()
	b.buryKeys()
}

func (b *Batch) report(t model.Topic) {
	if _, ok := b.seen[t]; !ok {
		b.seen[t] = struct{}{}
		b.topics = append(b.topics, t)
	}
}
