package lookup

import (
	"fmt"
	"reflect"

	"github.com/muster-discovery/muster/internal/model"
)

// Bounds of filter expressions. They come from outside and are kept compiled.
const (
	maxFilterLength = 8192
	maxFilterDepth  = 64   // nested parentheses and nots
	maxPatternSize  = 4096 // instructions of all regular expressions together
	maxKeptSize     = 256  // terms and instructions of an expression that is kept
)

// filterError is how clients know these errors.
func filterError(format string, args ...any) error {
	return model.Errorf(model.KindInvalid, "Failed to create boolean expression evaluator: %s", fmt.Sprintf(format, args...))
}

// expression is a filter compiled for one type. The language is that of Consul's
// API (go-bexpr as Consul's clients know it): every selector, operator and value
// is checked against the type before there is anything to evaluate it on, and a
// selector that crosses a list is true if any element is.
//
// The module go-bexpr itself is not used: v0.1.17, the one that builds beside the
// rest, crosses no lists, checks nothing beforehand, reads the value "/a/b" as a
// JSON pointer and loses its slash, and takes time exponential in the depth of
// parentheses, with seven of them refused after 130 ms. Tests compare the two
// where they should agree.
type expression struct {
	root reflect.Type
	test test
	size int // terms and instructions, a measure of its memory
}

// test is a compiled part of an expression. The value has the type it was
// compiled for.
type test func(v reflect.Value) bool

// compileExpression compiles a filter for values of the type of zero.
func compileExpression(text string, zero any) (*expression, error) {
	if len(text) > maxFilterLength {
		return nil, filterError("the expression has %d bytes, more than the %d allowed", len(text), maxFilterLength)
	}
	tree, err := parseExpression(text)
	if err != nil {
		return nil, err
	}
	c := compiler{}
	root := deref(reflect.TypeOf(zero))
	t, err := c.compile(tree, root)
	if err != nil {
		return nil, err
	}
	return &expression{root: root, test: t, size: c.terms + c.instructions}, nil
}

func (e *expression) takes(value any) bool {
	t := reflect.TypeOf(value)
	return t != nil && deref(t) == e.root
}

func (e *expression) match(value any) (bool, error) {
	if !e.takes(value) {
		return false, fmt.Errorf("evaluate filter for %s on %T", e.root, value)
	}
	v, ok := follow(reflect.ValueOf(value))
	return ok && e.test(v), nil
}

func deref(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// follow follows pointers; false if one is nil.
func follow(v reflect.Value) (reflect.Value, bool) {
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return v, false
		}
		v = v.Elem()
	}
	return v, true
}
