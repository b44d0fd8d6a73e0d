package cli

import (
	"os"
	"path/filepath"
	"testing"
)

func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestValidate(t *testing.T) {
	good := file(t, "good.hcl", `data_dir = "/tmp/x" bind_addr = "127.0.0.1" node_name = "n1"`)
	muster("validate", good).want(t, 0, "Configuration is valid!\n")
	muster("validate", "-quiet", good).want(t, 0, "")
	muster("validate", filepath.Dir(good)).want(t, 0, "Configuration is valid!\n")
	bad := file(t, "bad.json", `{"data_dir": "/tmp/x", "bind_addr": "127.0.0.1", "no_such_key": 1, "service": {"name": "web", "check": {"ttl": "nope"}}}`)
	muster("validate", bad).wantError(t, "2 mistakes", "bad.json:1: no_such_key: unknown key", `service.check.ttl: want a duration`)
	muster("validate", "-quiet", bad).wantError(t, "no_such_key")
	unnamed := file(t, "unnamed.hcl", `data_dir = "/tmp/x" bind_addr = "127.0.0.1" service { port = 1 }`)
	muster("validate", unnamed).wantError(t, "unnamed.hcl:1: service")
	muster("validate").wantError(t, "name at least one file")
}
