//go:build !unix

package storage

import (
	"os"
	"path/filepath"
)

// lockDir only opens the lock file: this system has no advisory locks that go
// away with the process, and a stale lock would need a manual step.
func lockDir(path string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(path, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, explain(path, "lock", err)
	}
	return f, nil
}
