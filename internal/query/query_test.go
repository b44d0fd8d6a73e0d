package query

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-discovery/muster/internal/model"
)

func TestCheck(t *testing.T) {
	ok := func() *model.Query { return &model.Query{Name: "q", Service: model.QueryService{Service: "web"}} }
	for _, c := range []struct {
		name   string
		change func(q *model.Query)
		want   string // empty: accepted
	}{
		{"plain", func(*model.Query) {}, ""},
		{"no name", func(q *model.Query) { q.Name = "" }, "Invalid prepared query: Must be bound to a session"},
		{"no name, session", func(q *model.Query) { q.Name, q.Session = "", "s" }, ""},
		{"redacted token", func(q *model.Query) { q.Token = "<hidden>" },
			"Invalid prepared query: Bad Token '<hidden>', it looks like a query definition with a redacted token was submitted"},
		{"no service", func(q *model.Query) { q.Service.Service = "" }, "Invalid prepared query: Must provide a Service name to query"},
		{"negative nearest", func(q *model.Query) { q.Service.Failover.NearestN = -1 }, "Invalid prepared query: Bad NearestN '-1', must be >= 0"},
		{"targets and nearest", func(q *model.Query) {
			q.Service.Failover = model.QueryFailover{NearestN: 2, Targets: []model.QueryTarget{{Datacenter: "dc2"}}}
		}, "Invalid prepared query: Targets cannot be populated with NearestN or Datacenters"},
		{"meta key", func(q *model.Query) { q.Service.NodeMeta = map[string]string{"a b": "x"} },
			"Invalid prepared query: Invalid NodeMeta filter: Couldn't load metadata pair ('a b', 'x'): Key contains invalid characters"},
		{"TTL", func(q *model.Query) { q.DNSTTL = "bogus" },
			`Invalid prepared query: Bad DNS TTL 'bogus': time: invalid duration "bogus"`},
		{"negative TTL", func(q *model.Query) { q.DNSTTL = "-1s" }, "Invalid prepared query: DNS TTL '-1000000000', must be >=0"},
		{"template type", func(q *model.Query) { q.Template.Type = "bogus" },
			"raft apply failed: failed compiling template: Bad Template.Type 'bogus'"},
		{"template without a name", func(q *model.Query) { q.Name, q.Template.Type = "", model.QueryPrefixMatch }, ""},
		{"template expression", func(q *model.Query) {
			q.Template = model.QueryTemplate{Type: model.QueryPrefixMatch, Regexp: "("}
		}, "raft apply failed: failed compiling template: Bad Regexp: error parsing regexp: missing closing ): `(`"},
		{"unknown variable", func(q *model.Query) {
			q.Template.Type, q.Service.Service = model.QueryPrefixMatch, "${nope}"
		}, "raft apply failed: failed compiling template: Bad evaluation for '${nope}' in Service.Service: unknown variable accessed: nope"},
		{"no interpolation outside of templates", func(q *model.Query) { q.Service.Service = "${nope" }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := ok()
			c.change(q)
			err := Check(q)
			got := ""
			if err != nil {
				got = err.Error()
				if model.KindOf(err) != model.KindInvalid {
					t.Errorf("kind is %d", model.KindOf(err))
				}
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestRender(t *testing.T) {
	for _, c := range []struct{ expr, text, want string }{
		{"", "plain", "plain"},
		{"", "${name.full}", "geo-db-1"},
		{"", "${ name.prefix }|${name.suffix}", "geo-|db-1"},
		{"", "$${name.full}", "${name.full}"},
		{"", "$name $", "$name $"},
		{"", "${agent.segment}x", "x"},
		{`^geo-(.*?)-(\d+)$`, "${match(1)}.${ match( 2 ) }", "db.1"},
		{`^geo-(.*?)-(\d+)$`, "${match(0)}", "geo-db-1"},
		{`^geo-(.*?)-(\d+)$`, "[${match(7)}${match(-1)}]", "[]"},
		{"^no$", "[${match(0)}]", "[]"},
		{"", `${"a\"b${name.suffix}"}`, `a"bdb-1`},
		{"", "${(12)}", "12"},
	} {
		tpl, err := Compile(&model.Query{Name: "geo-",
			Template: model.QueryTemplate{Type: model.QueryPrefixMatch, Regexp: c.expr},
			Service:  model.QueryService{Service: c.text}})
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		q, err := tpl.Render("geo-db-1")
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
		} else if q.Service.Service != c.want {
			t.Errorf("%s: got %q, want %q", c.text, q.Service.Service, c.want)
		}
	}
}

func TestRenderEveryText(t *testing.T) {
	v := "${name.suffix}"
	tpl, err := Compile(&model.Query{Name: "P-",
		Template: model.QueryTemplate{Type: model.QueryPrefixMatch, RemoveEmptyTags: true},
		Service: model.QueryService{Service: "s", Near: v, Tags: []string{v, "${match(1)}"}, IgnoreCheckIDs: []string{v},
			NodeMeta: map[string]string{"n": v}, ServiceMeta: map[string]string{"s": v},
			Failover: model.QueryFailover{Datacenters: []string{v}}}})
	if err != nil {
		t.Fatal(err)
	}
	q, err := tpl.Render("p-x")
	if err != nil {
		t.Fatal(err)
	}
	s := q.Service
	if len(s.Tags) != 1 {
		t.Errorf("the empty tag stayed: %q", s.Tags)
	}
	for i, got := range []string{s.Near, s.Tags[0], s.IgnoreCheckIDs[0], s.NodeMeta["n"], s.ServiceMeta["s"], s.Failover.Datacenters[0]} {
		if got != "x" {
			t.Errorf("text %d is %q", i, got)
		}
	}
	if again, err := tpl.Render("p-y"); err != nil || again.Service.Near != "y" || again.Name != "P-" {
		t.Errorf("a second rendering is %+v, %v: the first has changed the template", again, err)
	}
	if _, err := tpl.Render("q-x"); err == nil {
		t.Error("rendered a name without the prefix")
	}
}

func TestCompileEnds(t *testing.T) {
	deep := strings.Repeat(`${"`, 10000)
	for _, text := range []string{deep, "${" + strings.Repeat("(", 10000), "${match(match(1))}", "${geo}", "${geo()}", "${name.full", "${", `${"\q"}`, "${1x}"} {
		_, err := Compile(&model.Query{Name: "geo", Template: model.QueryTemplate{Type: model.QueryPrefixMatch},
			Service: model.QueryService{Service: text}})
		if err == nil {
			t.Errorf("%.40q was accepted", text)
		}
	}
}

func index(queries ...*model.Query) *Index {
	var entries []*Entry
	for _, q := range queries {
		if q.Service.Service == "" {
			q.Service.Service = q.Name + "!"
		}
		entries = append(entries, NewEntry(q))
	}
	return NewIndex(entries)
}

func TestFind(t *testing.T) {
	prefix := model.QueryTemplate{Type: model.QueryPrefixMatch}
	const id, templateID = "11111111-2222-3333-4444-aaaaaaaaaaaa", "11111111-2222-3333-4444-bbbbbbbbbbbb"
	x := index(
		&model.Query{ID: id, Name: "Exact"},
		&model.Query{ID: templateID, Name: "p-", Template: prefix},
		&model.Query{ID: "3", Name: "p-long-", Template: prefix},
		&model.Query{ID: "4", Name: "p-exact"},
	)
	for name, want := range map[string]string{
		"exact": "Exact", id: "Exact", strings.ToUpper(id): "Exact",
		"p-x": "p-", "p-": "p-", "P-LONG-x": "p-long-", "p-long": "p-", "p-exact": "p-exact", "p-exact2": "p-",
		"other": "", "p": "",
	} {
		q, err := x.Find(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := ""
		if q != nil {
			got = q.Name
		}
		if got != want {
			t.Errorf("%s finds %q, want %q", name, got, want)
		}
	}
	if _, err := x.Find(templateID); err != ErrTemplateID {
		t.Errorf("template by id: %v", err)
	}
	if _, err := x.Find(""); err == nil {
		t.Error("the empty name found something")
	}
	if q, err := x.Find("exact" + strings.Repeat("x", 100)); q != nil || err != nil {
		t.Errorf("a longer name finds %v, %v", q, err)
	}
	if q, err := index(&model.Query{ID: "1", Name: "abc"}).Find("abcd"); q != nil || err != nil {
		t.Errorf("a name with one more letter finds %v, %v", q, err)
	}
	catchAll := index(&model.Query{ID: "5", Template: prefix, Service: model.QueryService{Service: "${name.full}"}})
	if q, err := catchAll.Find("anything"); err != nil || q.Service.Service != "anything" {
		t.Errorf("catch-all: %+v, %v", q, err)
	}
}

func TestFindLongName(t *testing.T) {
	x := index(&model.Query{ID: "1", Name: "p-", Template: model.QueryTemplate{Type: model.QueryPrefixMatch}})
	long := strings.Repeat("x", 1<<20)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 1000 {
			if q, err := x.Find(long); q != nil || err != nil {
				t.Error(q, err)
			}
		}
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("the time grows with the square of the name's length")
	}
}

func TestFits(t *testing.T) {
	instance := func(status string) *model.Instance {
		return &model.Instance{
			Node:    &model.Node{Meta: map[string]string{"rack": "r1"}},
			Service: &model.Service{Tags: []string{"v1", "Prod"}, Meta: map[string]string{"zone": "a"}},
			Checks:  []*model.Check{{ID: "c", Status: status}, {ID: "d", Status: model.StatusPassing}},
		}
	}
	for _, c := range []struct {
		name   string
		status string
		s      model.QueryService
		want   bool
	}{
		{"all", "passing", model.QueryService{}, true},
		{"warning", "warning", model.QueryService{}, true},
		{"warning, only passing", "warning", model.QueryService{OnlyPassing: true}, false},
		{"critical", "critical", model.QueryService{}, false},
		{"ignored check", "critical", model.QueryService{IgnoreCheckIDs: []string{"c"}}, true},
		{"ignored other", "critical", model.QueryService{IgnoreCheckIDs: []string{"d"}}, false},
		{"ignored, only passing", "critical", model.QueryService{OnlyPassing: true, IgnoreCheckIDs: []string{"c"}}, true},
		{"tag", "passing", model.QueryService{Tags: []string{"PROD"}}, true},
		{"tags", "passing", model.QueryService{Tags: []string{"prod", "v2"}}, false},
		{"not", "passing", model.QueryService{Tags: []string{"!v2"}}, true},
		{"not, there", "passing", model.QueryService{Tags: []string{"v1", "!prod"}}, false},
		{"node meta", "passing", model.QueryService{NodeMeta: map[string]string{"rack": "r1"}}, true},
		{"node meta differs", "passing", model.QueryService{NodeMeta: map[string]string{"rack": "r2"}}, false},
		{"no such meta", "passing", model.QueryService{NodeMeta: map[string]string{"x": ""}}, false},
		{"service meta", "passing", model.QueryService{ServiceMeta: map[string]string{"zone": "a"}}, true},
		{"service meta differs", "passing", model.QueryService{ServiceMeta: map[string]string{"zone": "b"}}, false},
	} {
		if got := Fits(&c.s, instance(c.status)); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}

func TestTargets(t *testing.T) {
	others := []string{"dc2", "dc3", "dc4"}
	for _, c := range []struct {
		f      model.QueryFailover
		others []string
		want   string
	}{
		{model.QueryFailover{}, others, ""},
		{model.QueryFailover{NearestN: 2}, nil, ""},
		{model.QueryFailover{NearestN: 2}, others, "dc2 dc3"},
		{model.QueryFailover{NearestN: 9}, others, "dc2 dc3 dc4"},
		{model.QueryFailover{NearestN: 1, Datacenters: []string{"dc4", "dc2", "nowhere"}}, others, "dc2 dc4"},
		{model.QueryFailover{Datacenters: []string{"dc2"}}, nil, ""},
		{model.QueryFailover{Targets: []model.QueryTarget{{Peer: "p"}, {Datacenter: "dc3"}}}, others, "dc3"},
	} {
		var got []string
		for _, target := range Targets(&c.f, c.others) {
			got = append(got, target.Datacenter)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%+v of %q: %q, want %q", c.f, c.others, got, c.want)
		}
	}
}

func TestCheckID(t *testing.T) {
	for id, want := range map[string]string{
		"nope":                                 "UUID must be 36 characters",
		"11111111-2222-3333-4444-555555555555": "",
		"11111111-2222-3333-4444x555555555555": `Invalid UUID: "11111111-2222-3333-4444x555555555555"`,
	} {
		got := ""
		if err := CheckID(id); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q", id, got)
		}
	}
}

// FuzzTemplate: whatever compiles renders without an error for each name that begins
// with its own, and an escaped text comes out as it went in.
func FuzzTemplate(f *testing.F) {
	f.Add("geo-", "^geo-(.*)$", "${name.suffix}-${match(1)}", "db")
	f.Add("", "", `${"a${name.full}"}$${x}`, "y")
	f.Add("a", "(", "${", "")
	f.Fuzz(func(t *testing.T, prefix, expr, text, suffix string) {
		q := &model.Query{Name: prefix, Service: model.QueryService{Service: text},
			Template: model.QueryTemplate{Type: model.QueryPrefixMatch, Regexp: expr}}
		if tpl, err := Compile(q); err == nil {
			if _, err := tpl.Render(prefix + suffix); err != nil {
				t.Errorf("compiles, but: %v", err)
			}
		}
		if strings.Contains(text, "$$") || strings.HasSuffix(text, "$") {
			return
		}
		escaped := *q
		escaped.Template.Regexp = ""
		escaped.Service.Service = strings.ReplaceAll(text, "${", "$${")
		tpl, err := Compile(&escaped)
		if err != nil {
			t.Fatalf("escaped text: %v", err)
		}
		if out, err := tpl.Render(prefix + suffix); err != nil || out.Service.Service != text {
			t.Errorf("escaped %q comes out as %q, %v", text, out.Service.Service, err)
		}
	})
}
