package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"

	"github.com/hashicorp/hcl/hcl/ast"
	"github.com/hashicorp/hcl/hcl/parser"
	"github.com/hashicorp/hcl/hcl/token"
)

// maxDepth bounds nesting: a file deeper than this is no configuration.
const maxDepth = 64

var errDepth = errors.New("nested too deeply")

// syntaxError is a mistake of the format itself.
type syntaxError struct {
	line int
	err  error
}

func (e *syntaxError) Error() string { return e.err.Error() }

// parse reads a file's text. format is "hcl" or "json". An empty text is an empty
// object.
func parse(file, format string, text []byte) (*node, error) {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	if len(bytes.TrimSpace(text)) == 0 {
		return &node{at: Place{File: file, Line: 1}, kind: kindObject}, nil
	}
	if format == "json" {
		return parseJSON(file, text)
	}
	return parseHCL(file, text)
}

// jsonParser walks the tokens of a JSON text that is known to be well-formed.
type jsonParser struct {
	file  string
	dec   *json.Decoder
	lines []int // offsets of line ends
}

func parseJSON(file string, text []byte) (*node, error) {
	p := &jsonParser{file: file, dec: json.NewDecoder(bytes.NewReader(text))}
	for i, c := range text {
		if c == '\n' {
			p.lines = append(p.lines, i)
		}
	}
	var whole json.RawMessage
	if err := json.Unmarshal(text, &whole); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return nil, &syntaxError{p.line(syntax.Offset - 1), err}
		}
		return nil, &syntaxError{0, err}
	}
	p.dec.UseNumber()
	n, err := p.value(0)
	if err != nil {
		return nil, err
	}
	if n.kind != kindObject {
		return nil, &syntaxError{1, fmt.Errorf("want an object at the top, not %s", n.kind)}
	}
	return n, nil
}

func (p *jsonParser) line(offset int64) int {
	return 1 + sort.SearchInts(p.lines, int(offset))
}

func (p *jsonParser) value(depth int) (*node, error) {
	if depth > maxDepth {
		return nil, &syntaxError{p.line(p.dec.InputOffset()), errDepth}
	}
	tok, err := p.dec.Token()
	if err != nil {
		return nil, &syntaxError{p.line(p.dec.InputOffset()), err}
	}
	n := &node{at: Place{p.file, p.line(p.dec.InputOffset() - 1)}}
	switch t := tok.(type) {
	case bool:
		n.kind, n.text = kindBool, fmt.Sprint(t)
	case json.Number:
		n.kind, n.text = kindNumber, t.String()
	case string:
		n.kind, n.text = kindString, t
	case json.Delim:
		return n, p.composite(n, t, depth)
	}
	return n, nil
}

func (p *jsonParser) composite(n *node, open json.Delim, depth int) error {
	n.kind = kindList
	if open == '{' {
		n.kind = kindObject
	}
	for p.dec.More() {
		m := member{}
		if n.kind == kindObject {
			tok, err := p.dec.Token()
			if err != nil {
				return err
			}
			m.key, _ = tok.(string)
			m.at = Place{p.file, p.line(p.dec.InputOffset() - 1)}
		}
		v, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		if n.kind == kindList {
			n.list = append(n.list, v)
			continue
		}
		m.val = v
		n.members = append(n.members, m)
	}
	_, err := p.dec.Token() // the closing one
	return err
}

// parseHCL reads HCL 1. The parser is not ours and old: a panic of it on a strange
// text must not take the agent down on reload.
func parseHCL(file string, text []byte) (n *node, err error) {
	defer func() {
		if r := recover(); r != nil {
			n, err = nil, &syntaxError{0, fmt.Errorf("not valid HCL: %v", r)}
		}
	}()
	if deep(text) {
		return nil, &syntaxError{0, errDepth}
	}
	f, err := parser.Parse(text)
	if err != nil {
		var pos *parser.PosError
		if errors.As(err, &pos) {
			return nil, &syntaxError{pos.Pos.Line, pos.Err}
		}
		return nil, &syntaxError{0, err}
	}
	list, ok := f.Node.(*ast.ObjectList)
	if !ok {
		return nil, &syntaxError{1, io.ErrUnexpectedEOF}
	}
	return hclObject(file, list, token.Pos{Line: 1})
}

// deep keeps the recursive parser from exhausting the stack. Brackets in texts and
// comments count too, which no real file notices.
func deep(text []byte) bool {
	depth := 0
	for _, c := range text {
		switch c {
		case '{', '[':
			if depth++; depth > maxDepth {
				return true
			}
		case '}', ']':
			depth--
		}
	}
	return false
}

func hclObject(file string, list *ast.ObjectList, pos token.Pos) (*node, error) {
	n := &node{at: Place{file, pos.Line}, kind: kindObject}
	for _, item := range list.Items {
		v, err := hclValue(file, item.Val)
		if err != nil {
			return nil, err
		}
		v.block = v.kind == kindObject && !item.Assign.IsValid()
		// `service "web" { ... }` means { service = { web = { ... } } }
		for i := len(item.Keys) - 1; i > 0; i-- {
			m := hclMember(file, item.Keys[i], v)
			v = &node{at: m.at, kind: kindObject, block: true, members: []member{m}}
		}
		n.members = append(n.members, hclMember(file, item.Keys[0], v))
	}
	return n, nil
}

func hclMember(file string, k *ast.ObjectKey, v *node) member {
	key, ok := k.Token.Value().(string)
	if !ok {
		key = strings.Trim(k.Token.Text, `"`)
	}
	return member{key: key, at: Place{file, k.Token.Pos.Line}, val: v}
}

func hclValue(file string, v ast.Node) (*node, error) {
	n := &node{at: Place{file, v.Pos().Line}}
	switch v := v.(type) {
	case *ast.ObjectType:
		return hclObject(file, v.List, v.Lbrace)
	case *ast.ListType:
		n.kind = kindList
		for _, e := range v.List {
			en, err := hclValue(file, e)
			if err != nil {
				return nil, err
			}
			n.list = append(n.list, en)
		}
	case *ast.LiteralType:
		switch t := v.Token; t.Type {
		case token.BOOL:
			n.kind, n.text = kindBool, strings.ToLower(t.Text)
		case token.NUMBER, token.FLOAT:
			n.kind = kindNumber
			b, err := json.Marshal(t.Value()) // 0x10 becomes 16
			if err != nil {
				return nil, &syntaxError{t.Pos.Line, err}
			}
			n.text = string(b)
		case token.STRING, token.HEREDOC:
			s, ok := t.Value().(string)
			if !ok {
				return nil, &syntaxError{t.Pos.Line, fmt.Errorf("not a text: %s", t.Text)}
			}
			n.kind, n.text = kindString, s
		default:
			return nil, &syntaxError{t.Pos.Line, fmt.Errorf("unexpected %s", t.Text)}
		}
	default:
		return nil, &syntaxError{v.Pos().Line, errors.New("unexpected value")}
	}
	return n, nil
}
