package acl

import (
	"sort"
	"strings"
)

// grant is what the rules of one label come to, and which of them decided.
type grant struct {
	level Level
	rule  *Rule
}

// merge takes the word of one more rule of the same label.
func (g *grant) merge(l Level, rule *Rule) {
	if l != Unset && l.beats(g.level) {
		g.level, g.rule = l, rule
	}
}

// branch is a node of a radix tree over labels. The tree is built once and only
// read after seal.
type branch struct {
	edge   string // what it adds to its parent's label
	heads  string // first bytes of the edges of kids, in order
	kids   []*branch
	exact  *grant // for the very label
	prefix *grant // for everything that begins with it
	low    Level  // lowest of all grants here and below; MayWrite if there are none
}

// grow returns the branch of a label, which it makes if there is none.
func (b *branch) grow(label string) *branch {
	for label != "" {
		i := strings.IndexByte(b.heads, label[0])
		if i < 0 {
			return b.plant(label)
		}
		kid := b.kids[i]
		n := common(kid.edge, label)
		if n < len(kid.edge) {
			fork := &branch{edge: kid.edge[:n], heads: kid.edge[n : n+1], kids: []*branch{kid}}
			kid.edge = kid.edge[n:]
			b.kids[i], kid = fork, fork
		}
		b, label = kid, label[n:]
	}
	return b
}

// plant adds a branch whose first byte is new here.
func (b *branch) plant(label string) *branch {
	kid := &branch{edge: label}
	i := sort.Search(len(b.heads), func(i int) bool { return b.heads[i] > label[0] })
	b.heads = b.heads[:i] + label[:1] + b.heads[i:]
	b.kids = append(b.kids, nil)
	copy(b.kids[i+1:], b.kids[i:])
	b.kids[i] = kid
	return kid
}

func common(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// at returns the grant of a label itself, which it makes if there is none.
func (b *branch) at(label string, prefix bool) *grant {
	b = b.grow(label)
	into := &b.exact
	if prefix {
		into = &b.prefix
	}
	if *into == nil {
		*into = &grant{}
	}
	return *into
}

// seal notes the lowest level of each subtree.
func (b *branch) seal() Level {
	b.low = MayWrite
	for _, g := range []*grant{b.exact, b.prefix} {
		if g != nil {
			b.low = min(b.low, g.level)
		}
	}
	for _, kid := range b.kids {
		b.low = min(b.low, kid.seal())
	}
	return b.low
}

// find returns the grant that decides about a name: its own, or that of its longest
// prefix, or nil.
func (b *branch) find(name string) *grant {
	best := b.prefix
	for name != "" {
		i := strings.IndexByte(b.heads, name[0])
		if i < 0 || !strings.HasPrefix(name, b.kids[i].edge) {
			return best
		}
		b = b.kids[i]
		name = name[len(b.edge):]
		if b.prefix != nil {
			best = b.prefix
		}
	}
	if b.exact != nil {
		return b.exact
	}
	return best
}

// below returns the grant that covers everything that begins with a prefix, or nil,
// and the branch that has all grants of longer or equal labels, or nil.
func (b *branch) below(prefix string) (cover *grant, part *branch) {
	cover = b.prefix
	for prefix != "" {
		i := strings.IndexByte(b.heads, prefix[0])
		if i < 0 {
			return cover, nil
		}
		kid := b.kids[i]
		if strings.HasPrefix(kid.edge, prefix) {
			if len(kid.edge) == len(prefix) && kid.prefix != nil {
				cover = kid.prefix
			}
			return cover, kid
		}
		if !strings.HasPrefix(prefix, kid.edge) {
			return cover, nil
		}
		b, prefix = kid, prefix[len(kid.edge):]
		if b.prefix != nil {
			cover = b.prefix
		}
	}
	return cover, b
}

// each calls do with all grants below, in the order of their labels.
func (b *branch) each(do func(*grant)) {
	for _, g := range []*grant{b.prefix, b.exact} {
		if g != nil {
			do(g)
		}
	}
	for _, kid := range b.kids {
		kid.each(do)
	}
}
