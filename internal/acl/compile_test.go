package acl

import (
	"fmt"
	"testing"
)

func compiled(t testing.TB, def Default, sources ...string) *Compiled {
	t.Helper()
	var all []*Rules
	for i, source := range sources {
		all = append(all, parsed(t, fmt.Sprintf("p%d", i+1), source))
	}
	return Compile(def, all...)
}

// TestPrecedence has what the documentation says in words (acl-policies, "Matching
// and Prefix Values", "Matching Precedence"; acl-rules, "List Policy for Keys").
func TestPrecedence(t *testing.T) {
	for _, c := range []struct {
		name    string
		sources []string
		on      string // a service or key
		read    bool
		write   bool
	}{
		{"no rule", nil, "web", false, false},
		{"read", []string{`service "web" { policy = "read" }`}, "web", true, false},
		{"write includes read", []string{`service "web" { policy = "write" }`}, "web", true, true},
		{"exact is exact", []string{`service "web" { policy = "write" }`}, "web2", false, false},
		{"prefix includes itself", []string{`service_prefix "web" { policy = "read" }`}, "web", true, false},
		{"prefix", []string{`service_prefix "web" { policy = "read" }`}, "web2", true, false},
		{"prefix only of longer names", []string{`service_prefix "web" { policy = "read" }`}, "we", false, false},
		{"empty prefix", []string{`service_prefix "" { policy = "read" }`}, "", true, false},
		{"longest prefix wins", []string{`service_prefix "" { policy = "deny" } service_prefix "w" { policy = "write" } service_prefix "web" { policy = "read" }`}, "web1", true, false},
		{"longest prefix wins over deny", []string{`service_prefix "" { policy = "deny" } service_prefix "w" { policy = "write" }`}, "web1", true, true},
		{"exact beats prefix", []string{`service_prefix "web" { policy = "write" } service "web" { policy = "read" }`}, "web", true, false},
		{"exact beats prefix that denies", []string{`service_prefix "web" { policy = "deny" } service "web" { policy = "read" }`}, "web", true, false},
		{"exact denies", []string{`service_prefix "" { policy = "write" } service "web" { policy = "deny" }`}, "web", false, false},
		{"of two policies: write over read", []string{`service "web" { policy = "read" }`, `service "web" { policy = "write" }`}, "web", true, true},
		{"of two policies: deny over write", []string{`service "web" { policy = "deny" }`, `service "web" { policy = "write" }`}, "web", false, false},
		{"of two policies: specific first", []string{`service_prefix "web" { policy = "deny" }`, `service "web" { policy = "read" }`}, "web", true, false},
		{"in one policy as in two", []string{`service_prefix "" { policy = "read" } service_prefix "" { policy = "write" }`}, "web", true, true},
		{"other kinds do not count", []string{`node_prefix "" { policy = "write" }`}, "web", false, false},
		{"case counts", []string{`service "Web" { policy = "write" }`}, "web", false, false},
	} {
		auth := compiled(t, DefaultDeny, c.sources...)
		for a, want := range map[Access]bool{Read: c.read, Write: c.write, 0: false, 77: false} {
			if got := auth.Allowed(Service, c.on, a); got != want {
				t.Errorf("%s: %v allowed: %v", c.name, a, got)
			}
		}
	}
}

// TestObserved has what a real Consul answered in the scenarios acl/kv-prefix-exact,
// acl/policy-merge, acl/kv-list-policy, acl/service-rules and acl/intention-rules.
func TestObserved(t *testing.T) {
	keys := compiled(t, DefaultDeny, `key_prefix "kpe/" { policy = "read" } key_prefix "kpe/w/" { policy = "write" }
		key "kpe/w/no" { policy = "deny" } key "kpe/exact" { policy = "write" } key_prefix "kpe/hidden/" { policy = "deny" }`)
	merged := compiled(t, DefaultDeny,
		`key_prefix "pme/" { policy = "read" } key_prefix "pme/d/" { policy = "write" } key "pme/x" { policy = "write" }`,
		`key_prefix "pme/" { policy = "write" } key_prefix "pme/d/" { policy = "deny" } key "pme/x" { policy = "read" }`)
	list := compiled(t, DefaultDeny, `key_prefix "klp/read/" { policy = "read" } key_prefix "klp/list/" { policy = "list" } key_prefix "klp/write/" { policy = "write" }`)
	services := compiled(t, DefaultDeny, `service_prefix "sru-" { policy = "write" } service "sru-no" { policy = "deny" } service "sru-ro" { policy = "read" }`)
	for _, c := range []struct {
		auth *Compiled
		r    Resource
		name string
		a    Access
		want bool
	}{
		{keys, Key, "kpe/a", Read, true}, {keys, Key, "kpe/a", Write, false}, {keys, Key, "kpe/w/a", Write, true},
		{keys, Key, "kpe/w/no", Write, false}, {keys, Key, "kpe/w/no", Read, false}, {keys, Key, "kpe/exact", Write, true},
		{keys, Key, "kpe/exact2", Write, false}, {keys, Key, "kpe/hidden/missing", Read, false},
		{merged, Key, "pme/a", Write, true}, {merged, Key, "pme/d/a", Read, false}, {merged, Key, "pme/x", Write, true},
		{merged, Key, "other", Write, false},
		{list, Key, "klp/read/a", Read, true}, {list, Key, "klp/read/", List, false}, {list, Key, "klp/list/", List, true},
		{list, Key, "klp/list/a", Read, true}, {list, Key, "klp/list/a", Write, false}, {list, Key, "klp/write/", List, true},
		{list, Key, "klp/", List, false},
		{services, Service, "sru-a", Write, true}, {services, Service, "sru-no", Write, false},
		{services, Service, "sru-ro", Write, false}, {services, Service, "sru-ro", Read, true},
	} {
		if got := c.auth.Allowed(c.r, c.name, c.a); got != c.want {
			t.Errorf("%v:%v on %q: %v", c.r, c.a, c.name, got)
		}
	}
	for prefix, want := range map[string]bool{"kpe/w/": false, "kpe/w/x": true, "kpe/": false, "kpe/exact": false, "": false, "kpe/w/no": false, "kpe/w/no2": true} {
		if got := keys.AllowsPrefix(Key, prefix, Write); got != want {
			t.Errorf("key:write below %q: %v", prefix, got)
		}
	}
}

