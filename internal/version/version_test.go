package version

import (
	"strings"
	"testing"
)

func TestNoTextLooksLikeTheEnterpriseEdition(t *testing.T) {
	b := Info()
	for _, s := range []string{API, Muster, b.Revision, Line()} {
		if strings.Contains(strings.ToLower(s), "ent") {
			t.Errorf("%q contains ent", s)
		}
	}
	if !strings.HasPrefix(Line(), "Consul v"+API) {
		t.Errorf("scripts can't find the number in %q", Line())
	}
	if b.Date == "" {
		t.Error("no build date")
	}
}
