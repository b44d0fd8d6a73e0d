package httpapi

import (
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/muster-discovery/muster/internal/lookup"
)

// TestBooleans: bare parameters and valued ones mean the same.
func TestBooleans(t *testing.T) {
	for query, want := range map[string]bool{
		"stale": true, "stale=": true, "stale=1": true, "stale=true": true, "stale=True": true, "a=b&stale&c": true,
		"stale=1&stale=2": true, "stale=yes": true,
		"": false, "stale=false": false, "stale=0": false, "stalex": false, "x=stale": false,
	} {
		var p params
		if err := p.parse(query); err != nil || p.stale != want {
			t.Errorf("%q: %t, %v, want %t", query, p.stale, err, want)
		}
	}
}

func TestParams(t *testing.T) {
	var p params
	err := p.parse("index=5&&wait=60000ms&tag=a%3Db&tag=traefik.http.rule%3DHost%28%60x%60%29&node-meta=rack:r1&node-meta=a%3Ab&" +
		"filter=Service.Port+%3D%3D+80&near=_agent&dc=dc1&dc=dc2&reason=Rack%20move&pem")
	if err != nil {
		t.Fatal(err)
	}
	want := params{
		query: p.query, index: "5", wait: "60000ms", tags: []string{"a=b", "traefik.http.rule=Host(`x`)"},
		nodeMeta: map[string]string{"rack": "r1", "a": "b"}, filter: "Service.Port == 80", near: "_agent", dc: "dc1",
	}
	if !reflect.DeepEqual(p, want) {
		t.Errorf("%+v\nwant %+v", p, want)
	}
	if v, ok := p.get("reason"); v != "Rack move" || !ok {
		t.Errorf("reason %q %t", v, ok)
	}
	if v, ok := p.get("pem"); v != "" || !ok || !p.has("pem") {
		t.Errorf("pem %q %t", v, ok)
	}
	if _, ok := p.get("nothing"); ok {
		t.Error("a parameter that is not there")
	}
}

func TestConsistencyAndWaits(t *testing.T) {
	for _, tt := range []struct {
		query string
		mode  lookup.Mode
		stale time.Duration
		index uint64
		wait  time.Duration
		err   string
	}{
		{"", lookup.ModeDefault, 0, 0, 0, ""},
		{"stale", lookup.ModeStale, 0, 0, 0, ""},
		{"stale&max_stale=3s", lookup.ModeStale, 3 * time.Second, 0, 0, ""},
		{"max_stale=3s", lookup.ModeStale, 3 * time.Second, 0, 0, ""},
		{"max_stale=3", 0, 0, 0, 0, `Invalid max_stale value "3"`},
		{"consistent=", lookup.ModeConsistent, 0, 0, 0, ""},
		{"stale&consistent", 0, 0, 0, 0, "Cannot specify ?stale with ?consistent, conflicting semantics."},
		{"cached&consistent", 0, 0, 0, 0, "Cannot specify ?cached with ?consistent, conflicting semantics."},
		{"index=18446744073709551615&wait=1m30.5s", 0, 0, 1<<64 - 1, 90500 * time.Millisecond, ""},
		{"index=&wait=", 0, 0, 0, 0, ""},
		{"wait=-5s", 0, 0, 0, 0, ""},
		{"index=-1", 0, 0, 0, 0, "Invalid index"},
		{"index=1.5", 0, 0, 0, 0, "Invalid index"},
		{"index=abc", 0, 0, 0, 0, "Invalid index"},
		{"wait=10", 0, 0, 0, 0, "Invalid wait time"},
		{"index=1&wait=abc", 0, 0, 0, 0, "Invalid wait time"},
	} {
		var p params
		if err := p.parse(tt.query); err != nil {
			t.Fatal(err)
		}
		mode, stale, err := p.consistency()
		index, wait, err2 := p.blocking()
		if err == nil {
			err = err2
		}
		if tt.err != "" {
			if err == nil || err.Error() != tt.err {
				t.Errorf("%q: %v, want %q", tt.query, err, tt.err)
			}
			continue
		}
		if err != nil || mode != tt.mode || stale != tt.stale || index != tt.index || wait != tt.wait {
			t.Errorf("%q: %d %s %d %s %v", tt.query, mode, stale, index, wait, err)
		}
	}
}