// TestIntentions: reading is implied by any access to the service (documented in
// "Create and manage intentions", "ACL requirements"), a word in the rule counts more.
func TestIntentions(t *testing.T) {
	for _, c := range []struct {
		rules       []string
		read, write bool
	}{
		{[]string{`service "db" { policy = "read" }`}, true, false},
		{[]string{`service "db" { policy = "write" }`}, true, false},
		{[]string{`service "db" { policy = "deny" }`}, false, false},
		{[]string{`service "db" { policy = "read" intentions = "write" }`}, true, true},
		{[]string{`service "db" { policy = "write" intentions = "deny" }`}, false, false},
		{[]string{`service "db" { policy = "deny" intentions = "write" }`}, true, true},
		{[]string{`service "db" { policy = "read" }`, `service "db" { policy = "write" intentions = "deny" }`}, false, false},
		{[]string{`service "db" { policy = "deny" }`, `service "db" { policy = "write" intentions = "write" }`}, true, true},
		{[]string{`service "db" { policy = "deny" }`, `service "db" { policy = "write" }`}, false, false},
		{[]string{`service "db" { policy = "write" intentions = "write" }`, `service "db" { policy = "read" intentions = "read" }`}, true, true},
		{[]string{`service_prefix "" { policy = "write" intentions = "write" }`, `service "db" { policy = "read" }`}, true, false},
	} {
		auth := compiled(t, DefaultDeny, c.rules...)
		if r, w := auth.Allowed(Intention, "db", Read), auth.Allowed(Intention, "db", Write); r != c.read || w != c.write {
			t.Errorf("%v: read %v, write %v", c.rules, r, w)
		}
	}
}

// TestDefault: what no rule speaks about is as the default says, but for acl
// (scenario acl/default-allow).
func TestDefault(t *testing.T) {
	for r := Node; r < resources; r++ {
		for _, a := range []Access{Read, Write, List} {
			want := r != ACL
			if c := Compile(DefaultAllow); c.Allowed(r, "x", a) != want || c.AllowsAll(r, a) != want {
				t.Errorf("default allow, %v:%v: %v", r, a, !want)
			}
			if c := Compile(DefaultDeny); c.Allowed(r, "x", a) || c.AllowsAll(r, a) {
				t.Errorf("default deny, %v:%v is allowed", r, a)
			}
		}
	}
	for _, r := range []Resource{0, resources, 200} {
		if c := Compile(DefaultAllow); c.Allowed(r, "x", Read) || c.AllowsAll(r, Read) || c.Why(r, "x", Read).Allowed {
			t.Errorf("resource %d, which there is not, is allowed", r)
		}
	}
	c := compiled(t, DefaultAllow, `key_prefix "secret/" { policy = "deny" } acl = "read" node "a" { policy = "read" }`)
	for _, x := range []struct {
		r    Resource
		name string
		a    Access
		want bool
	}{
		{Key, "secret/x", Read, false}, {Key, "x", Write, true}, {ACL, "", Read, true}, {ACL, "", Write, false},
		{Node, "a", Write, false}, {Node, "b", Write, true},
	} {
		if got := c.Allowed(x.r, x.name, x.a); got != x.want {
			t.Errorf("%v:%v on %q: %v", x.r, x.a, x.name, got)
		}
	}
	for a, want := range map[Access]bool{Read: true, Write: false} {
		if got := c.AllowsAll(Node, a); got != want {
			t.Errorf("all nodes, %v: %v", a, got)
		}
	}
}

func TestBuiltins(t *testing.T) {
	for i, p := range Builtins() {
		rules := parsed(t, p.Name, p.Rules)
		if err := rules.Strict(); err != nil {
			t.Error(err)
		}
		c := Compile(DefaultDeny, rules)
		for r := Node; r < resources; r++ {
			if !c.AllowsAll(r, Read) || c.AllowsAll(r, Write) != (i == 0) {
				t.Errorf("%s: read %v, write %v on %v", p.Name, c.AllowsAll(r, Read), c.AllowsAll(r, Write), r)
			}
		}
	}
	c := AgentRecovery("n1")
	if !c.Allowed(Agent, "n1", Write) || c.Allowed(Agent, "n2", Read) || !c.Allowed(Node, "n2", Read) ||
		c.Allowed(Node, "n1", Write) || c.Allowed(Key, "x", Read) || c.Allowed(Operator, "", Read) {
		t.Error("the recovery token has other rights than over its agent")
	}
}

// TestAllowsPrefixFallback: what can't tell about a part has to allow all.
func TestAllowsPrefixFallback(t *testing.T) {
	c := compiled(t, DefaultDeny, `key_prefix "a/" { policy = "write" }`)
	if !AllowsPrefix(c, Key, "a/b", Write) || AllowsPrefix(c, Key, "a", Write) {
		t.Error("compiled rules were not asked")
	}
	if !AllowsPrefix(AllowAll{}, Key, "a", Write) || AllowsPrefix(struct{ Authorizer }{c}, Key, "a/b", Write) {
		t.Error("the whole class was not asked for")
	}
}
