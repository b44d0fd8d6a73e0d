package lookup

import (
	"fmt"
	"strings"
)

// tree is a parsed expression: exactly one of the fields is set.
type tree struct {
	any   []*tree // joined by or
	all   []*tree // joined by and
	not   *tree
	match *match
}

// match is one comparison.
type match struct {
	selector []string
	op       operator
	value    string
}

type operator uint8

const (
	opEqual operator = iota
	opNotEqual
	opIn // "contains" is the same with its sides swapped
	opNotIn
	opMatches
	opNotMatches
	opEmpty
	opNotEmpty
	opNil
	opNotNil
)

// The names appear in error texts.
var operatorNames = [...]string{"Equal", "Not Equal", "In", "Not In", "Matches", "Not Matches", "Is Empty", "Is Not Empty", "Is Nil", "Is Not Nil"}

func (o operator) String() string { return operatorNames[o] }

// negative operators hold for what is not there.
func (o operator) negative() bool {
	switch o {
	case opNotEqual, opNotIn, opNotMatches, opEmpty, opNil:
		return true
	}
	return false
}

// parser is a recursive descent over the grammar of go-bexpr, in time linear in
// the text: where it takes back a step, what it took back is one word.
//
//	or      = and { " or " and }
//	and     = not { " and " not }
//	not     = "not " not | "(" or ")" | match
//	match   = selector ("==" | "!=" | " contains " | " matches " ...) value
//	        | selector " is " ["not "] ("empty" | "nil")
//	        | value (" in " | " not in ") selector
//	value   = selector | number | string
type parser struct {
	text  string
	pos   int
	depth int
	err   error // of the place furthest into the text
	errAt int
	final bool // err can't be cured by another attempt
}

func parseExpression(text string) (*tree, error) {
	p := &parser{text: text, errAt: -1}
	p.space()
	t := p.or()
	if t != nil {
		p.space()
		if p.pos == len(p.text) {
			return t, nil
		}
		p.fail("unexpected %q", rest(p.text[p.pos:]))
	}
	return nil, p.err
}

func rest(s string) string {
	if len(s) > 20 {
		return s[:20] + "..."
	}
	return s
}

// fail notes what was wrong. Of several attempts at one text the one that got
// furthest tells the most.
func (p *parser) fail(format string, args ...any) {
	if p.pos > p.errAt {
		p.errAt = p.pos
		p.err = filterError("at character %d: %s", p.pos+1, fmt.Sprintf(format, args...))
	}
}

// refuse is fail where no other reading of the text makes sense.
func (p *parser) refuse(format string, args ...any) {
	p.errAt = -1
	p.fail(format, args...)
	p.errAt = len(p.text)
	p.final = true
}

func (p *parser) or() *tree {
	return p.chain("or", p.and, func(parts []*tree) *tree { return &tree{any: parts} })
}

func (p *parser) and() *tree {
	return p.chain("and", p.not, func(parts []*tree) *tree { return &tree{all: parts} })
}

func (p *parser) chain(word string, part func() *tree, join func([]*tree) *tree) *tree {
	var parts []*tree
	for {
		t := part()
		if t == nil {
			return nil
		}
		parts = append(parts, t)
		start := p.pos
		if !p.space() || !p.literal(word) || !p.space() {
			p.pos = start
			break
		}
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return join(parts)
}

func (p *parser) not() *tree {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > maxFilterDepth {
		if !p.final {
			p.final, p.errAt = true, len(p.text)
			p.err = filterError("nested more than %d levels deep", maxFilterDepth)
		}
		return nil
	}
	start := p.pos
	if p.literal("not") && p.space() {
		if t := p.not(); t != nil {
			if t.not != nil {
				return t.not
			}
			return &tree{not: t}
		}
	}
	if p.final {
		return nil
	}
	p.pos = start // "not" may be the name of a field
	if p.literal("(") {
		p.space()
		t := p.or()
		if t == nil {
			return nil
		}
		p.space()
		if !p.literal(")") {
			p.refuse("unmatched parentheses")
			return nil
		}
		return t
	}
	if m := p.match(); m != nil {
		return &tree{match: m}
	}
	return nil
}

func (p *parser) match() *match {
	selector := p.selector()
	value := strings.Join(selector, ".")
	if selector != nil {
		if op, ok := p.comparison(); ok {
			m := &match{selector: selector, op: op}
			if op < opEmpty {
				if m.value, ok = p.value(); !ok {
					return nil
				}
			}
			return m
		}
	} else {
		var ok bool
		if value, ok = p.constant(); !ok {
			return nil
		}
	}
	for _, o := range []struct {
		words []string
		op    operator
	}{{[]string{"in"}, opIn}, {[]string{"not", "in"}, opNotIn}} {
		if p.words(o.words) && p.space() {
			if s := p.selector(); s != nil {
				return &match{selector: s, op: o.op, value: value}
			}
			p.refuse("expected a selector")
			return nil
		}
	}
	p.fail("expected an operator")
	return nil
}

var wordOperators = []struct {
	words []string
	op    operator
	value bool // a value follows
}{
	{[]string{"contains"}, opIn, true},
	{[]string{"not", "contains"}, opNotIn, true},
	{[]string{"matches"}, opMatches, true},
	{[]string{"not", "matches"}, opNotMatches, true},
	{[]string{"is", "empty"}, opEmpty, false},
	{[]string{"is", "not", "empty"}, opNotEmpty, false},
	{[]string{"is", "nil"}, opNil, false},
	{[]string{"is", "not", "nil"}, opNotNil, false},
}

// comparison reads an operator that has its selector on the left.
func (p *parser) comparison() (operator, bool) {
	start := p.pos
	p.space()
	for i, sign := range []string{"==", "!="} {
		if p.literal(sign) {
			p.space()
			return operator(i), true
		}
	}
	p.pos = start
	for _, o := range wordOperators {
		if p.words(o.words) && (!o.value || p.space()) {
			return o.op, true
		}
		p.pos = start
	}
	return 0, false
}

// words reads words with spaces before each, or nothing.
func (p *parser) words(words []string) bool {
	start := p.pos
	for _, w := range words {
		if !p.space() || !p.literal(w) {
			p.pos = start
			return false
		}
	}
	return true
}

func (p *parser) value() (string, bool) {
	if s := p.selector(); s != nil {
		return strings.Join(s, "."), true
	}
	return p.constant()
}
