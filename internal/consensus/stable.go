package consensus

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

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
	journal *storage.Journal

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

func (s *stableStore) Set(key, val []byte) error {
	if err := s.journal.Put(context.Background(), string(key), val); err != nil {
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
