package storage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// OpenJournal opens the journal at path, or makes a new one. A last write that
// was cut off by a crash is dropped; damage before the end is an error, since
// acknowledged records would be lost.
func OpenJournal(path string) (*Journal, error) {
	j := &Journal{
		path:      path,
		turn:      make(chan struct{}, 1),
		values:    map[string]location{},
		compactAt: compactAt,
		create:    createFile,
	}
	// A leftover of a compaction that did not get to its rename.
	if err := os.Remove(path + ".tmp"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open journal %q: %w", path, err)
	}
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return j, j.init()
	}
	if err != nil {
		return nil, fmt.Errorf("open journal %q: %w", path, err)
	}
	if err := j.replay(content); err != nil {
		return nil, err
	}
	return j, j.reopen(int64(len(content)))
}

// init makes the file with its header, all or nothing.
func (j *Journal) init() error {
	header, salt := newHeader()
	if err := WriteFile(j.path, header, 0o600); err != nil {
		return fmt.Errorf("create journal %q: %w", j.path, err)
	}
	j.size, j.salt = int64(len(header)), salt
	return j.reopen(j.size)
}

func (j *Journal) reopen(size int64) error {
	f, err := os.OpenFile(j.path, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("open journal %q: %w", j.path, err)
	}
	j.file = diskFile{f}
	if size > j.size {
		err = f.Truncate(j.size)
	}
	// What was read may be in the kernel's memory only. From here on others rely
	// on it.
	if err = errors.Join(err, f.Sync()); err != nil {
		return fmt.Errorf("open journal %q: %w", j.path, errors.Join(err, f.Close()))
	}
	return nil
}

// replay builds the index and finds the end of the last good batch.
func (j *Journal) replay(content []byte) error {
	version := len(journalMagic)
	if len(content) < journalHeader || string(content[:version]) != journalMagic {
		return fmt.Errorf("open journal %q: not a journal of Muster; restore it from a backup, or move it away to start empty", j.path)
	}
	if content[version] != journalVersion {
		return fmt.Errorf("open journal %q: it has format %d, but this version of Muster knows format %d; run the newer version that wrote it",
			j.path, content[version], journalVersion)
	}
	j.salt = binary.LittleEndian.Uint32(content[version+1:])
	j.size = int64(journalHeader)
	for j.size < int64(len(content)) {
		records, n, err := decodeBatch(content[j.size:], j.salt)
		if err != nil {
			return j.tornTail(content)
		}
		for _, r := range records {
			j.index(r.op, r.key, location{at: j.size + r.at, size: len(r.value)})
		}
		j.size += int64(n)
	}
	return nil
}

// tornTail tells a write that was cut off from damage.
func (j *Journal) tornTail(content []byte) error {
	magic := binary.LittleEndian.AppendUint32(nil, batchMagic)
	rest := content[j.size+1:]
	for {
		at := bytes.Index(rest, magic)
		if at < 0 {
			return nil
		}
		if _, _, err := decodeBatch(rest[at:], j.salt); err == nil {
			return fmt.Errorf("open journal %q: damaged at byte %d, with good records behind it; "+
				"restore it from a backup, or move it away to start empty", j.path, j.size)
		}
		rest = rest[at+1:]
	}
}
