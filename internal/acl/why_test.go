package acl

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/muster-discovery/muster/internal/model"
)

var update = flag.Bool("update", false, "rewrite testdata/why.txt")

// TestWhyTexts keeps the texts of explanations: people and scripts read them.
func TestWhyTexts(t *testing.T) {
	const golden = "testdata/why.txt"
	deny := compiled(t, DefaultDeny, `# of the platform
service_prefix "" { policy = "read" }
service_prefix "web" {
  policy     = "write"
  intentions = "write"
}
service "web-old" { policy = "deny" }
operator = "read"
keyring  = "deny"`,
		`service "web-old" { policy = "write" }
service "db" { policy = "write" intentions = "deny" }
service "shop" { policy = "read" intentions = "write" }
key_prefix "app/" { policy = "write" }
key "app/locked" { policy = "read" }
key "app/owner" { policy = "read" }
key_prefix "secret/" { policy = "deny" }
key "a\"${b}" { policy = "list" }`)
	allow := compiled(t, DefaultAllow, `key_prefix "secret/" { policy = "deny" }`)
	var b strings.Builder
	line := func(w Reason) { fmt.Fprintln(&b, w) }
	for _, q := range []struct {
		r    Resource
		name string
		a    Access
	}{
		{Service, "web-1", Write}, {Service, "db", Write}, {Service, "api", Write}, {Service, "web-old", Write}, {Service, "shop", Write},
		{Intention, "web-1", Write}, {Intention, "api", Read}, {Intention, "api", Write}, {Intention, "db", Read}, {Intention, "web-old", Write},
		{Node, "n1", Read}, {Agent, "n1", Write}, {UserEvent, "deploy", Write}, {Query, "", Write}, {Session, "n1", Write},
		{Operator, "", Read}, {Operator, "", Write}, {Keyring, "", Read}, {ACL, "", Write}, {Mesh, "", Write}, {Peering, "", Read},
		{Key, "app/x", Write}, {Key, "app/locked", Write}, {Key, "secret/x", Read}, {Key, "app/", List}, {Key, "other/", List},
		{Key, "secret/", List}, {Key, "a\"${b}", Write}, {Key, "\xff\n", Read},
	} {
		line(deny.Why(q.r, q.name, q.a))
	}
	fmt.Fprintln(&b, "\n# trees")
	for _, prefix := range []string{"app/x/", "app/", "secret/", "other/", ""} {
		line(deny.WhyTree(prefix, Write))
	}
	fmt.Fprintln(&b, "\n# default allow")
	line(allow.Why(Service, "web", Write))
	line(allow.Why(ACL, "", Read))
	line(allow.Why(Key, "secret/x", Write))
	line(allow.WhyTree("", Write))
	line(allow.WhyTree("app/", Write))
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("got\n%s\nwant\n%s", &b, want)
	}
}

// TestWhyNothing: questions that make no sense have an answer, and it is no.
func TestWhyNothing(t *testing.T) {
	c := Compile(DefaultAllow)
	for _, w := range []Reason{c.Why(0, "x", Read), c.Why(99, "x", Read), c.Why(Service, "x", 0), c.Why(Service, "x", 9), c.WhyTree("x", 9)} {
		if w.Allowed || w.Missing != "" || w.String() == "" {
			t.Errorf("%+v: %s", w, w)
		}
	}
	c = Compile(DefaultDeny)
	if w := c.Why(Service, "x", List); w.Allowed || w.Missing != "" {
		t.Errorf("services can be listed with %s", w.Missing)
	}
}

// TestDenied has the texts of scenarios acl/anonymous-denied, acl/kv-list-policy,
// acl/service-rules, acl/intention-rules and acl/ui-and-internal.
func TestDenied(t *testing.T) {
	const accessor = "b5a4d3c2-0000-4000-8000-000000000001"
	for _, c := range []struct {
		err  error
		want string
	}{
		{Denied(accessor, Service, "web", Write), `Permission denied: token with AccessorID 'b5a4d3c2-0000-4000-8000-000000000001' lacks permission 'service:write' on "web"`},
		{Denied(accessor, Key, "klp/", List), `Permission denied: token with AccessorID 'b5a4d3c2-0000-4000-8000-000000000001' lacks permission 'key:list' on "klp/"`},
		{Denied(accessor, ACL, "", Write), `Permission denied: token with AccessorID 'b5a4d3c2-0000-4000-8000-000000000001' lacks permission 'acl:write'`},
		{Denied("", Operator, "", Read), `Permission denied: token with AccessorID '' lacks permission 'operator:read'`},
		{Denied(model.AnonymousTokenID, Keyring, "", Read), `Permission denied: anonymous token lacks permission 'keyring:read'. The anonymous token is used implicitly when a request does not specify a token.`},
		{Denied(model.AnonymousTokenID, Intention, "iru-db", Read), `Permission denied: anonymous token lacks permission 'intention:read' on "iru-db". The anonymous token is used implicitly when a request does not specify a token.`},
	} {
		if c.err.Error() != c.want || model.KindOf(c.err) != model.KindDenied {
			t.Errorf("%s\nwant %s", c.err, c.want)
		}
	}
}
