package acl

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// interpreter is the obvious way to decide: it looks at every rule, each time.
type interpreter struct {
	def   Default
	rules []Rule
}

// decide follows the documentation word by word: of the rules that match, the most
// specific ones, of these deny over write over list over read.
func (s interpreter) decide(r Resource, name string) Level {
	source := r
	if r == Intention {
		source = Service
	}
	best, level, said := -1, Unset, Unset
	for _, rule := range s.rules {
		if rule.Resource != source {
			continue
		}
		specific := len(rule.Label)
		switch {
		case !source.kind().labeled:
			specific = 0
		case rule.Prefix && !strings.HasPrefix(name, rule.Label), !rule.Prefix && name != rule.Label:
			continue
		case !rule.Prefix:
			specific = 1 << 30
		}
		if specific < best {
			continue
		}
		if specific > best {
			best, level, said = specific, Unset, Unset
		}
		level, said = stronger(level, rule.Level), stronger(said, rule.Intentions)
	}
	switch {
	case best < 0 && s.def == DefaultAllow && r != ACL:
		return MayWrite
	case best < 0:
		return Deny
	case r == Intention && said != Unset:
		return said
	case r == Intention && level != Deny:
		return MayRead
	}
	return level
}

func stronger(a, b Level) Level {
	for _, l := range []Level{Deny, MayWrite, MayList, MayRead} {
		if a == l || b == l {
			return l
		}
	}
	return Unset
}

// universe are all names that rules of up to three letters can tell apart.
var universe = func() []string {
	names := []string{""}
	for from, n := 0, 0; n < 4; n++ {
		to := len(names)
		for _, name := range names[from:to] {
			for _, c := range "ab/x" { // x is in no label
				names = append(names, name+string(c))
			}
		}
		from = to
	}
	return names
}()

var (
	drawLabel = rapid.StringMatching(`[ab/]{0,3}`)
	drawKind  = rapid.SampledFrom([]kind{{Key, "key", true}, {Service, "service", true}, {ACL, "acl", false}})
)

func drawRule(t *rapid.T) Rule {
	k := drawKind.Draw(t, "kind")
	r := Rule{Resource: k.resource, Level: rapid.SampledFrom([]Level{Deny, MayRead, MayWrite}).Draw(t, "level")}
	if !k.labeled {
		return r
	}
	r.Label, r.Prefix = drawLabel.Draw(t, "label"), rapid.Bool().Draw(t, "prefix")
	if k.resource == Key && rapid.Bool().Draw(t, "list") {
		r.Level = MayList
	}
	if k.resource == Service {
		r.Intentions = rapid.SampledFrom([]Level{Unset, Unset, Deny, MayRead, MayWrite}).Draw(t, "intentions")
	}
	return r
}

// drawPolicies draws rules, and the policies that they were read from as text.
func drawPolicies(t *rapid.T) (interpreter, []*Rules) {
	slow := interpreter{def: rapid.SampledFrom([]Default{DefaultDeny, DefaultAllow}).Draw(t, "default")}
	var all []*Rules
	for i := range rapid.IntRange(0, 4).Draw(t, "policies") {
		var lines []string
		acl := false
		for range rapid.IntRange(0, 6).Draw(t, "rules") {
			r := drawRule(t)
			if r.Resource == ACL && acl {
				continue // only one in a policy
			}
			acl = acl || r.Resource == ACL
			slow.rules = append(slow.rules, r)
			lines = append(lines, r.String())
		}
		rules, err := Parse(fmt.Sprintf("p%d", i), strings.Join(lines, "\n"))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, rules)
	}
	return slow, all
}

var (
	asked    = []Resource{Key, Service, Intention, ACL, Node}
	accesses = []Access{Read, List, Write}
)

