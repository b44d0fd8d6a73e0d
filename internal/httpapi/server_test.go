package httpapi

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/muster-discovery/muster/internal/acl"
	"github.com/muster-discovery/muster/internal/model"
)

// TestCommon: what every path has in common, as Consul's clients see it.
func TestCommon(t *testing.T) {
	k := newKit(t, func(c *Config) {
		c.ResponseHeaders = map[string]string{"warning": "fixed"}
		c.BlockEndpoints = []string{"/v1/catalog/nodes", "/v1/agent/members"}
	})
	const (
		text = "text/plain; charset=utf-8"
		json = "application/json"
		none = "(absent)"
	)
	for _, tt := range []struct {
		method, path     string
		status           int
		allow, kind, api string // Allow, Content-Type, X-Consul-Default-Acl-Policy
		body             string
	}{
		{"OPTIONS", "/v1/status/leader", 200, "OPTIONS,GET", json, "allow", ""},
		{"OPTIONS", "/v1/agent/service/register", 200, "OPTIONS,PUT", json, "allow", ""},
		{"OPTIONS", "/v1/acl/token/x", 200, "OPTIONS,GET,PUT,DELETE", json, "allow", ""},
		{"PUT", "/v1/status/leader", 405, "OPTIONS,GET", text, "allow", "method PUT not allowed"},
		{"HEAD", "/v1/status/leader", 405, "OPTIONS,GET", text, "allow", "method HEAD not allowed"},
		{"PATCH", "/v1/catalog/register", 405, "OPTIONS,PUT", text, "allow", "method PATCH not allowed"},
		{"GET", "/v1/agent/check/pass/x", 405, "OPTIONS,PUT", text, "allow", "method GET not allowed"},
		{"GET", "/v1/agent/service/register", 405, "OPTIONS,PUT", text, "allow", "method GET not allowed"},
		{"GET", "/v1/status/leader", 200, none, json, "allow", `"10.0.0.1:8300"`},
		{"GET", "/v1/status/leader?pretty", 200, none, json, "allow", "\"10.0.0.1:8300\"\n"},
		{"GET", "/v1/catalog/datacenters?pretty=1", 200, none, json, "allow", "[\n    \"dc1\"\n]\n"},
		{"GET", "/v1/status/leader?dc=else", 500, none, text, "allow", "No path to datacenter"},

		{"GET", "/v1", 404, none, text, none, textNotV1},
		{"GET", "/v2/kv/a", 404, none, text, none, textNotV1},
		{"GET", "/index.html", 404, none, text, none, textNotV1},
		{"GET", "/v1/", 404, none, text, none, textUnknown},
		{"GET", "/v1/catalog/nodesx", 404, none, text, none, textUnknown},
		{"GET", "/v1/catalog/datacenters/", 404, none, text, none, textUnknown},
		{"GET", "/v1//catalog/datacenters", 404, none, text, none, textUnknown},
		{"GET", "/v1/catalog/../catalog/datacenters", 404, none, text, none, textUnknown},
		{"PUT", "/v1/agent/check/pass", 404, none, text, none, textUnknown},
		{"GET", "/", 200, none, text, none, textIndex},
		{"GET", "/robots.txt", 200, none, text, none, textNoRobots},

		{"GET", "/v1/catalog/nodes", 403, none, text, "allow", "Endpoint is blocked by agent configuration"},
		{"GET", "/v1/catalog/nodes?filter=x", 403, none, text, "allow", "Endpoint is blocked by agent configuration"},
		{"GET", "/v1/catalog/node/none", 200, none, json, "allow", "null"},

		{"GET", "/v1/catalog/services?ns=default", 400, none, text, "allow", `Invalid query parameter: "ns" - Namespaces are a Consul Enterprise feature`},
		{"GET", "/v1/catalog/services?partition=p1", 400, none, text, "allow", `Invalid query parameter: "partition" - Partitions are a Consul Enterprise feature`},
		{"GET", "/v1/catalog/services?ns=&partition=", 200, none, json, "allow", "{}"},
		{"GET", "/v1/catalog/services?dc=%zz", 400, none, text, "allow", `Invalid query parameter "dc=%zz": invalid URL escape "%zz"`},
		{"GET", "/v1/acl/tokens", 401, none, text, "allow", "ACL support disabled"},
	} {
		w := k.do(tt.method, tt.path, "")
		got := []string{header1(w, "Allow"), header1(w, "Content-Type"), header1(w, "X-Consul-Default-Acl-Policy")}
		want := []string{tt.allow, tt.kind, tt.api}
		if w.Code != tt.status || strings.Join(got, "|") != strings.Join(want, "|") || w.Body.String() != tt.body {
			t.Errorf("%s %s: %d %q %q, want %d %q %q", tt.method, tt.path, w.Code, got, w.Body, tt.status, want, tt.body)
		}
		if vary := header1(w, "Vary"); (vary == "Accept-Encoding") != (tt.api != none) {
			t.Errorf("%s %s: Vary %q", tt.method, tt.path, vary)
		}
		if header1(w, "Warning") != "fixed" {
			t.Errorf("%s %s: no header from the configuration", tt.method, tt.path)
		}
	}
}

