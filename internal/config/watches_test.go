package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWatchesAreChecked: each mistake of a watch has the place of the watch.
func TestWatchesAreChecked(t *testing.T) {
	file := filepath.Join(t.TempDir(), "w.hcl")
	text := `data_dir = "/x"
watches = [{ type = "key" }]
watches {
  type = "bad"
  http_handler_config { path = "http://h" }
}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var seen []string
	_, _, err := Load(Options{Paths: []string{file}, CheckWatch: func(data []byte) error {
		seen = append(seen, string(data))
		if strings.Contains(string(data), "bad") {
			return errors.New("one\ntwo")
		}
		return nil
	}})
	for _, want := range []string{file + ":3", "watches[1]", "one", "two"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in %v", want, err)
		}
	}
	want := `{"type":"bad","http_handler_config":{"path":"http://h"}}`
	if len(seen) != 2 || seen[1] != want {
		t.Errorf("checked %q", seen)
	}
}
