package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Format is the version of the data directory's layout that this program writes.
// A directory of a newer format is refused: an older program can't know what it
// would destroy.
const Format = 1

const (
	formatFile = "format"
	lockFile   = "lock"
	nodeIDFile = "node-id"
	// formatPrefix starts the format file, so that a stray file of the same name
	// is not taken for ours.
	formatPrefix = "muster data format "
)

// consulMarks are names that Consul creates in its data directory, server or
// client agent. One of them without our format file means that the directory is
// Consul's.
var consulMarks = []string{
	"raft", "serf", "checkpoint-signature", nodeIDFile, "server_metadata.json",
	"services", "checks", "proxy", "acl-tokens.json",
}

// Dir is an open and locked data directory.
type Dir struct {
	path string
	lock *os.File
	// makeRoom is the reserve's, see Space; nil: there is none.
	makeRoom func() bool
}

// Open opens the data directory at path, creating it if it does not exist, and
// locks it for this process until Close. It refuses a directory that another
// process holds, that a newer Muster wrote or that belongs to Consul, and leaves
// such a directory as it is.
func Open(path string) (*Dir, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, explain(path, "create", err)
	}
	// Looked at before the lock file is made: a directory that isn't ours stays
	// untouched.
	if _, err := readFormat(path); err != nil {
		return nil, err
	}
	lock, err := lockDir(path)
	if err != nil {
		return nil, err
	}
	d := &Dir{path: path, lock: lock}
	if err := d.claim(); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// claim writes the format file if there is none. It is the first file after the
// lock, so a crash never leaves a directory of ours that looks like Consul's.
func (d *Dir) claim() error {
	format, err := readFormat(d.path)
	if err != nil || format == Format {
		return err
	}
	content := formatPrefix + strconv.Itoa(Format) + "\n"
	if err := WriteFile(d.Path(formatFile), []byte(content), 0o600); err != nil {
		return explain(d.path, "write to", err)
	}
	// The directory itself may be new. Not every parent may be opened, and those
	// that may not were there before.
	_ = SyncDir(filepath.Dir(d.path))
	return nil
}

// readFormat returns the directory's format, 0 for one that is new.
func readFormat(path string) (int, error) {
	content, err := os.ReadFile(filepath.Join(path, formatFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, refuseConsul(path)
	case err != nil:
		return 0, explain(path, "read", err)
	}
	text, ours := strings.CutPrefix(strings.TrimSpace(string(content)), formatPrefix)
	format, err := strconv.Atoi(text)
	if !ours || err != nil || format < 1 {
		return 0, fmt.Errorf("data dir %q: the file %q is not one that Muster wrote; "+
			"restore it from a backup or use another data dir", path, formatFile)
	}
	if format > Format {
		return 0, fmt.Errorf("data dir %q has format %d, but this version of Muster knows formats up to %d; "+
			"run the newer version that wrote it, or restore a backup into an empty data dir", path, format, Format)
	}
	return format, nil
}

func refuseConsul(path string) error {
	for _, name := range consulMarks {
		_, err := os.Lstat(filepath.Join(path, name))
		if err == nil {
			return fmt.Errorf("data dir %q belongs to Consul (it holds %q) and was left untouched; "+
				"give Muster a data dir of its own and bring the contents over with \"muster import consul\"", path, name)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return explain(path, "read", err)
		}
	}
	return nil
}

// Path joins elem to the directory's path.
func (d *Dir) Path(elem ...string) string {
	return filepath.Join(append([]string{d.path}, elem...)...)
}

// Close gives up the lock. Files opened below the directory must be closed first.
func (d *Dir) Close() error { return d.lock.Close() }

// IsFull reports whether an error says that a disk, or what may be used of it, is full.
func IsFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// explain adds to an error of the file system what can be done about it.
func explain(path, doing string, err error) error {
	remedy := ""
	switch {
	case errors.Is(err, fs.ErrPermission):
		remedy = fmt.Sprintf("; let user id %d read and write it, or use another data dir", os.Geteuid())
	case errors.Is(err, syscall.EROFS):
		remedy = "; its file system is mounted read-only: remount it writable, or use another data dir"
	case IsFull(err):
		remedy = "; free some space, or use another data dir"
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, fs.ErrExist):
		remedy = "; a part of the path is a file: use another data dir"
	}
	return fmt.Errorf("%s data dir %q: %w%s", doing, path, err, remedy)
}
