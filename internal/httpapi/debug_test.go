package httpapi

import (
	"net/http"
	"strings"
	"testing"
)

func TestProfiles(t *testing.T) {
	off := newKit(t)
	if w := off.do("GET", "/debug/pprof/heap", ""); w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "enable_debug") {
		t.Errorf("without enable_debug: %d %q, want 404 and the key", w.Code, w.Body)
	}
	on := newKit(t, func(c *Config) { c.EnableDebug = true })
	for _, path := range []string{"/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/goroutine", "/debug/pprof/cmdline", "/debug/pprof/symbol"} {
		if w := on.do("GET", path, ""); w.Code != http.StatusOK || w.Body.Len() == 0 {
			t.Errorf("%s: %d with %d bytes", path, w.Code, w.Body.Len())
		}
	}
	if w := on.do("GET", "/debug/pprof/nonsense", ""); w.Code != http.StatusNotFound {
		t.Errorf("an unknown profile answers %d", w.Code)
	}
}
