package acl

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/hcl/ast"
	"github.com/hashicorp/hcl/hcl/parser"
	"github.com/hashicorp/hcl/hcl/token"
)

// maxDepth bounds nesting. The deepest rule has five levels, and those of Consul
// Enterprise, which are skipped, twice as many.
const maxDepth = 32

// pos is a place in the text, from 1. A zero one is unknown.
type pos struct{ line, column int }

type shape uint8

const (
	object shape = iota + 1
	list
	text
	other // numbers and the like: never valid here
)

// node is a value, whether it was written in HCL or in JSON. A block with labels is
// an object in an object.
type node struct {
	at      pos
	shape   shape
	text    string
	members []member
	list    []*node
}

type member struct {
	key string
	at  pos
	val *node
}

// objects are the objects that a value consists of. HCL and JSON may both have a
// list wherever a block is meant. ok is false if there is something else.
func (n *node) objects() (all []*node, ok bool) {
	switch n.shape {
	case object:
		return []*node{n}, true
	case list:
		for _, e := range n.list {
			inner, ok := e.objects()
			if !ok {
				return nil, false
			}
			all = append(all, inner...)
		}
		return all, true
	}
	return nil, false
}

// syntaxError is a mistake of the format itself.
type syntaxError struct {
	at  pos
	err error
}

func (e *syntaxError) Error() string { return e.err.Error() }

var errDepth = fmt.Errorf("nested deeper than %d levels", maxDepth)

// parse reads a text. One that begins with a brace is JSON, as everywhere in HCL.
func parse(source string) (*node, error) {
	start := strings.TrimSpace(source)
	switch {
	case start == "":
		return &node{shape: object}, nil
	case start[0] == '{':
		return parseJSON(source)
	}
	return parseHCL(source)
}

// parseHCL reads HCL 1. The parser is not ours and old: a panic of it on a strange
// text must not take a server down.
func parseHCL(source string) (n *node, err error) {
	defer func() {
		if r := recover(); r != nil {
			n, err = nil, &syntaxError{err: fmt.Errorf("not valid HCL: %v", r)}
		}
	}()
	if deep(source) {
		return nil, &syntaxError{err: errDepth}
	}
	f, err := parser.Parse([]byte(source))
	if err != nil {
		var at *parser.PosError
		if errors.As(err, &at) {
			return nil, &syntaxError{hclPos(at.Pos), at.Err}
		}
		return nil, &syntaxError{err: err}
	}
	top, ok := f.Node.(*ast.ObjectList)
	if !ok {
		return nil, &syntaxError{err: errors.New("not valid HCL")}
	}
	return hclObject(top, pos{1, 1}), nil
}

// deep keeps the recursive parser from exhausting the stack. Brackets in texts and
// comments count too, which no real policy notices.
func deep(source string) bool {
	depth := 0
	for i := range len(source) {
		switch source[i] {
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

func hclPos(p token.Pos) pos { return pos{p.Line, p.Column} }

func hclObject(items *ast.ObjectList, at pos) *node {
	n := &node{at: at, shape: object}
	for _, item := range items.Items {
		v := hclValue(item.Val)
		// `service "web" { ... }` means { service = { web = { ... } } }
		for i := len(item.Keys) - 1; i >= 0; i-- {
			m := hclMember(item.Keys[i], v)
			if i == 0 {
				n.members = append(n.members, m)
				break
			}
			v = &node{at: m.at, shape: object, members: []member{m}}
		}
	}
	return n
}

func hclMember(k *ast.ObjectKey, v *node) member {
	key, ok := k.Token.Value().(string)
	if !ok {
		key = k.Token.Text
	}
	return member{key: key, at: hclPos(k.Token.Pos), val: v}
}

func hclValue(v ast.Node) *node {
	n := &node{at: hclPos(v.Pos()), shape: other}
	switch v := v.(type) {
	case *ast.ObjectType:
		return hclObject(v.List, hclPos(v.Lbrace))
	case *ast.ListType:
		n.shape = list
		for _, e := range v.List {
			n.list = append(n.list, hclValue(e))
		}
	case *ast.LiteralType:
		n.text = v.Token.Text
		if s, ok := v.Token.Value().(string); ok && (v.Token.Type == token.STRING || v.Token.Type == token.HEREDOC) {
			n.shape, n.text = text, s
		}
	}
	return n
}
