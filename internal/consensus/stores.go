package consensus

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/muster-discovery/muster/internal/consensus/wal"
	"github.com/muster-discovery/muster/internal/storage"
)

// keepSnapshots is how many snapshots stay on disk: the newest, and one to fall
// back on.
const keepSnapshots = 2

// stores are where Raft keeps its log, its vote and its snapshots.
type stores struct {
	log       raft.LogStore
	stable    raft.StableStore
	snapshots raft.SnapshotStore
	closers   []io.Closer
}

func openStores(c *Config, m *metrics, logger hclog.Logger) (*stores, error) {
	if c.Dir == "" {
		memory := raft.NewInmemStore()
		return &stores{log: memory, stable: memory, snapshots: raft.NewInmemSnapshotStore()}, nil
	}
	s := &stores{}
	if err := s.open(c, m, logger); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *stores) open(c *Config, m *metrics, logger hclog.Logger) error {
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return fmt.Errorf("open consensus: %w", err)
	}
	stable, err := openStable(filepath.Join(c.Dir, "stable"))
	if err != nil {
		return err
	}
	stable.makeRoom, stable.log = c.MakeRoom, c.Logger
	s.stable = stable
	s.closers = append(s.closers, stable)
	log, err := wal.Open(filepath.Join(c.Dir, "log"), wal.Options{
		SegmentSize: c.SegmentSize, Appending: m.appending, Appended: m.appended, Failed: m.appendFailed, MakeRoom: c.MakeRoom,
	})
	if err != nil {
		return err
	}
	s.log = log
	s.closers = append(s.closers, log)
	if err := removeUnfinished(filepath.Join(c.Dir, "snapshots")); err != nil {
		return err
	}
	if s.snapshots, err = raft.NewFileSnapshotStoreWithLogger(c.Dir, keepSnapshots, logger); err != nil {
		return fmt.Errorf("open snapshots: %w", err)
	}
	// The directories just made must be there after a power loss, too.
	if err := errors.Join(storage.SyncDir(c.Dir), storage.SyncDir(filepath.Dir(c.Dir))); err != nil {
		return fmt.Errorf("open consensus: %w", err)
	}
	if err := s.joinSnapshot(); err != nil {
		return err
	}
	return s.undoBootstrap()
}

// removeUnfinished removes snapshots that a crash interrupted; nothing else ever
// would.
func removeUnfinished(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("open snapshots: %w", err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".tmp") {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return fmt.Errorf("remove unfinished snapshot: %w", err)
		}
	}
	return nil
}

// joinSnapshot makes sure that the log goes on where the newest snapshot ends.
func (s *stores) joinSnapshot() error {
	list, err := s.snapshots.List()
	if err != nil {
		return fmt.Errorf("list snapshots: %w", err)
	}
	var covered uint64
	if len(list) > 0 {
		covered = list[0].Index
	}
	first, last, err := bounds(s.log)
	if err != nil {
		return err
	}
	if first > covered+1 {
		return fmt.Errorf("the log begins with entry %d, but the newest snapshot ends with %d: entries are missing; "+
			"restore the data dir from a backup, or empty it and let the server join again", first, covered)
	}
	if last == 0 || last >= covered {
		return nil
	}
	// A snapshot from the leader was installed, and the crash came before the log
	// was removed. The next entry would leave a gap. The log is given up only for a
	// snapshot that is known to be whole.
	_, r, err := s.snapshots.Open(list[0].ID)
	if err != nil {
		return fmt.Errorf("open snapshot %q: %w", list[0].ID, err)
	}
	return errors.Join(r.Close(), s.log.DeleteRange(first, last))
}

func bounds(log raft.LogStore) (first, last uint64, err error) {
	if first, err = log.FirstIndex(); err != nil {
		return 0, 0, err
	}
	last, err = log.LastIndex()
	return first, last, err
}

// undoBootstrap takes back a bootstrap that a crash interrupted between its first
// step, the term, and its last, the configuration. Otherwise the server would have
// state, and yet never a leader. To forget term 1 is harmless as long as no vote
// was cast in it.
func (s *stores) undoBootstrap() error {
	term, err := s.stable.GetUint64([]byte(keyCurrentTerm))
	if err != nil || term != 1 {
		return err
	}
	vote, err := s.stable.GetUint64([]byte(keyLastVoteTerm))
	if err != nil || vote != 0 {
		return err
	}
	_, last, err := bounds(s.log)
	if err != nil || last != 0 {
		return err
	}
	list, err := s.snapshots.List()
	if err != nil || len(list) > 0 {
		return err
	}
	return s.stable.SetUint64([]byte(keyCurrentTerm), 0)
}

func (s *stores) close() error {
	var err error
	for _, c := range s.closers {
		err = errors.Join(err, c.Close())
	}
	return err
}
