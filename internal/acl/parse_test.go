package acl

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/muster-discovery/muster/internal/model"
)

func parsed(t testing.TB, policy, source string) *Rules {
	t.Helper()
	r, err := Parse(policy, source)
	if err != nil {
		t.Fatalf("%s: %v", source, err)
	}
	return r
}

func texts(r *Rules) string {
	var lines []string
	for i := range r.List {
		lines = append(lines, r.List[i].String())
	}
	return strings.Join(lines, "\n")
}

// TestParseForms has the ways in which the documentation (acl-rules, "Rule
// Specification") and tools write rules.
func TestParseForms(t *testing.T) {
	for _, c := range []struct{ name, source, want string }{
		{"empty", "", ""},
		{"space", " \n\t", ""},
		{"comment", "# only a comment", ""},
		{"bare", `operator = "read" keyring = "write" acl = "read" mesh = "write" peering = "read"`,
			"operator = \"read\"\nkeyring = \"write\"\nacl = \"read\"\nmesh = \"write\"\npeering = \"read\""},
		{"block", `key "a" { policy = "list" }`, `key "a" { policy = "list" }`},
		{"prefix", `key_prefix "" { policy = "deny" }`, `key_prefix "" { policy = "deny" }`},
		{"intentions", `service "a" { policy = "write" intentions = "read" }`, `service "a" { policy = "write" intentions = "read" }`},
		{"assigned", `node = { "a" = { policy = "read" } "b" = { policy = "write" } }`,
			"node \"a\" { policy = \"read\" }\nnode \"b\" { policy = \"write\" }"},
		{"bare label", `node a { policy = "read" }`, `node "a" { policy = "read" }`},
		{"case of words", `Node_Prefix "A" { Policy = "read" }`, `node_prefix "A" { policy = "read" }`},
		{"JSON", `{"key":{"a":{"policy":"read"}},"service_prefix":{"":{"policy":"write","intentions":"read"}},"acl":"write"}`,
			"key \"a\" { policy = \"read\" }\nservice_prefix \"\" { policy = \"write\" intentions = \"read\" }\nacl = \"write\""},
		{"JSON lists", `{"node": [{"a": [{"policy": "read"}]}, {"a": [{"policy": "write"}]}]}`,
			"node \"a\" { policy = \"read\" }\nnode \"a\" { policy = \"write\" }"},
		{"escapes", `key "a\"b\\\n" { policy = "read" }`, `key "a\"b\\\n" { policy = "read" }`},
		{"the same twice", `node_prefix "" { policy = "read" } node_prefix "" { policy = "write" }`,
			"node_prefix \"\" { policy = \"read\" }\nnode_prefix \"\" { policy = \"write\" }"},
	} {
		r, err := Parse("p", c.source)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := texts(r); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
		if err := r.Strict(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestParseKinds has every kind with and without a prefix.
func TestParseKinds(t *testing.T) {
	for _, k := range kinds {
		for _, level := range levels[1:] {
			sources := []string{fmt.Sprintf("%s = %q", k.name, level)}
			if k.labeled {
				sources = []string{
					fmt.Sprintf("%s \"x\" { policy = %q }", k.name, level),
					fmt.Sprintf("%s_prefix \"x\" { policy = %q }", k.name, level),
				}
			}
			for _, source := range sources {
				r, err := Parse("", source)
				if want := level != "list" || k.resource == Key; (err == nil) != want {
					t.Errorf("%s: %v, want it valid: %v", source, err, want)
				} else if want && texts(r) != source {
					t.Errorf("%s was read as %s", source, texts(r))
				}
			}
		}
	}
}

// TestParseMistakes has the texts that clients see: they begin as Consul's, those
// without labels are Consul's (scenario acl/policy-rules-syntax).
func TestParseMistakes(t *testing.T) {
	for _, c := range []struct{ source, want string }{
		{`operator = "bogus"`, `Invalid operator policy: "bogus"`},
		{`keyring = "list"`, `Invalid keyring policy: "list"`},
		{`acl = 1`, `Invalid acl policy: it must be a text at line 1, column 7; write acl = "read"; valid are "deny", "read" and "write"`},
		{`acl { policy = "read" }`, `Invalid acl policy: it must be a text at line 1, column 5; write acl = "read"; valid are "deny", "read" and "write"`},
		{"acl = \"read\"\nacl = \"read\"", `Invalid acl policy: given twice at line 2, column 1; only one rule of this kind is allowed per policy: remove one`},
		{`key "a" { policy = "sudo" }`, `Invalid key policy: "sudo" of key "a" at line 1, column 20; valid are "deny", "read", "list" and "write"`},
		{`key "a" { }`, `Invalid key policy: key "a" has none at line 1, column 5; give it policy = "<level>"; valid are "deny", "read", "list" and "write"`},
		{"\n  key_prefix \"a\" {\n  policy = 7 }", `Invalid key_prefix policy: "7" of key_prefix "a" at line 3, column 12; valid are "deny", "read", "list" and "write"`},
		{`key "a" { policy = "read" policy = "write" }`, `Invalid key policy: key "a" has two at line 1, column 27; remove one`},
		{`agent "n" { policy = "list" }`, `Invalid agent policy: "list" of agent "n" at line 1, column 22; valid are "deny", "read" and "write"`},
		{`service "a" { policy = "read" intentions = "bogus" }`, `Invalid service intentions policy: "bogus" of service "a" at line 1, column 44; valid are "deny", "read" and "write"`},
		{`service "a" { intentions = "read" }`, `Invalid service policy: service "a" has none at line 1, column 9; give it policy = "<level>"; valid are "deny", "read" and "write"`},
		{`key { policy = "read" }`, `Invalid key policy: it needs a label and a block at line 1, column 7; write key "<label>" { policy = "read" }`},
		{"node \"a\" { policy = <<X\nread\nX\n}", `Invalid node policy: "read\n" of node "a" at line 1, column 21; valid are "deny", "read" and "write"`},
		{`node "a" = { policy = "read" }`, `Failed to parse ACL rules: nested object expected: LBRACE got: ASSIGN at line 1, column 10; rules look like: key_prefix "app/" { policy = "read" }`},
		{`key = "read"`, `Invalid key policy: it needs a label and a block at line 1, column 7; write key "<label>" { policy = "read" }`},
		{`key "a" { policy = "read"`, `Failed to parse ACL rules: object expected closing RBRACE got: EOF at line 1, column 27; rules look like: key_prefix "app/" { policy = "read" }`},
		{"{\n \"key\": {\"a\": {\"policy\":\n  \"sudo\"}}}", `Invalid key policy: "sudo" of key "a" at line 3, column 3; valid are "deny", "read", "list" and "write"`},
		{"{\n \"key\" {}}", `Failed to parse ACL rules: invalid character '{' after object key at line 2, column 8; rules look like: key_prefix "app/" { policy = "read" }`},
		{`{"acl": null}`, `Invalid acl policy: it must be a text at line 1, column 9; write acl = "read"; valid are "deny", "read" and "write"`},
		{strings.Repeat("[", 100), `Failed to parse ACL rules: nested deeper than 32 levels; rules look like: key_prefix "app/" { policy = "read" }`},
		{`{"a":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + "}", `Failed to parse ACL rules: nested deeper than 32 levels at line 1, column 38; rules look like: key_prefix "app/" { policy = "read" }`},
	} {
		r, err := Parse("ops", c.source)
		if err == nil {
			t.Errorf("%s: taken as %s", c.source, texts(r))
		} else if err.Error() != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.source, err, c.want)
		}
	}
}

func TestMistakesTogether(t *testing.T) {
	_, err := Parse("ops", "operator = \"x\"\nkey \"a\" { policy = \"y\" }")
	var m Mistakes
	if !errors.As(err, &m) || len(m) != 2 {
		t.Fatalf("want both mistakes, not %v", err)
	}
	if model.KindOf(err) != model.KindInvalid {
		t.Errorf("the error's kind is %v", model.KindOf(err))
	}
	want := `policy "ops": Invalid operator policy: "x" at line 1, column 12; write operator = "read"; valid are "deny", "read" and "write"
policy "ops": Invalid key policy: "y" of key "a" at line 2, column 20; valid are "deny", "read", "list" and "write"`
	if got := m.Explain(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	_, err = Parse("ops", strings.Repeat("operator = \"x\"\n", 1000))
	if errors.As(err, &m); len(m) != maxMistakes {
		t.Errorf("%d mistakes, want %d", len(m), maxMistakes)
	}
}

// TestIgnored: Consul takes policies with parts that it does not know (scenario
// acl/policy-rules-syntax), so they are told and no errors.
func TestIgnored(t *testing.T) {
	for _, c := range []struct{ source, want string }{
		{`bogus "a" { policy = "read" }`, `The rule "bogus" has no effect: there is no such kind at line 1, column 1; known are acl, agent, agent_prefix, event, event_prefix, key, key_prefix, keyring, mesh, node, node_prefix, operator, peering, query, query_prefix, service, service_prefix, session, session_prefix`},
		{`acl_prefix "a" { policy = "read" }`, `The rule "acl_prefix" has no effect: there is no such kind at line 1, column 1; known are acl, agent, agent_prefix, event, event_prefix, key, key_prefix, keyring, mesh, node, node_prefix, operator, peering, query, query_prefix, service, service_prefix, session, session_prefix`},
		{`identity "x" { policy = "read" }`, `The identity rule has no effect: it belongs to Consul's former resource API at line 1, column 1; use service "<name>" for a workload in the catalog`},
		{`namespace "x" { key "a" { policy = "read" } }`, `The namespace rule has no effect: namespaces are a Consul Enterprise feature at line 1, column 1; take the rules in it out of the block`},
		{`partition_prefix "x" { }`, `The partition_prefix rule has no effect: partitions are a Consul Enterprise feature at line 1, column 1; take the rules in it out of the block`},
		{`key "a" { policy = "write" sentinel { code = "x" } }`, `The sentinel block of key "a" has no effect: Sentinel is a Consul Enterprise feature at line 1, column 28; remove it`},
		{`node "a" { policy = "write" intentions = "read" }`, `The field "intentions" of node "a" has no effect: there is no such field at line 1, column 29; known are policy`},
		{`service "a" { policy = "write" intention = "read" }`, `The field "intention" of service "a" has no effect: there is no such field at line 1, column 32; known are policy and intentions`},
	} {
		r := parsed(t, "", c.source)
		if err := r.Strict(); err == nil || err.Error() != c.want {
			t.Errorf("%s:\n%v\nwant\n%s", c.source, err, c.want)
		}
	}
}

func TestParseLimits(t *testing.T) {
	if _, err := Parse("p", "#"+strings.Repeat("x", MaxRulesBytes)); err == nil ||
		!strings.Contains(err.Error(), "has 524289 bytes, more than the 524288") {
		t.Errorf("too long a text: %v", err)
	}
	var b strings.Builder
	for i := range MaxRules {
		fmt.Fprintf(&b, "node n%d{policy=\"read\"}\n", i)
	}
	if r := parsed(t, "p", b.String()); len(r.List) != MaxRules {
		t.Errorf("%d rules", len(r.List))
	}
	b.WriteString(strings.Repeat(`node x{policy="read"}`, 3))
	if _, err := Parse("p", b.String()); err == nil ||
		err.Error() != "Failed to parse ACL rules: more than 10000 rules at line 10001, column 6; split the policy into several, or use prefixes" {
		t.Errorf("too many rules: %v", err)
	}
}
