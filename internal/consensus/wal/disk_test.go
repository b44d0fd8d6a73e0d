package wal

import (
	"sync/atomic"
	"time"
)

// faultyDisk fails on demand, counts, and does not sync.
type faultyDisk struct {
	disk
	write, sync, trim, create, reserve error
	short                              bool          // a failed write leaves half of its bytes
	slow                               time.Duration // of each sync
	syncs                              atomic.Int64
}

type faultyFile struct {
	file
	d *faultyDisk
}

func (d *faultyDisk) Create(path string) (file, error) {
	if d.create != nil {
		return nil, d.create
	}
	f, err := d.disk.Create(path)
	return faultyFile{f, d}, err
}

func (d *faultyDisk) Open(path string) (file, error) {
	f, err := d.disk.Open(path)
	return faultyFile{f, d}, err
}

func (d *faultyDisk) Reserve(f file, size int64) error {
	if d.reserve != nil {
		return d.reserve
	}
	return d.disk.Reserve(f.(faultyFile).file, size)
}
func (d *faultyDisk) SyncDir(string) error { return d.sync }

func (f faultyFile) WriteAt(p []byte, off int64) (int, error) {
	if f.d.write == nil {
		return f.file.WriteAt(p, off)
	}
	n := 0
	if f.d.short {
		n, _ = f.file.WriteAt(p[:len(p)/2], off)
	}
	return n, f.d.write
}

func (f faultyFile) Sync() error {
	f.d.syncs.Add(1)
	time.Sleep(f.d.slow)
	return f.d.sync
}

func (f faultyFile) Truncate(size int64) error {
	if f.d.trim != nil {
		return f.d.trim
	}
	return f.file.Truncate(size)
}
