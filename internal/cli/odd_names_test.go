package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/wire"
	"pgregory.net/rapid"
)

// catalog is an agent that keeps services: the product's own decoder in front of a map.
type catalog struct {
	mu       sync.Mutex
	services map[string]*model.ServiceDefinition
}

func (c *catalog) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	path := r.URL.EscapedPath()
	switch {
	case path == "/v1/agent/service/register":
		body, _ := io.ReadAll(r.Body) // what is cut off does not decode
		def, err := wire.DecodeServiceDefinition(body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		c.services[def.Service.ID] = def
	case strings.HasPrefix(path, "/v1/agent/service/deregister/"):
		id, err := url.PathUnescape(strings.TrimPrefix(path, "/v1/agent/service/deregister/"))
		if _, ok := c.services[id]; !ok || err != nil {
			http.Error(w, "Unknown service ID", http.StatusNotFound)
			return
		}
		delete(c.services, id)
	case path == "/v1/catalog/services":
		names := map[string][]string{}
		for _, d := range c.services {
			names[d.Service.Name] = d.Service.Tags
		}
		_ = json.NewEncoder(w).Encode(names)
	default:
		http.NotFound(w, r)
	}
}

var oddNames = []string{
	"/ns/area/name", "http://127.0.0.1:21000/api", "two words", "app#10.0.0.1#80", "per%2Fcent", "a?b=c&d", "ünï", "semi;colon,comma",
	"dots..", ".", "..", "a+b", `q"uote`, "-id", "--", "=", "line\nend", "\x1b[2J", "\xff", "a\x00b", " ", `"`, "\u202e", "\ufffd", "a//b", "..//..", "register",
}

func oddName() *rapid.Generator[string] {
	return rapid.OneOf(rapid.SampledFrom(oddNames), rapid.String(), rapid.StringOfN(rapid.RuneFrom([]rune("./%?#&+;\\\"'\n -=é")), 1, 8, -1))
}

// Whatever id, name or tag is accepted can be listed, and removed again: by flags or
// by a file.
func TestWhatIsRegisteredCanBeListedAndRemoved(t *testing.T) {
	newFake(t, nil)
	c := &catalog{services: map[string]*model.ServiceDefinition{}}
	s := httptest.NewServer(c)
	t.Cleanup(s.Close)
	t.Setenv("CONSUL_HTTP_ADDR", s.URL)
	path := filepath.Join(t.TempDir(), "service.json")
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.OneOf(oddName(), rapid.Just("")).Draw(t, "id")
		name, tag := oddName().Draw(t, "name"), oddName().Draw(t, "tag")
		byFile := rapid.Bool().Draw(t, "by a file")
		register, deregister := []string{"-id=" + id, "-name=" + name, "-tag=" + tag}, []string{"-id=" + id}
		if id == "" {
			deregister = []string{"-id=" + name}
		}
		if byFile {
			def, err := json.Marshal(map[string]any{"service": map[string]any{"id": id, "name": name, "tags": []string{tag}}})
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, def, 0o600); err != nil {
				t.Fatal(err)
			}
			register, deregister = []string{path}, []string{path}
		}
		if muster(append([]string{"services", "register"}, register...)...).code != 0 {
			if len(c.services) != 0 {
				t.Fatal("refused, and registered nonetheless")
			}
			return
		}
		listed := muster("catalog", "services", "-tags").out
		if want := row(c); listed != want {
			t.Errorf("listed %q, want %q", listed, want)
		}
		if r := muster(append([]string{"services", "deregister"}, deregister...)...); r.code != 0 || len(c.services) != 0 {
			t.Errorf("not removed: %+v", r)
		}
		clear(c.services)
	})
}

// row is the line that shows the only service: one line, from which its name and its
// tags can be read.
func row(c *catalog) string {
	for _, d := range c.services {
		return show(d.Service.Name) + "  " + strings.Join(mapped(d.Service.Tags, show), ",") + "\n"
	}
	return ""
}

// show is what shown promises, said in another way.
func show(s string) string {
	if q := strconv.Quote(s); q != `"`+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s)+`"` || strings.Trim(s, " \u00a0") != s || strings.HasPrefix(s, `"`) {
		return q
	}
	return s
}

func mapped(list []string, f func(string) string) []string {
	out := slices.Clone(list)
	for i := range out {
		out[i] = f(out[i])
	}
	return out
}
