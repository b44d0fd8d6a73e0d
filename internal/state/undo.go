package state

// undo takes back what a transaction did to the parts of the store that are not
// copy-on-write trees. Nil outside of transactions: then nothing is noted.
type undo struct{ steps []func() }

func (u *undo) add(step func()) {
	if u != nil {
		u.steps = append(u.steps, step)
	}
}

// savepoint is the writer's state at the beginning of a transaction. The trees are
// copies that share everything with the originals until these are written to.
type savepoint struct {
	s      Store
	topics int
}

// save makes a savepoint, after the command has taken its index.
func (b *Batch) save() *savepoint {
	s := b.s
	p := &savepoint{topics: len(b.topics)}
	p.s.work = s.work.publish()
	p.s.graves = s.graves.Copy()
	p.s.kvGraves = s.kvGraves.Copy()
	p.s.locks = s.locks.Copy()
	p.s.bound = s.bound.Copy()
	s.undo = new(undo)
	s.virtuals.undo = s.undo
	return p
}

// keep ends a transaction that succeeded.
func (b *Batch) keep() { b.s.undo, b.s.virtuals.undo = nil, nil }

// rollback makes everything as it was at the savepoint.
func (b *Batch) rollback(p *savepoint) {
	s, steps := b.s, b.s.undo.steps
	b.keep()
	for i := len(steps) - 1; i >= 0; i-- {
		steps[i]()
	}
	s.work, s.graves, s.kvGraves, s.locks, s.bound = p.s.work, p.s.graves, p.s.kvGraves, p.s.locks, p.s.bound
	for _, t := range b.topics[p.topics:] {
		delete(b.seen, t)
	}
	b.topics = b.topics[:p.topics]
	clear(b.written)
	b.written, b.listed = b.written[:0], b.listed[:0]
	b.keys.reset()
}
