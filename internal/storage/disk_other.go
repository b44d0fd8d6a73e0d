//go:build !linux

package storage

import "os"

// Reserve does nothing on this system; it is for speed only.
func Reserve(*os.File, int64) error { return nil }

// DataSync makes a file's bytes durable.
func DataSync(f *os.File) error { return f.Sync() }

// Free is not known on this system.
func Free(string) (int64, bool) { return 0, false }