// TestRoutesArePermitted: whoever adds a route says what it needs.
func TestRoutesArePermitted(t *testing.T) {
	open := map[string]bool{ // as in Consul
		"/v1/status/leader": true, "/v1/status/peers": true, "/v1/catalog/datacenters": true,
		"/v1/connect/ca/roots": true, "/v1/agent/connect/ca/roots": true,
	}
	seen := map[string]bool{}
	for _, r := range routes {
		key := r.method + " " + r.path
		if seen[key] {
			t.Errorf("%s is there twice", key)
		}
		seen[key] = true
		if strings.HasPrefix(r.path, "/v1/acl/") {
			continue
		}
		if (r.needs == 0) != open[r.path] || (r.needs == 0) != (r.access == 0) {
			t.Errorf("%s needs %d, access %d", key, r.needs, r.access)
		}
		if r.path == "/v1/snapshot" && r.access == acl.Write {
			continue // it shows secrets that nothing else does: for those who may do everything
		}
		if strings.HasPrefix(r.path, "/muster/v1/watch/") && r.access == acl.Read {
			continue // whoever may follow a service may name many, and say what has come
		}
		if r.method != get && r.access == acl.Read || r.method == get && r.access == acl.Write {
			t.Errorf("%s has access %d", key, r.access)
		}
		if n := strings.Count(r.path, "/"); n > maxSegments {
			t.Errorf("%s has %d slashes, the router looks at %d", key, n, maxSegments)
		}
	}
}

// TestIDs: an id is the rest of the path, decoded once.
func TestIDs(t *testing.T) {
	for _, tt := range []struct{ path, id string }{
		{"a", "a"}, {"a/b", "a/b"}, {"a%2Fb", "a/b"}, {"a%252Fb", "a%2Fb"}, {"any%20id:%20x%2Fy", "any id: x/y"},
		{"service:web", "service:web"}, {"service%3Aweb", "service:web"}, {"a//b/", "a//b/"}, {"../x", "../x"},
		{"%2e%2e%2fx", "../x"}, {"a+b", "a+b"}, {"%CF%80", "π"}, {"a;b=c", "a;b=c"}, {"%00", "\x00"},
		{"register/x", "register/x"}, {"100%25", "100%"}, {"", ""},
	} {
		k := newKit(t)
		k.local.services[tt.id] = &model.Service{ID: tt.id, Name: "x"}
		w := k.do("PUT", "/v1/agent/service/deregister/"+tt.path, "")
		if w.Code != 200 || k.local.services[tt.id] != nil {
			t.Errorf("%q: %d %q, want that %q is gone", tt.path, w.Code, w.Body, tt.id)
		}
	}
}

