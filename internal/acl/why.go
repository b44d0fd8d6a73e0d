package acl

import (
	"fmt"
	"strings"
)

// Reason is why something is allowed or not. Its texts are stable.
type Reason struct {
	Allowed  bool
	Resource Resource
	Name     string
	Tree     bool // about everything that begins with Name
	Access   Access
	Default  Default
	// Rule decided; nil: there is none that speaks about the name, so the default
	// did.
	Rule *Rule
	// Missing is the smallest addition that would allow it: rules as HCL, one a
	// line, to be put into any policy of the token. Empty if it is allowed, or if
	// no addition helps because Rule denies the very same and deny wins.
	Missing string
}

// Why explains Allowed.
func (c *Compiled) Why(r Resource, name string, a Access) Reason {
	level, g := c.level(r, name)
	why := Reason{Allowed: level.includes(a), Resource: r, Name: name, Access: a, Default: c.def}
	if g != nil {
		why.Rule = g.rule
	}
	if !why.Allowed {
		why.Missing = c.missing(r, name, a)
	}
	return why
}

// missing is the smallest rule that would give an access, or nothing if none can.
func (c *Compiled) missing(r Resource, name string, a Access) string {
	rule := &Rule{Resource: r, Label: name, Level: needed(a)}
	if k := r.kind(); k.name == "" || !k.accepts(rule.Level) {
		return "" // nothing that one could ask
	}
	own := c.trees[r].find(name)
	if own != nil && r.kind().labeled && (own.rule.Label != name || own.rule.Prefix) {
		own = nil // of a prefix: an exact rule counts more
	}
	switch {
	case r == Intention:
		return c.missingIntention(name, rule.Level)
	case own != nil && own.level == Deny:
		return ""
	case r == Key && a == List && own == nil:
		// Documented for prefixes only, and an exact rule would show nothing of a tree
		// that is denied.
		rule.Prefix = true
		if cover, _ := c.trees[r].below(name); cover != nil && cover.rule.Label == name && cover.level == Deny {
			return ""
		}
	case r == Service:
		c.keepIntentions(rule)
	}
	return rule.String()
}

// keepIntentions adds to a new exact rule for a service what the token has on its
// intentions so far, if that is more than the rule would bring by itself.
func (c *Compiled) keepIntentions(rule *Rule) {
	had, _ := c.level(Intention, rule.Label)
	if had > intentionsOf(rule.Level) && !c.explicitIntentions(rule.Label) {
		rule.Intentions = had
	}
}

// explicitIntentions tells whether an exact rule sets a service's intentions.
func (c *Compiled) explicitIntentions(name string) bool {
	g := c.trees[Intention].find(name)
	return g != nil && g.rule.Label == name && !g.rule.Prefix && g.rule.Intentions == g.level
}

// missingIntention is a rule that changes nothing but the intentions: of the service
// it says what counts already.
func (c *Compiled) missingIntention(name string, level Level) string {
	has, _ := c.level(Intention, name)
	if has == Deny && c.explicitIntentions(name) {
		return ""
	}
	service, _ := c.level(Service, name)
	return (&Rule{Resource: Service, Label: name, Level: service, Intentions: level}).String()
}

// String is the explanation as one sentence.
func (w Reason) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s is ", w.permission())
	if w.Allowed {
		b.WriteString("allowed")
	} else {
		b.WriteString("denied")
	}
	switch {
	case w.Rule != nil:
		fmt.Fprintf(&b, " by %s", w.Rule.place())
	case w.Resource == ACL && w.Default == DefaultAllow:
		b.WriteString(": no rule speaks about it, and the default policy never grants acl")
	default:
		fmt.Fprintf(&b, ": no rule speaks about it, and the default policy is %s", w.Default)
	}
	switch {
	case w.Allowed:
	case w.Missing != "":
		fmt.Fprintf(&b, "; what would allow it: %s", strings.ReplaceAll(w.Missing, "\n", " "))
	case w.Rule != nil:
		b.WriteString("; no further rule can allow it as long as there is that one")
	}
	return b.String()
}

// permission is what was asked, as in messages of denial.
func (w Reason) permission() string {
	text := w.Resource.String() + ":" + w.Access.String()
	if !w.Resource.kind().labeled {
		return text
	}
	if w.Tree {
		text += " below"
	} else {
		text += " on"
	}
	return text + " " + fmt.Sprintf("%q", w.Name)
}

// place names a rule and where it is.
func (r *Rule) place() string {
	text := fmt.Sprintf("policy %q", r.Policy)
	if r.Line > 0 {
		text += fmt.Sprintf(", line %d", r.Line)
	}
	return text + ": " + r.String()
}
