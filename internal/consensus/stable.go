package consensus

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/muster-discovery/muster/internal/storage"
)

// Raft's keys.
const (
	keyCurrentTerm  = "CurrentTerm"
	keyLastVoteTerm = "LastVoteTerm"
)

// stableStore keeps Raft's term and vote in a journal.
type stableStore struct {
	journal  *storage.Journal
	makeRoom func() bool // nil: nobody can
	log      *slog.Logger

	mu     sync.RWMutex
	values map[string][]byte // what the journal holds
}

var _ raft.StableStore = (*stableStore)(nil)

func openStable(path string) (*stableStore, error) {
	j, err := storage.OpenJournal(path)
	if err != nil {
		return nil, err
	}
	values, err := j.Load()
	if err != nil {
		return nil, errors.Join(err, j.Close())
	}
	return &stableStore{journal: j, values: values}, nil
}

// fullPause is how often a write is tried again while the disk is full.
const fullPause = 200 * time.Millisecond

// put writes, and while the disk is full waits for space. Raft ends the process if it
// can't note its term; one that stands still is no worse for the others, and goes on by
// itself. It takes some thousand elections on a full disk to come to that.
func (s *stableStore) put(key string, val []byte) error {
	err := s.journal.Put(context.Background(), key, val)
	if storage.IsFull(err) && s.makeRoom != nil && s.makeRoom() {
		err = s.journal.Put(context.Background(), key, val)
	}
	if !storage.IsFull(err) {
		return err
	}
	s.log.Error("the disk is full: this server takes no part in elections until there is space", "err", err)
	tick := time.NewTicker(fullPause)
	defer tick.Stop()
	for storage.IsFull(err) {
		<-tick.C
		err = s.journal.Put(context.Background(), key, val)
	}
	return err
}

func (s *stableStore) Set(key, val []byte) error {
	if err := s.put(string(key), val); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values[string(key)] = append([]byte(nil), val...)
	return nil
}

func (s *stableStore) Get(key []byte) ([]byte, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return append([]byte(nil), s.values[string(key)]...), nil
}

func (s *stableStore) SetUint64(key []byte, val uint64) error {
	return s.Set(key, binary.LittleEndian.AppendUint64(nil, val))
}

func (s *stableStore) GetUint64(key []byte) (uint64, error) {
	b, _ := s.Get(key)
	switch len(b) {
	case 0:
		return 0, nil
	case 8:
		return binary.LittleEndian.Uint64(b), nil
	}
	return 0, fmt.Errorf("stable store: %s has %d bytes, not 8", key, len(b))
}

func (s *stableStore) Close() error { return s.journal.Close() }