func TestAllowWriteFrom(t *testing.T) {
	k := newKit(t, func(c *Config) { c.AllowWriteFrom = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")} })
	// httptest's requests come from 192.0.2.1.
	if w := k.do("PUT", "/v1/agent/reload", ""); w.Code != 403 || k.agent.called != "" {
		t.Errorf("write from elsewhere: %d %q", w.Code, w.Body)
	}
	if w := k.do("GET", "/v1/status/leader", ""); w.Code != 200 {
		t.Errorf("read from elsewhere: %d %q", w.Code, w.Body)
	}
	k = newKit(t, func(c *Config) { c.AllowWriteFrom = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")} })
	if w := k.do("PUT", "/v1/agent/reload", ""); w.Code != 200 || k.agent.called != "reload" {
		t.Errorf("write from an allowed address: %d %q", w.Code, w.Body)
	}
}

func TestTooLargeBody(t *testing.T) {
	k := newKit(t, func(c *Config) { c.MaxBody = 1000 })
	w := k.do("PUT", "/v1/catalog/register", `{"Node":"`+strings.Repeat("x", 2000)+`"}`)
	if w.Code != 413 || w.Body.String() != "Request body too large: the limit is 1000 bytes" || k.catalog.registered != nil {
		t.Errorf("%d %q", w.Code, w.Body)
	}
	// Without a length told before.
	r, err := http.NewRequest("PUT", "http://agent/v1/catalog/register", io.MultiReader(strings.NewReader(strings.Repeat(" ", 2000))))
	if err != nil {
		t.Fatal(err)
	}
	rec := k.serve(r)
	if rec.Code != 413 {
		t.Errorf("chunked: %d %q", rec.Code, rec.Body)
	}
}

func TestGzip(t *testing.T) {
	k := newKit(t)
	var items []any
	for n := range 40 {
		items = append(items, web("n", 8000+n, model.StatusPassing))
	}
	k.set(topicWeb, 9, items...)
	plain := k.do("GET", "/v1/health/service/web", "")
	for _, tt := range []struct {
		accept string
		zipped bool
	}{
		{"gzip", true}, {"gzip, deflate", true}, {"deflate, GZIP;q=0.5", true}, {"*", true},
		{"", false}, {"deflate", false}, {"gzip;q=0", false}, {"gzip; q=0.0, br", false}, {"identity", false},
	} {
		w := k.do("GET", "/v1/health/service/web", "", "Accept-Encoding", tt.accept)
		zipped := header1(w, "Content-Encoding") == "gzip"
		body := w.Body.Bytes()
		if want := header1(w, "Content-Length"); want != itoa(len(body)) {
			t.Errorf("%q: Content-Length %s for %d bytes", tt.accept, want, len(body))
		}
		if zipped {
			zr, err := gzip.NewReader(bytes.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			if body, err = io.ReadAll(zr); err != nil {
				t.Fatal(err)
			}
		}
		if zipped != tt.zipped || !bytes.Equal(body, plain.Body.Bytes()) {
			t.Errorf("Accept-Encoding %q: compressed %t, want %t; same body %t", tt.accept, zipped, tt.zipped, bytes.Equal(body, plain.Body.Bytes()))
		}
	}
	// Small answers are not worth it.
	if w := k.do("GET", "/v1/catalog/datacenters", "", "Accept-Encoding", "gzip"); header1(w, "Content-Encoding") != "(absent)" {
		t.Error("nine bytes were compressed")
	}
}

// TestPanic: a broken request is an error of its own.
func TestPanic(t *testing.T) {
	k := newKit(t, func(c *Config) { c.Local = nil })
	if w := k.do("GET", "/v1/agent/services", ""); w.Code != 500 || !strings.HasPrefix(w.Body.String(), "internal error") {
		t.Errorf("%d %q", w.Code, w.Body)
	}
	if w := k.do("GET", "/v1/status/leader", ""); w.Code != 200 {
		t.Errorf("afterwards: %d %q", w.Code, w.Body)
	}
}
