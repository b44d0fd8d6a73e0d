package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// FuzzLoad feeds file texts. Whatever they are, Load must answer, each mistake must
// name the file, and definitions must be handed on as valid JSON.
func FuzzLoad(f *testing.F) {
	for _, pattern := range []string{"testdata/bad/*", "testdata/good/*"} {
		files, _ := filepath.Glob(pattern)
		for _, file := range files {
			if ext := filepath.Ext(file); ext == ".hcl" || ext == ".json" {
				text, err := os.ReadFile(file)
				if err != nil {
					f.Fatal(err)
				}
				f.Add(ext == ".json", text)
			}
		}
	}
	f.Fuzz(func(t *testing.T, isJSON bool, text []byte) {
		format := "hcl"
		if isJSON {
			format = "json"
		}
		p := &problems{}
		d := &decoder{problems: p, draft: &draft{Config: *DevDefaults()}, set: map[string]Place{}}
		d.text("fuzz", format, text)
		for _, e := range p.errs {
			if e.File != "fuzz" || e.Text == "" {
				t.Errorf("a mistake without its file: %+v", e)
			}
		}
		for _, def := range append(d.draft.services, d.draft.checks...) {
			if !json.Valid(def.json) {
				t.Errorf("definition is not JSON: %s", def.json)
			}
		}
		for _, r := range append(d.draft.Watches, d.draft.Entries...) {
			if !json.Valid(r) {
				t.Errorf("raw value is not JSON: %s", r)
			}
		}
		// No templates here: they would read the host's interfaces.
		d.draft.Addresses = DevDefaults().Addresses
		fin := &finisher{problems: p, draft: d.draft, set: d.set}
		fin.finish()
	})
}

// FuzzServices feeds files of service definitions as the command line takes them.
func FuzzServices(f *testing.F) {
	f.Add(true, []byte(`{"service": {"id": "a", "name": "web", "tags": ["x"], "check": {"ttl": "1h"}}}`))
	f.Add(false, []byte("services { name = \"a\" tagged_addresses { lan { address = \"::1\" port = 1 } } }\nservices { name = \"b\" connect { sidecar_service {} } }"))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, isJSON bool, text []byte) {
		name := filepath.Join(dir, "f.hcl")
		if isJSON {
			name = filepath.Join(dir, "f.json")
		}
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
		defs, err := Services([]string{name})
		if err != nil && len(defs) > 0 {
			t.Error("definitions in spite of mistakes")
		}
		for _, d := range defs {
			if !json.Valid(d.JSON) || d.Place.File != name {
				t.Errorf("%s: %s", d.Place, d.JSON)
			}
		}
	})
}
