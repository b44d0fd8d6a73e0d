package state

import (
	"sync/atomic"

	"github.com/tidwall/btree"

	"github.com/muster-discovery/muster/internal/model"
)

// Store owns the tables. One goroutine at a time may write, through Batch and
// Restore; any number may read, at any time.
type Store struct {
	root atomic.Pointer[Snapshot]

	// The rest is the writer's. It holds nothing that is not in, or does not
	// follow from, the tables.
	work      *tables
	graves    *btree.BTreeG[*subject] // dead subjects, oldest first
	tallies   map[string]*tally       // by service name as registered
	virtuals  *virtuals
	kvGraves  *btree.BTreeG[tomb]  // tombstones of keys, oldest first
	locks     *btree.BTreeG[lock]  // keys held, by session, key
	bound     *btree.BTreeG[bound] // sessions by node and check that they hang on
	past      *btree.BTreeG[aged]  // revisions that are not a key's present one, longest past first
	pastBytes uint64               // what they take
	undo      *undo                // of the transaction that is under way, else nil

	maxTombstones int
}

// New makes an empty store.
func New() *Store {
	s := &Store{maxTombstones: maxTombstones}
	s.load(newTables())
	return s
}

// load takes over tables without derived state.
func (s *Store) load(t *tables) {
	s.work = t
	s.graves = newTree(lessAge)
	s.tallies = make(map[string]*tally)
	s.virtuals = newVirtuals()
	s.kvGraves = newTree(lessTombAge)
	s.locks = newTree(lessLock)
	s.bound = newTree(lessBound)
	s.past, s.pastBytes = newTree(lessAged), 0
	s.publish()
}

func (s *Store) publish() { s.root.Store(&Snapshot{t: s.work.publish()}) }

// Snapshot is the state after the last committed batch. It never changes.
func (s *Store) Snapshot() *Snapshot { return s.root.Load() }

// Index is the index of the last committed command, 1 if there was none.
func (s *Store) Index() uint64 { return s.Snapshot().Index() }

// Items returns a topic's values in their stable order and its index, both of one
// moment. The values' types are listed with the method of Snapshot.
func (s *Store) Items(t model.Topic) (items []any, index uint64) {
	return s.Snapshot().Items(t)
}
