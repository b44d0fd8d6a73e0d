package storage

import (
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

// diskSize is how large the file system of path is and how much may still be written.
func diskSize(path string) (total, free int64, ok bool) {
	var s unix.Statfs_t
	if err := retry(func() error { return unix.Statfs(path, &s) }); err != nil || s.Blocks == 0 {
		return 0, 0, false // some file systems have no size
	}
	return int64(s.Blocks) * s.Bsize, int64(s.Bavail) * s.Bsize, true
}

// blocks is what a file takes on disk, also behind its end.
func blocks(info fs.FileInfo) int64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Blocks * 512
	}
	return info.Size()
}
