package query

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// The language of interpolations is the part of HIL that Consul documents for query
// templates: ${name.full}, ${match(1)}, strings in quotes that may hold
// interpolations themselves, and numbers. $${ stands for ${. There are no loops, no
// recursion and no functions but match, so rendering ends.

// maxDepth bounds interpolations inside of strings inside of interpolations.
const maxDepth = 16

// parse reads a text with interpolations.
func parse(s string) (text, error) {
	p := &parser{in: s}
	t, err := p.text(0, false)
	if err != nil {
		return nil, fmt.Errorf("at %d: %w", p.at, err)
	}
	return t, nil
}

type parser struct {
	in string
	at int
}

// text reads to the end, or to the closing quote if it is a string's.
func (p *parser) text(depth int, quoted bool) (text, error) {
	var out text
	var lit strings.Builder
	flush := func() {
		if lit.Len() > 0 {
			out = append(out, literal(lit.String()))
			lit.Reset()
		}
	}
	for p.at < len(p.in) {
		rest := p.in[p.at:]
		switch {
		case strings.HasPrefix(rest, "$${"):
			lit.WriteString("${")
			p.at += 3
		case strings.HasPrefix(rest, "${"):
			flush()
			p.at += 2
			e, err := p.interpolation(depth + 1)
			if err != nil {
				return nil, err
			}
			out = append(out, e)
		case quoted && rest[0] == '"':
			p.at++
			flush()
			return out, nil
		case quoted && rest[0] == '\\':
			if len(rest) < 2 {
				return nil, errors.New("unterminated string")
			}
			c, ok := escapes[rest[1]]
			if !ok {
				return nil, fmt.Errorf("invalid escape \\%c", rest[1])
			}
			lit.WriteByte(c)
			p.at += 2
		default:
			lit.WriteByte(rest[0])
			p.at++
		}
	}
	if quoted {
		return nil, errors.New("unterminated string")
	}
	flush()
	return out, nil
}

var escapes = map[byte]byte{'n': '\n', 't': '\t', '\\': '\\', '"': '"'}

// interpolation reads what stands between "${" and "}", with the latter.
func (p *parser) interpolation(depth int) (part, error) {
	if depth > maxDepth {
		return nil, errors.New("interpolations are nested too deeply")
	}
	e, err := p.expression(depth)
	if err != nil {
		return nil, err
	}
	if p.space(); !p.literal('}') {
		return nil, errors.New("expected \"}\"")
	}
	return e, nil
}

func (p *parser) expression(depth int) (part, error) {
	if depth > maxDepth {
		return nil, errors.New("interpolations are nested too deeply")
	}
	p.space()
	switch c := p.peek(); {
	case c == '"':
		p.at++
		return p.text(depth, true)
	case c == '(':
		p.at++
		e, err := p.expression(depth + 1)
		if err != nil {
			return nil, err
		}
		if p.space(); !p.literal(')') {
			return nil, errors.New("expected \")\"")
		}
		return e, nil
	case c == '-' || digit(c):
		n, err := p.number()
		return literal(strconv.Itoa(n)), err
	case letter(c):
		return p.name()
	}
	return nil, errors.New("expected expression")
}

// name reads a variable or a call.
func (p *parser) name() (part, error) {
	start := p.at
	for c := p.peek(); letter(c) || digit(c) || c == '.' || c == '-'; c = p.peek() {
		p.at++
	}
	name := p.in[start:p.at]
	if p.space(); !p.literal('(') {
		return variable(name), nil
	}
	if name != "match" {
		return nil, fmt.Errorf("unknown function called: %s", name)
	}
	p.space()
	n, err := p.number()
	if err != nil {
		return nil, fmt.Errorf("argument of match: %w", err)
	}
	if p.space(); !p.literal(')') {
		return nil, errors.New("expected \")\" after the argument of match")
	}
	return group(n), nil
}

func (p *parser) number() (int, error) {
	start := p.at
	p.literal('-')
	for digit(p.peek()) {
		p.at++
	}
	n, err := strconv.Atoi(p.in[start:p.at])
	if err != nil {
		return 0, fmt.Errorf("%q is not a whole number", p.in[start:p.at])
	}
	return n, nil
}

func (p *parser) space() {
	for c := p.peek(); c == ' ' || c == '\t' || c == '\n' || c == '\r'; c = p.peek() {
		p.at++
	}
}

func (p *parser) literal(c byte) bool {
	if p.at == len(p.in) || p.in[p.at] != c {
		return false
	}
	p.at++
	return true
}

// peek is the next byte, 0 at the end.
func (p *parser) peek() byte {
	if p.at == len(p.in) {
		return 0
	}
	return p.in[p.at]
}

func letter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' }
func digit(c byte) bool  { return '0' <= c && c <= '9' }
