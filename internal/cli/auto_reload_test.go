package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestWatchFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		put := func(name, text string) {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		put("a.hcl", "1")
		ctx, cancel := context.WithCancel(t.Context())
		changed := make(chan struct{})
		done := make(chan struct{})
		read := fingerprint([]string{dir})
		go func() {
			defer close(done)
			watchFiles(ctx, []string{dir}, read, changed)
		}()
		told := func() bool {
			select {
			case <-changed:
				return true
			case <-time.After(10 * autoReloadEvery):
				return false
			}
		}
		for _, step := range []struct {
			name string
			do   func()
			want bool
		}{
			{"nothing", func() {}, false},
			{"longer", func() { put("a.hcl", "12") }, true},
			{"told once", func() {}, false},
			{"a new file", func() { put("b.hcl", "1") }, true},
			{"a file removed", func() { _ = os.Remove(filepath.Join(dir, "b.hcl")) }, true},
		} {
			step.do()
			if got := told(); got != step.want {
				t.Errorf("%s: told %v", step.name, got)
			}
		}
		cancel()
		<-done
	})
}

func TestChangedFilesReload(t *testing.T) {
	conf := file(t, "a.hcl", `log_level = "info" auto_reload_config = true`)
	r := &fakeRun{reloads: make(chan error), up: make(chan struct{})}
	signals, out, _, end := startProcess(t, r.run, "-dev", "-config-file="+conf)
	<-r.up
	if err := os.WriteFile(conf, []byte(`log_level = "debug"  auto_reload_config = true`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-r.reloads; err != nil {
		t.Error(err)
	}
	signals <- syscall.SIGTERM
	if end(); !strings.Contains(out.String(), "configuration files have changed") {
		t.Errorf("%s", out)
	}
}
