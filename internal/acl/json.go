package acl

import (
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strings"
)

// jsonParser walks the tokens of a JSON text that is known to be well-formed. It
// keeps members in their order and those that are given twice, and knows where they
// are, which unmarshaling does not.
type jsonParser struct {
	source string
	dec    *json.Decoder
	lines  []int // offsets of line ends
}

func parseJSON(source string) (*node, error) {
	p := &jsonParser{source: source, dec: json.NewDecoder(strings.NewReader(source))}
	for i := range len(source) {
		if source[i] == '\n' {
			p.lines = append(p.lines, i)
		}
	}
	var whole json.RawMessage
	if err := json.Unmarshal([]byte(source), &whole); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return nil, &syntaxError{p.at(int(syntax.Offset) - 1), err}
		}
		return nil, &syntaxError{err: err}
	}
	p.dec.UseNumber()
	return p.value(0)
}

// at is the place of an offset.
func (p *jsonParser) at(offset int) pos {
	offset = max(offset, 0)
	line := sort.SearchInts(p.lines, offset)
	start := 0
	if line > 0 {
		start = p.lines[line-1] + 1
	}
	return pos{line + 1, offset - start + 1}
}

// next is the place of the next token: after what separates it from the last one.
func (p *jsonParser) next() pos {
	offset := int(p.dec.InputOffset())
	for offset < len(p.source) && strings.IndexByte(" \t\r\n,:", p.source[offset]) >= 0 {
		offset++
	}
	return p.at(offset)
}

func (p *jsonParser) value(depth int) (*node, error) {
	n := &node{at: p.next(), shape: other}
	if depth > maxDepth {
		return nil, &syntaxError{n.at, errDepth}
	}
	tok, err := p.dec.Token()
	if err != nil {
		return nil, &syntaxError{n.at, err}
	}
	switch t := tok.(type) {
	case string:
		n.shape, n.text = text, t
	case json.Delim:
		n.shape = list
		if t == '{' {
			n.shape = object
		}
		return n, p.composite(n, depth)
	case nil:
		n.text = "null"
	default:
		n.text = fmt.Sprint(t)
	}
	return n, nil
}

// composite reads what is inside of an object or a list, and its end.
func (p *jsonParser) composite(n *node, depth int) error {
	for p.dec.More() {
		var m member
		if n.shape == object {
			m.at = p.next()
			tok, err := p.dec.Token()
			if err != nil {
				return &syntaxError{m.at, err}
			}
			m.key, _ = tok.(string)
		}
		v, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		if n.shape == list {
			n.list = append(n.list, v)
			continue
		}
		m.val = v
		n.members = append(n.members, m)
	}
	_, err := p.dec.Token()
	return err
}
