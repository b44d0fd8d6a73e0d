package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// autoReloadEvery is how often the files are looked at. Orchestrators put new files
// into place by renaming folders, which notifications of the system miss.
const autoReloadEvery = 2 * time.Second

// watchFiles sends on changed after the files at the given paths are no longer as
// they were read, and then stayed as they are for one round, so that none is read
// half-written. read is their fingerprint before that.
func watchFiles(ctx context.Context, paths []string, read string, changed chan<- struct{}) {
	tick := time.NewTicker(autoReloadEvery)
	defer tick.Stop()
	told, before := read, read
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := fingerprint(paths)
		if now != told && now == before {
			select {
			case changed <- struct{}{}:
				told = now
			case <-ctx.Done():
				return
			}
		}
		before = now
	}
}

// fingerprint changes with the files at the given paths: their names, sizes and times.
func fingerprint(paths []string) string {
	var b strings.Builder
	one := func(path string) (dir bool) {
		info, err := os.Stat(path)
		if err != nil {
			fmt.Fprintf(&b, "%s: %v\n", path, err)
			return false
		}
		if !info.IsDir() {
			fmt.Fprintf(&b, "%s %d %d\n", path, info.Size(), info.ModTime().UnixNano())
		}
		return info.IsDir()
	}
	for _, path := range paths {
		if !one(path) {
			continue
		}
		entries, err := os.ReadDir(path)
		if err != nil {
			fmt.Fprintf(&b, "%s: %v\n", path, err)
		}
		for _, e := range entries {
			one(filepath.Join(path, e.Name()))
		}
	}
	return b.String()
}