func TestToken(t *testing.T) {
	for _, tt := range []struct{ query, token, auth, want string }{
		{"", "", "", ""},
		{"token=q", "h", "Bearer b", "q"},
		{"", "h", "Bearer b", "h"},
		{"", "", "Bearer b", "b"},
		{"", "", "bearer  b ", "b"},
		{"", "", "Basic b", ""},
		{"", "", "Bearer", ""},
	} {
		var p params
		if err := p.parse(tt.query); err != nil {
			t.Fatal(err)
		}
		h := http.Header{}
		h.Set("X-Consul-Token", tt.token)
		h.Set("Authorization", tt.auth)
		if got := p.tokenOf(h); got != tt.want {
			t.Errorf("%+v: %q", tt, got)
		}
	}
}

func TestCacheControl(t *testing.T) {
	for value, ok := range map[string]bool{
		"max-age=60": true, "must-revalidate": true, "no-cache, max-age=0, stale-if-error=30": true, "": true,
		"max-age=bogus": false, "stale-if-error=": false, "max-age=-1": false,
	} {
		if err := checkCacheControl(http.Header{"Cache-Control": {value}}); (err == nil) != ok {
			t.Errorf("%q: %v", value, err)
		}
	}
}

// FuzzParams compares with net/url where that accepts the query.
func FuzzParams(f *testing.F) {
	for _, s := range []string{"", "stale", "a=b&a=c", "tag=%zz", "node-meta=a:b:c&filter=a+b", "&&=&", "index=1;wait=2", "%74ag=x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, query string) {
		var p params
		err := p.parse(query)
		_, _, _ = p.consistency()
		_, _, _ = p.blocking()
		_, _ = p.onlyPassing()
		want, wantErr := url.ParseQuery(query)
		if wantErr != nil {
			return // semicolons, mostly, which are ordinary characters here
		}
		if err != nil {
			t.Fatalf("%q: %v, net/url takes it", query, err)
		}
		var tags []string
		for _, tag := range want["tag"] {
			if tag != "" {
				tags = append(tags, tag)
			}
		}
		if !reflect.DeepEqual(p.tags, tags) {
			t.Errorf("%q: tags %q, want %q", query, p.tags, tags)
		}
		for name, values := range want {
			if name == "" {
				continue
			}
			if got, ok := p.get(name); !ok || got != values[0] {
				t.Errorf("%q: %q is %q, want %q", query, name, got, values[0])
			}
		}
	})
}

// FuzzPaths: nothing in a path breaks the router, and ids come out as net/url
// decodes them.
func FuzzPaths(f *testing.F) {
	for _, s := range []string{"/v1/catalog/node/a%2Fb", "/v1/health/service/", "/", "//", "/v1/agent/check/pass/%", "/v1/catalog/nodes/../x"} {
		f.Add(s)
	}
	r := newRouter(routes)
	f.Fuzz(func(t *testing.T, path string) {
		u, err := url.ParseRequestURI(path)
		if err != nil {
			return
		}
		e, id, err := r.find(u)
		if e == nil {
			return
		}
		if err != nil {
			t.Fatalf("%q: %v, although net/url took it", path, err)
		}
		if id != "" && !strings.HasSuffix(u.Path, id) {
			t.Errorf("%q: id %q is not the end of %q", path, id, u.Path)
		}
		if u.Path != e.path+id {
			t.Errorf("%q: %q and %q don't make %q", path, e.path, id, u.Path)
		}
	})
}
