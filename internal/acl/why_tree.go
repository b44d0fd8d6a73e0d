package acl

import "strings"

// WhyTree explains AllowsPrefix for keys. Missing has a rule for all that is in the
// way.
func (c *Compiled) WhyTree(prefix string, a Access) Reason {
	t := &treeReason{why: Reason{Resource: Key, Name: prefix, Tree: true, Access: a, Default: c.def}}
	cover, part := c.trees[Key].below(prefix)
	level := c.def.level(Key)
	if cover != nil {
		level, t.why.Rule = cover.level, cover.rule
	}
	t.why.Allowed = c.AllowsPrefix(Key, prefix, a)
	if t.why.Allowed || needed(a) > MayWrite {
		return t.why
	}
	if t.covered = level.includes(a); t.covered {
		t.why.Rule = nil // it is fine; what is in the way comes below
	} else if own := cover != nil && cover.rule.Label == prefix; !own {
		t.raise(prefix, true) // counts more than what covers it now
	}
	if part != nil {
		part.each(t.below)
	}
	if !t.hopeless {
		t.why.Missing = strings.Join(t.missing, "\n")
	}
	return t.why
}

// treeReason gathers what is in the way of an access to a tree.
type treeReason struct {
	why      Reason
	covered  bool // the rule above the tree suffices
	hopeless bool // a denial is in the way, which no further rule beats
	missing  []string
}

func (t *treeReason) raise(label string, prefix bool) {
	rule := Rule{Resource: Key, Label: label, Prefix: prefix, Level: needed(t.why.Access)}
	t.missing = append(t.missing, rule.String())
}

// below looks at one rule in the tree. The first in the way is named, but rather
// one that can't be helped.
func (t *treeReason) below(g *grant) {
	if g.level.includes(t.why.Access) {
		return
	}
	denies := g.level == Deny && !t.hopeless
	if denies || t.covered && t.why.Rule == nil {
		t.why.Rule = g.rule
	}
	t.hopeless = t.hopeless || denies
	t.raise(g.rule.Label, g.rule.Prefix)
}
