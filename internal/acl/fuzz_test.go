package acl

import (
	"errors"
	"testing"
)

// FuzzParse: whatever the text is, Parse answers. Each rule that it finds, written
// out, is the same rule again, and may be compiled and asked for.
func FuzzParse(f *testing.F) {
	for _, source := range []string{
		"", "{", "{}", "key", `key "" {`, `key "${x}" { policy = "read" }`, `key "\x00\xff" { policy = "read" }`,
		`operator = "read" key "a" { policy = "list" } service_prefix "" { policy = "write" intentions = "deny" }`,
		`{"key":{"a":{"policy":"read"}},"service_prefix":{"":[{"policy":"write","intentions":"read"}]}}`,
		"namespace \"x\" { key \"a\" { policy = \"read\" } }", "key \"a\" { policy = <<EOF\nread\nEOF\n}",
		"[[[[", "\xff", "\x00", "a = [1, 2.5, true, {b = 0x10}]", `{"acl": 1e999}`, "/* x", `key "a" "b" "c" { policy = "read" }`,
	} {
		f.Add(source)
	}
	f.Fuzz(func(t *testing.T, source string) {
		rules, err := Parse("p", source)
		if err != nil {
			var m Mistakes
			if !errors.As(err, &m) || len(m) == 0 || len(m) > maxMistakes || m[0].Text == "" || rules != nil {
				t.Fatalf("a strange error: %#v", err)
			}
			return
		}
		c := Compile(DefaultDeny, rules)
		for i := range rules.List {
			r := &rules.List[i]
			again, err := Parse("p", r.String())
			if err != nil || len(again.List) != 1 || again.Strict() != nil {
				t.Fatalf("%s is no rule: %v", r, err)
			}
			got, want := again.List[0], *r
			got.Line, got.Column, want.Line, want.Column = 0, 0, 0, 0
			if got != want {
				t.Fatalf("%s became %s", r, &again.List[0])
			}
			if w := c.Why(r.Resource, r.Label, Read); w.Allowed != c.Allowed(r.Resource, r.Label, Read) || w.String() == "" {
				t.Fatalf("a strange reason: %+v", w)
			}
		}
	})
}
