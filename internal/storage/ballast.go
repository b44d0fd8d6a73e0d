package storage

import (
	"errors"
	"fmt"
	"os"
	"sync"
)

const ballastFile = "ballast"

// DefaultReserve is the size of the ballast for a disk of that size: a hundredth, but
// two files of the log at least, since with less the log could not go on, and 64 MiB at
// most; a disk for which that is much keeps three quarters for itself.
func DefaultReserve(total int64) int64 {
	return min(max(total/100, segments), 64<<20, total/4)
}

// ballast is a file that takes space until that is needed more urgently.
type ballast struct {
	path string

	mu    sync.Mutex
	known bool  // held was looked up
	held  int64 // guarded by mu
}

func (b *ballast) size() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sizeLocked()
}

func (b *ballast) sizeLocked() int64 {
	if !b.known {
		b.known = true
		if info, err := os.Stat(b.path); err == nil { // of an earlier run
			b.held = info.Size()
		}
	}
	return b.held
}

// make takes the space. Zeros are written where the file system can't set it aside;
// a file with holes would be no reserve.
func (b *ballast) make(size int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	f, err := os.OpenFile(b.path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	err = allocate(f, size)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("make reserve: %w", errors.Join(err, os.Remove(b.path)))
	}
	b.known, b.held = true, size
	return nil
}

// release gives the space back; false: there is none.
func (b *ballast) release() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sizeLocked() == 0 {
		return false
	}
	// A full file system that copies on write may refuse a removal, but not that.
	cut := os.Truncate(b.path, 0)
	b.held = 0
	return cut == nil || os.Remove(b.path) == nil
}

var zeros [1 << 20]byte

func allocate(f *os.File, size int64) error {
	if err := Reserve(f, size); err != nil {
		return err
	}
	if info, err := f.Stat(); err != nil || blocks(info) >= size {
		return err
	}
	for at := int64(0); at < size; at += int64(len(zeros)) {
		if _, err := f.WriteAt(zeros[:min(int64(len(zeros)), size-at)], at); err != nil {
			return err
		}
	}
	return f.Sync()
}
