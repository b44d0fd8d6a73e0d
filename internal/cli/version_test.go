package cli

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

func TestVersion(t *testing.T) {
	for _, args := range [][]string{{"version"}, {"-v"}, {"--version"}} {
		r := muster(args...)
		first, _, _ := strings.Cut(r.out, "\n")
		if r.code != 0 || !regexp.MustCompile(`^Consul v\d+\.\d+\.\d+ .*Muster v\d+\.\d+\.\d+$`).MatchString(first) {
			t.Errorf("%v: %+v", args, r)
		}
		if strings.Contains(r.out, "ent") {
			t.Errorf("looks like the enterprise edition: %s", r.out)
		}
	}
	r := muster("version", "-format=json")
	var v map[string]any
	if err := json.Unmarshal([]byte(r.out), &v); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"Version", "Revision", "Prerelease", "BuildDate", "RPC", "MusterVersion"} {
		if _, ok := v[key]; !ok {
			t.Errorf("no %s in %v", key, v)
		}
	}
	if v["Version"] != "1.21.4" {
		t.Errorf("Version is %v", v["Version"])
	}
	muster("version", "-format=xml").wantError(t, "xml")
}
