package acl

import (
	"errors"
	"fmt"
	"strings"
)

// Limits of one policy. Consul knows none; these are far above what people write,
// and keep a policy within one entry of the log and a decision within a cache.
const (
	MaxRulesBytes = 512 << 10
	MaxRules      = 10_000
)

// Rules are the rules of one policy.
type Rules struct {
	Policy string // its name, for explanations
	List   []Rule
	// Ignored are the parts without effect. Consul takes policies that have some,
	// so they are no errors by themselves.
	Ignored Mistakes
}

// Strict returns the parts without effect as an error, if there are any. Use it
// where people write rules: most such parts are misspelled.
func (r *Rules) Strict() error { return r.Ignored.or() }

// Parse reads the rules of a policy, in HCL or JSON. The error is of type Mistakes
// and has all of them.
func Parse(policy, source string) (*Rules, error) {
	r := &reader{rules: &Rules{Policy: policy}, once: map[Resource]bool{}}
	if len(source) > MaxRulesBytes {
		r.fail(pos{}, fmt.Sprintf("Failed to parse ACL rules: the text has %d bytes, more than the %d that a policy may have",
			len(source), MaxRulesBytes), "split it into several policies")
		return nil, r.mistakes
	}
	top, err := parse(source)
	if err != nil {
		var syntax *syntaxError
		errors.As(err, &syntax)
		r.fail(syntax.at, "Failed to parse ACL rules: "+err.Error(), `rules look like: key_prefix "app/" { policy = "read" }`)
		return nil, r.mistakes
	}
	r.top(top)
	if len(r.mistakes) > 0 {
		return nil, r.mistakes
	}
	return r.rules, nil
}

// reader turns values into rules.
type reader struct {
	rules    *Rules
	mistakes Mistakes
	once     map[Resource]bool // kinds without labels that were given
}

func (r *reader) fail(at pos, text, remedy string) *Mistake {
	m := r.mistake(at, text, remedy)
	if len(r.mistakes) < maxMistakes {
		r.mistakes = append(r.mistakes, m)
	}
	return m
}

func (r *reader) ignore(at pos, text, remedy string) {
	if len(r.rules.Ignored) < maxMistakes {
		r.rules.Ignored = append(r.rules.Ignored, r.mistake(at, text, remedy))
	}
}

func (r *reader) mistake(at pos, text, remedy string) *Mistake {
	return &Mistake{Policy: r.rules.Policy, Line: at.line, Column: at.column, Text: text, Remedy: remedy}
}

func (r *reader) top(n *node) {
	for _, m := range n.members {
		k, prefix, ok := findKind(m.key)
		switch {
		case !ok:
			if len(r.rules.Ignored) < maxMistakes {
				reason, remedy := unknownKind(m.key)
				r.ignore(m.at, reason, remedy)
			}
		case k.labeled:
			r.labeled(k, prefix, m)
		default:
			r.bare(k, m)
		}
	}
}

// unknownKind tells why a kind has no effect, and what to do.
func unknownKind(word string) (reason, remedy string) {
	switch base := strings.TrimSuffix(strings.ToLower(word), prefixEnding); base {
	case "namespace", "partition":
		return fmt.Sprintf("The %s rule has no effect: %ss are a Consul Enterprise feature", word, base),
			"take the rules in it out of the block"
	case "identity":
		return fmt.Sprintf("The %s rule has no effect: it belongs to Consul's former resource API", word),
			`use service "<name>" for a workload in the catalog`
	}
	var names []string
	for _, k := range kinds {
		names = append(names, k.name)
		if k.labeled {
			names = append(names, k.name+prefixEnding)
		}
	}
	return fmt.Sprintf("The rule %q has no effect: there is no such kind", word), "known are " + strings.Join(names, ", ")
}

// bare reads a rule without a label. There may be one of a kind in a policy.
func (r *reader) bare(k kind, m member) {
	head := "Invalid " + k.name + " policy: "
	if r.once[k.resource] {
		r.fail(m.at, head+"given twice", "only one rule of this kind is allowed per policy: remove one")
		return
	}
	r.once[k.resource] = true
	remedy := fmt.Sprintf(`write %s = "read"; valid are %s`, k.name, k.levels())
	if m.val.shape != text {
		r.fail(m.val.at, head+"it must be a text", remedy)
		return
	}
	level := parseLevel(m.val.text)
	if !k.accepts(level) {
		r.fail(m.val.at, head+fmt.Sprintf("%q", m.val.text), remedy).bare = true
		return
	}
	r.add(m.at, Rule{Resource: k.resource, Level: level})
}

// labeled reads all rules of a kind that has labels.
func (r *reader) labeled(k kind, prefix bool, m member) {
	word := strings.ToLower(m.key)
	example := fmt.Sprintf(`write %s "<label>" { policy = "read" }`, word)
	blocks, ok := m.val.objects()
	if !ok {
		r.fail(m.val.at, "Invalid "+word+" policy: it needs a label and a block", example)
		return
	}
	for _, block := range blocks {
		for _, label := range block.members {
			bodies, ok := label.val.objects()
			if !ok {
				r.fail(label.at, "Invalid "+word+" policy: it needs a label and a block", example)
				continue
			}
			for _, body := range bodies {
				r.body(k, Rule{Resource: k.resource, Label: label.key, Prefix: prefix}, label.at, body)
			}
		}
	}
}

// body reads what is in a rule's block.
func (r *reader) body(k kind, rule Rule, at pos, body *node) {
	word := k.name
	if rule.Prefix {
		word += prefixEnding
	}
	named := fmt.Sprintf("%s %s", word, quote(rule.Label))
	ok := true
	for _, m := range body.members {
		switch field := strings.ToLower(m.key); {
		case field == "policy":
			ok = r.level(k, &rule.Level, "Invalid "+word+" policy: ", named, m) && ok
		case field == "intentions" && k.resource == Service:
			ok = r.level(k, &rule.Intentions, "Invalid "+word+" intentions policy: ", named, m) && ok
		case field == "sentinel" && k.resource == Key:
			r.ignore(m.at, "The sentinel block of "+named+" has no effect: Sentinel is a Consul Enterprise feature", "remove it")
		default:
			r.ignore(m.at, fmt.Sprintf("The field %q of %s has no effect: there is no such field", m.key, named), "known are "+k.fields())
		}
	}
	if ok && rule.Level == Unset {
		r.fail(at, "Invalid "+word+" policy: "+named+" has none", `give it policy = "<level>"; valid are `+k.levels())
		return
	}
	if ok {
		r.add(at, rule)
	}
}

func (k kind) fields() string {
	if k.resource == Service {
		return "policy and intentions"
	}
	return "policy"
}

// level reads one level of a rule.
func (r *reader) level(k kind, into *Level, head, named string, m member) bool {
	switch {
	case *into != Unset:
		r.fail(m.at, head+named+" has two", "remove one")
	case m.val.shape != text || !k.accepts(parseLevel(m.val.text)):
		r.fail(m.val.at, head+fmt.Sprintf("%q of %s", m.val.text, named), "valid are "+k.levels())
	default:
		*into = parseLevel(m.val.text)
		return true
	}
	return false
}

func (r *reader) add(at pos, rule Rule) {
	if len(r.rules.List) == MaxRules {
		if len(r.mistakes) == 0 { // once is enough
			r.fail(at, fmt.Sprintf("Failed to parse ACL rules: more than %d rules", MaxRules), "split the policy into several, or use prefixes")
		}
		return
	}
	rule.Policy, rule.Line, rule.Column = r.rules.Policy, at.line, at.column
	r.rules.List = append(r.rules.List, rule)
}