// TestAgainstInterpreter compares the decisions for every name, below every prefix
// and for everything with what the rules say one by one.
func TestAgainstInterpreter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slow, policies := drawPolicies(t)
		fast := Compile(slow.def, policies...)
		for _, r := range asked {
			below := map[string]Level{} // lowest level of what begins with a prefix
			for _, name := range universe {
				want := slow.decide(r, name)
				for _, a := range accesses {
					if got := fast.Allowed(r, name, a); got != want.includes(a) {
						t.Fatalf("%v:%v on %q is %v, rules say %v", r, a, name, got, want)
					}
				}
				for n := range len(name) + 1 {
					if l, ok := below[name[:n]]; !ok || want < l {
						below[name[:n]] = want
					}
				}
			}
			for prefix, level := range below {
				if len(prefix) > 3 {
					continue // longer names may be below
				}
				for _, a := range accesses {
					if got := fast.AllowsPrefix(r, prefix, a); got != level.includes(a) {
						t.Fatalf("%v:%v below %q is %v, the lowest level there is %v", r, a, prefix, got, level)
					}
				}
			}
			for _, a := range accesses {
				if got := fast.AllowsAll(r, a); got != below[""].includes(a) {
					t.Fatalf("%v:%v on everything is %v", r, a, got)
				}
			}
		}
	})
}

// TestReasons: the rule that a reason names is the one that decides, and what it
// says is missing allows the access, and nothing else that was not allowed before,
// but for what follows from the very access.
func TestReasons(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slow, policies := drawPolicies(t)
		c := Compile(slow.def, policies...)
		name := drawLabel.Draw(t, "name") // short ones are more often in rules
		for _, r := range asked {
			for _, a := range accesses {
				if a != List || r == Key {
					reasonable(t, slow, policies, c, c.Why(r, name, a))
				}
			}
		}
	})
}

func reasonable(t *rapid.T, slow interpreter, policies []*Rules, c *Compiled, why Reason) {
	r, name, a := why.Resource, why.Name, why.Access
	if why.Allowed != c.Allowed(r, name, a) || why.Allowed && why.Missing != "" {
		t.Fatalf("a reason that contradicts: %s", why)
	}
	if level := slow.decide(r, name); why.Rule != nil && r != Intention && why.Rule.Level != level {
		t.Fatalf("%s, but the level is %v", why, level)
	}
	if why.Allowed {
		return
	}
	if why.Missing == "" {
		if r == Intention && why.Rule.Intentions != Deny || r != Intention && why.Rule.Level != Deny {
			t.Fatalf("%s, which a rule could change", why)
		}
		return
	}
	more, err := Parse("more", why.Missing)
	if err != nil {
		t.Fatal(err)
	}
	after := Compile(slow.def, append(slices.Clone(policies), more)...)
	if !after.Allowed(r, name, a) {
		t.Fatalf("%s: it does not", why)
	}
	onlyThat(t, c, after, why)
}

// onlyThat checks that of two compilations the second has no fewer rights, and only
// those more that a reason asked for.
func onlyThat(t *rapid.T, before, after *Compiled, why Reason) {
	tree := why.Tree || why.Access == List // of a whole tree
	for _, r := range asked {
		for _, name := range universe {
			for _, a := range accesses {
				had, has := before.Allowed(r, name, a), after.Allowed(r, name, a)
				if had && !has {
					t.Fatalf("%s: takes %v:%v on %q away", why, r, a, name)
				}
				same := r == why.Resource && (name == why.Name || !r.kind().labeled || tree && strings.HasPrefix(name, why.Name))
				implied := why.Resource == Service && r == Intention && name == why.Name && a == Read
				if has && !had && !same && !implied {
					t.Fatalf("%s: gives %v:%v on %q too", why, r, a, name)
				}
			}
		}
	}
}

// TestTreeReasons is TestReasons for whole trees of keys.
func TestTreeReasons(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slow, policies := drawPolicies(t)
		c := Compile(slow.def, policies...)
		prefix := drawLabel.Draw(t, "prefix")
		a := rapid.SampledFrom(accesses).Draw(t, "access")
		why := c.WhyTree(prefix, a)
		switch {
		case why.Allowed != c.AllowsPrefix(Key, prefix, a):
			t.Fatalf("a reason that contradicts: %s", why)
		case why.Allowed:
		case why.Missing == "":
			if why.Rule == nil || why.Rule.Level != Deny {
				t.Fatalf("%s, which a rule could change", why)
			}
		default:
			more, err := Parse("more", why.Missing)
			if err != nil {
				t.Fatal(err)
			}
			after := Compile(slow.def, append(slices.Clone(policies), more)...)
			if !after.AllowsPrefix(Key, prefix, a) {
				t.Fatalf("%s: it does not", why)
			}
			onlyThat(t, c, after, why)
		}
	})
}
