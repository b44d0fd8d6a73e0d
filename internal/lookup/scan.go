package lookup

import (
	"strconv"
	"strings"
)

// constant reads a number or a string.
func (p *parser) constant() (string, bool) {
	switch c := p.peek(); {
	case c == '"' || c == '`':
		return p.quoted()
	case c == '-' || digit(c):
		return p.number()
	}
	p.fail("expected a selector or a value")
	return "", false
}

func (p *parser) number() (string, bool) {
	start := p.pos
	p.literal("-")
	if !p.literal("0") && p.digits() == 0 {
		p.refuse("invalid number")
		return "", false
	}
	if p.literal(".") && p.digits() == 0 {
		p.refuse("invalid number")
		return "", false
	}
	if c := p.peek(); c != 0 && c != ')' && !space(c) || c == 0 && p.pos < len(p.text) {
		p.refuse("invalid number")
		return "", false
	}
	return p.text[start:p.pos], true
}

func (p *parser) quoted() (string, bool) {
	end := strings.IndexByte(p.text[p.pos+1:], p.text[p.pos])
	if end < 0 {
		p.refuse("unterminated string")
		return "", false
	}
	literal := p.text[p.pos : p.pos+end+2]
	s, err := strconv.Unquote(literal)
	if err != nil {
		p.fail("invalid string %s", rest(literal))
		return "", false
	}
	p.pos += len(literal)
	return s, true
}

// selector reads a path of names, or nothing.
func (p *parser) selector() []string {
	name, ok := p.identifier()
	if !ok {
		return nil
	}
	path := []string{name}
	for {
		start := p.pos
		switch {
		case p.literal("."):
			name, ok := p.identifier()
			if !ok {
				digits := p.pos
				if p.digits() == 0 {
					p.pos = start
					return path
				}
				name = p.text[digits:p.pos]
			}
			path = append(path, name)
		case p.literal("["):
			p.space()
			if c := p.peek(); c != '"' && c != '`' {
				p.refuse("invalid index")
				return nil
			}
			name, ok := p.quoted()
			if !ok {
				return nil
			}
			p.space()
			if !p.literal("]") {
				p.refuse("unclosed index")
				return nil
			}
			path = append(path, name)
		default:
			return path
		}
	}
}

func (p *parser) identifier() (string, bool) {
	start := p.pos
	if !letter(p.peek()) {
		return "", false
	}
	for c := p.peek(); letter(c) || digit(c) || c == '_' || c == '/'; c = p.peek() {
		p.pos++
	}
	return p.text[start:p.pos], true
}

func (p *parser) digits() int {
	start := p.pos
	for digit(p.peek()) {
		p.pos++
	}
	return p.pos - start
}

// space skips spaces and reports whether there were any.
func (p *parser) space() bool {
	start := p.pos
	for space(p.peek()) {
		p.pos++
	}
	return p.pos > start
}

func (p *parser) literal(s string) bool {
	if !strings.HasPrefix(p.text[p.pos:], s) {
		return false
	}
	p.pos += len(s)
	return true
}

// peek is the next byte, 0 at the end.
func (p *parser) peek() byte {
	if p.pos == len(p.text) {
		return 0
	}
	return p.text[p.pos]
}

func letter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
func digit(c byte) bool  { return '0' <= c && c <= '9' }
func space(c byte) bool  { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }
