package agent

import (
	"errors"
	"fmt"
	"os"

	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/storage"
)

// spool is where snapshots lie on their way: in the data dir, which is known to be
// large enough for a state, or, for an agent without one, where temporary files go.
type spool struct{ dir string }

// openSpool removes what a crash has left behind.
func openSpool(dir *storage.Dir) (spool, error) {
	if dir == nil {
		return spool{os.TempDir()}, nil
	}
	path := dir.Path("snapshot-spool")
	if err := os.RemoveAll(path); err != nil {
		return spool{}, fmt.Errorf("clear the spool of snapshots: %w", err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		return spool{}, fmt.Errorf("make the spool of snapshots: %w", err)
	}
	return spool{path}, nil
}

// spoolReserve stays free on the disk for what matters more: the log.
const spoolReserve = 64 << 20

// room fails if a file of that size would fill the disk.
func (s spool) room(size int64) error {
	free, known := storage.Free(s.dir)
	if known && free < size+spoolReserve {
		return model.Errorf(model.KindUnavailable, "a snapshot of %d bytes needs %d in %s, where %d are free: make room", size, size+spoolReserve, s.dir, free)
	}
	return nil
}

// create makes a file that only this process sees.
func (s spool) create() (*spoolFile, error) {
	f, err := os.CreateTemp(s.dir, "muster-snapshot-") // mode 0600
	if err != nil {
		return nil, fmt.Errorf("spool a snapshot: %w", err)
	}
	// Where the system lets an open file go, nothing has to be removed after a crash.
	return &spoolFile{File: f, gone: os.Remove(f.Name()) == nil}, nil
}

// spoolFile is gone when it is closed.
type spoolFile struct {
	*os.File
	gone bool
}

func (f *spoolFile) Close() error {
	err := f.File.Close()
	if !f.gone {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}
