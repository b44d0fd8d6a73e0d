package wal

import (
	"io"
	"os"
	"path/filepath"

	"github.com/muster-discovery/muster/internal/storage"
)

// file is what a segment needs of *os.File. Sync makes the written bytes
// durable, and the length where it changed.
type file interface {
	io.ReaderAt
	io.WriterAt
	Truncate(size int64) error
	Sync() error
	Close() error
}

// fileSystem is the disk; tests put one that fails in its place.
type fileSystem interface {
	Create(path string) (file, error) // empties one that exists
	Open(path string) (file, error)
	Remove(path string) error
	// Reserve makes space for a file up to size, as zeros behind its end. It may
	// do nothing, except report that the disk is full.
	Reserve(f file, size int64) error
	SyncDir(path string) error
}

type disk struct{}

func (disk) Create(path string) (file, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (disk) Open(path string) (file, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (disk) Remove(path string) error { return os.Remove(path) }

func (disk) SyncDir(path string) error { return storage.SyncDir(filepath.Clean(path)) }

func (disk) Reserve(f file, size int64) error { return storage.Reserve(f.(osFile).File, size) }

// osFile syncs with fdatasync where there is one.
type osFile struct{ *os.File }

func (f osFile) Sync() error { return storage.DataSync(f.File) }
