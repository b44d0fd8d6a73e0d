package cli

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-discovery/muster/internal/config"
)

// contents of all files in a folder, in the order of their names.
func contents(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(text))
	}
	return out
}

func TestLogFileRotates(t *testing.T) {
	for _, c := range []struct {
		name string
		log  config.Log
		want string // what is in the files, the oldest first
	}{
		{"never", config.Log{}, "one.two.three.four."},
		{"by size", config.Log{RotateBytes: 8}, "one.two. three. four."},
		{"keep one", config.Log{RotateBytes: 4, RotateMaxFiles: 1}, "three. four."},
		{"keep none", config.Log{RotateBytes: 4, RotateMaxFiles: -1}, "four."},
		{"by age", config.Log{RotateDuration: 2 * time.Hour}, "one.two. three.four."},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				c.log.File = filepath.Join(dir, "log") // sorts behind those put aside: "log-"... is longer
				l, err := openLogFile(c.log)
				if err != nil {
					t.Fatal(err)
				}
				for _, line := range []string{"one.", "two.", "three.", "four."} {
					if _, err := l.Write([]byte(line)); err != nil {
						t.Fatal(err)
					}
					time.Sleep(time.Hour)
				}
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
				files := contents(t, dir) // the active one is first by name
				got := strings.Join(append(files[1:], files[0]), " ")
				if got != c.want {
					t.Errorf("%q, want %q", got, c.want)
				}
			})
		})
	}
}

func TestLogFileLeavesOthersAlone(t *testing.T) {
	dir := t.TempDir()
	for _, other := range []string{"m-notes.log", "m-1.txt", "n-1.log"} {
		if err := os.WriteFile(filepath.Join(dir, other), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l, err := openLogFile(config.Log{File: filepath.Join(dir, "m.log"), RotateBytes: 1, RotateMaxFiles: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for range 3 {
		if _, err := l.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	if got := contents(t, dir); len(got) != 4 {
		t.Errorf("%d files, want the three others and the log", len(got))
	}
}

func TestAgentLogsToTheFile(t *testing.T) {
	dir := t.TempDir()
	r := &fakeRun{up: make(chan struct{})}
	signals, out, _, end := startProcess(t, r.run, "-dev", "-log-file="+dir)
	<-r.up
	signals <- syscall.SIGTERM
	end()
	got, err := os.ReadFile(filepath.Join(dir, "muster.log"))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != out.String() || !bytes.Contains(got, []byte("stopping")) {
		t.Errorf("file:\n%s\nstandard output:\n%s", got, out)
	}
	muster("agent", "-dev", "-log-file="+filepath.Join(dir, "no", "log")).wantError(t, "open the log file")
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("closed") }

func TestLogGoesOnWithOneOutput(t *testing.T) {
	l, err := openLogFile(config.Log{File: filepath.Join(t.TempDir(), "log")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (tee{broken{}, l}).Write([]byte("x")); err != nil {
		t.Errorf("standard output is closed: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := (tee{&out, l}).Write([]byte("x")); err != nil || out.String() != "x" {
		t.Errorf("the file is closed: %v, output %q", err, out.String())
	}
}
