package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-discovery/muster/internal/config"
)

// logFile writes the log into a file that is put aside when it is too big or too
// old. The active file always has the name that was configured; those put aside
// have their time in the name, as name-NANOSECONDS.log. The log calls Write for one
// line at a time.
type logFile struct {
	path     string
	maxBytes int           // 0: no limit
	maxAge   time.Duration // 0: no limit
	keep     int           // old files; 0: all, negative: none

	file    *os.File
	size    int64
	created time.Time
}

// openLogFile opens the log file of a configuration, nil if it has none. A path that
// is a folder gets a file muster.log.
func openLogFile(c config.Log) (*logFile, error) {
	if c.File == "" {
		return nil, nil
	}
	path := c.File
	if info, err := os.Stat(path); strings.HasSuffix(path, string(os.PathSeparator)) || err == nil && info.IsDir() {
		path = filepath.Join(path, "muster.log")
	}
	l := &logFile{path: path, maxBytes: c.RotateBytes, maxAge: c.RotateDuration, keep: c.RotateMaxFiles}
	return l, l.open()
}

func (l *logFile) open() error {
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close() // the first error is the one to tell
		return err
	}
	l.file, l.size, l.created = f, info.Size(), time.Now()
	return nil
}

// Write appends a line, to a new file if the old one has had its time.
func (l *logFile) Write(line []byte) (int, error) {
	if l.file == nil {
		if err := l.open(); err != nil { // as after a disk that was full
			return 0, err
		}
	}
	if l.due(len(line)) {
		if err := l.rotate(); err != nil {
			return 0, err
		}
	}
	n, err := l.file.Write(line)
	l.size += int64(n)
	return n, err
}

func (l *logFile) due(more int) bool {
	return l.size > 0 && (l.maxBytes > 0 && l.size+int64(more) > int64(l.maxBytes) || l.maxAge > 0 && time.Since(l.created) >= l.maxAge)
}

func (l *logFile) rotate() error {
	err := l.file.Close()
	l.file = nil
	aside := fmt.Sprintf("%s-%d%s", l.stem(), time.Now().UnixNano(), l.ending())
	err = errors.Join(err, os.Rename(l.path, aside), l.prune())
	return errors.Join(err, l.open())
}

func (l *logFile) ending() string {
	if e := filepath.Ext(l.path); e != "" {
		return e
	}
	return ".log"
}

func (l *logFile) stem() string { return strings.TrimSuffix(l.path, filepath.Ext(l.path)) }

// prune removes the oldest of the files that were put aside.
func (l *logFile) prune() error {
	if l.keep == 0 {
		return nil
	}
	old, err := l.aside()
	if err != nil {
		return err
	}
	for _, path := range old[:max(0, len(old)-max(0, l.keep))] {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

// aside lists the files put aside, the oldest first. Others may have similar names.
func (l *logFile) aside() ([]string, error) {
	entries, err := os.ReadDir(filepath.Dir(l.path))
	if err != nil {
		return nil, err
	}
	times := map[string]int64{}
	var paths []string
	for _, e := range entries {
		path := filepath.Join(filepath.Dir(l.path), e.Name())
		rest, ok := strings.CutPrefix(path, filepath.Clean(l.stem())+"-")
		text, ending := strings.CutSuffix(rest, l.ending())
		if n, err := strconv.ParseInt(text, 10, 64); ok && ending && err == nil {
			times[path] = n
			paths = append(paths, path)
		}
	}
	slices.SortFunc(paths, func(a, b string) int { return int(min(1, max(-1, times[a]-times[b]))) })
	return paths, nil
}

func (l *logFile) Close() error {
	if l == nil || l.file == nil {
		return nil
	}
	return l.file.Close()
}

// tee writes to both, and reports an error of the first only: a full disk must not
// silence the log on standard output.
type tee struct {
	first interface{ Write([]byte) (int, error) }
	file  *logFile
}

func (t tee) Write(line []byte) (int, error) {
	_, fileErr := t.file.Write(line)
	n, err := t.first.Write(line)
	if err != nil && fileErr == nil {
		return len(line), nil // standard output is closed, the file has it
	}
	return n, err
}
