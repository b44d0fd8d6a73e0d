package lookup

import (
	"reflect"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
)

// compiler turns a tree into tests on values of a type, and counts what they cost.
type compiler struct {
	terms        int
	instructions int
}

func (c *compiler) compile(t *tree, typ reflect.Type) (test, error) {
	switch {
	case t.match != nil:
		return c.match(t.match, typ)
	case t.not != nil:
		inner, err := c.compile(t.not, typ)
		return func(v reflect.Value) bool { return !inner(v) }, err
	case t.all != nil:
		parts, err := c.parts(t.all, typ)
		return func(v reflect.Value) bool {
			for _, p := range parts {
				if !p(v) {
					return false
				}
			}
			return true
		}, err
	}
	parts, err := c.parts(t.any, typ)
	return func(v reflect.Value) bool {
		for _, p := range parts {
			if p(v) {
				return true
			}
		}
		return false
	}, err
}

func (c *compiler) parts(trees []*tree, typ reflect.Type) ([]test, error) {
	parts := make([]test, len(trees))
	for i, t := range trees {
		var err error
		if parts[i], err = c.compile(t, typ); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

func (c *compiler) match(m *match, typ reflect.Type) (test, error) {
	c.terms++
	return c.step(m, 0, typ)
}

// step follows the selector from its i-th part on.
func (c *compiler) step(m *match, i int, typ reflect.Type) (test, error) {
	if typ.Kind() == reflect.Pointer {
		inner, err := c.step(m, i, deref(typ))
		absent := m.op.negative()
		return func(v reflect.Value) bool {
			v, ok := follow(v)
			if !ok {
				return absent
			}
			return inner(v)
		}, err
	}
	if i == len(m.selector) {
		return c.leaf(m, typ)
	}
	switch typ.Kind() {
	case reflect.Struct:
		if index := fieldIndex(typ, m.selector[i]); index != nil {
			return c.field(m, i, typ, index)
		}
	case reflect.Map:
		if typ.Key().Kind() == reflect.String {
			return c.mapKey(m, i, typ)
		}
	case reflect.Slice, reflect.Array:
		if k := deref(typ.Elem()).Kind(); k == reflect.Struct || k == reflect.Map {
			return c.element(m, i, typ)
		}
	}
	return nil, c.invalid(m, i)
}

func (c *compiler) invalid(m *match, i int) error {
	return filterError("Selector %q is not valid", strings.Join(m.selector[:min(i+1, len(m.selector))], "."))
}

func (c *compiler) field(m *match, i int, typ reflect.Type, index []int) (test, error) {
	inner, err := c.step(m, i+1, typ.FieldByIndex(index).Type)
	absent := m.op.negative()
	return func(v reflect.Value) bool {
		f, err := v.FieldByIndexErr(index)
		if err != nil { // an embedded pointer is nil
			return absent
		}
		return inner(f)
	}, err
}

func (c *compiler) mapKey(m *match, i int, typ reflect.Type) (test, error) {
	inner, err := c.step(m, i+1, typ.Elem())
	key := reflect.ValueOf(m.selector[i]).Convert(typ.Key())
	absent := m.op.negative()
	return func(v reflect.Value) bool {
		e := v.MapIndex(key)
		if !e.IsValid() {
			return absent
		}
		return inner(e)
	}, err
}

// element tests a list: one element that fits is enough, for negative operators
// too.
func (c *compiler) element(m *match, i int, typ reflect.Type) (test, error) {
	inner, err := c.step(m, i, typ.Elem())
	return func(v reflect.Value) bool {
		for n := range v.Len() {
			if inner(v.Index(n)) {
				return true
			}
		}
		return false
	}, err
}

func (c *compiler) leaf(m *match, typ reflect.Type) (test, error) {
	switch typ.Kind() {
	case reflect.Interface:
		return nil, c.invalid(m, len(m.selector))
	case reflect.String:
		return c.stringLeaf(m)
	case reflect.Map:
		return c.mapLeaf(m, typ)
	case reflect.Slice, reflect.Array:
		return c.listLeaf(m, typ)
	}
	if m.op == opEqual || m.op == opNotEqual {
		if equal, err := c.equal(m, typ); equal != nil || err != nil {
			return negate(equal, m.op == opNotEqual), err
		}
	}
	return nil, unsupported(m)
}

func unsupported(m *match) error {
	return filterError("Invalid match operator %q for selector %q", m.op, strings.Join(m.selector, "."))
}

func negate(t test, on bool) test {
	if !on {
		return t
	}
	return func(v reflect.Value) bool { return !t(v) }
}

func (c *compiler) stringLeaf(m *match) (test, error) {
	value := m.value
	switch m.op {
	case opEqual, opNotEqual:
		return negate(func(v reflect.Value) bool { return v.String() == value }, m.op == opNotEqual), nil
	case opIn, opNotIn:
		return negate(func(v reflect.Value) bool { return strings.Contains(v.String(), value) }, m.op == opNotIn), nil
	case opMatches, opNotMatches:
		re, err := c.pattern(m)
		return negate(func(v reflect.Value) bool { return re.MatchString(v.String()) }, m.op == opNotMatches), err
	}
	return nil, unsupported(m)
}

// pattern compiles a regular expression. Its text may be short and its program huge.
func (c *compiler) pattern(m *match) (*regexp.Regexp, error) {
	wrong := func(err error) error {
		return filterError("Failed to compile regular expression for operator %q: %s", m.op, err)
	}
	parsed, err := syntax.Parse(m.value, syntax.Perl)
	if err != nil {
		return nil, wrong(err)
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, wrong(err)
	}
	if c.instructions += len(program.Inst); c.instructions > maxPatternSize {
		return nil, filterError("the regular expressions are too large; use fewer and smaller repetitions")
	}
	re, err := regexp.Compile(m.value)
	if err != nil {
		return nil, wrong(err)
	}
	return re, nil
}

func (c *compiler) mapLeaf(m *match, typ reflect.Type) (test, error) {
	switch {
	case m.op == opEmpty || m.op == opNotEmpty:
		return negate(func(v reflect.Value) bool { return v.Len() == 0 }, m.op == opNotEmpty), nil
	case (m.op == opIn || m.op == opNotIn) && typ.Key().Kind() == reflect.String:
		key := reflect.ValueOf(m.value).Convert(typ.Key())
		return negate(func(v reflect.Value) bool { return v.MapIndex(key).IsValid() }, m.op == opNotIn), nil
	}
	return nil, unsupported(m)
}

func (c *compiler) listLeaf(m *match, typ reflect.Type) (test, error) {
	switch m.op {
	case opEmpty, opNotEmpty:
		return negate(func(v reflect.Value) bool { return v.Len() == 0 }, m.op == opNotEmpty), nil
	case opIn, opNotIn:
		equal, err := c.equal(m, deref(typ.Elem()))
		if err != nil {
			return nil, err
		}
		if equal == nil {
			break
		}
		return negate(func(v reflect.Value) bool {
			for i := range v.Len() {
				if e, ok := follow(v.Index(i)); ok && equal(e) {
					return true
				}
			}
			return false
		}, m.op == opNotIn), nil
	}
	return nil, unsupported(m)
}

// equal compares values of a simple type with the one in the expression; nil for
// other types.
func (c *compiler) equal(m *match, typ reflect.Type) (test, error) {
	var t test
	var err error
	switch typ.Kind() {
	case reflect.String:
		want := m.value
		t = func(v reflect.Value) bool { return v.String() == want }
	case reflect.Bool:
		var want bool
		want, err = strconv.ParseBool(m.value)
		t = func(v reflect.Value) bool { return v.Bool() == want }
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		var want int64
		want, err = strconv.ParseInt(m.value, 0, typ.Bits())
		t = func(v reflect.Value) bool { return v.Int() == want }
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		var want uint64
		want, err = strconv.ParseUint(m.value, 0, typ.Bits())
		t = func(v reflect.Value) bool { return v.Uint() == want }
	case reflect.Float32, reflect.Float64:
		var want float64
		want, err = strconv.ParseFloat(m.value, typ.Bits())
		t = func(v reflect.Value) bool { return v.Float() == want }
	}
	if err != nil {
		return nil, filterError("Failed to coerce value %q for selector %q: %s", m.value, strings.Join(m.selector, "."), err)
	}
	return t, nil
}

// fieldIndex finds a field by the name that filters use, see view.Encoder.
func fieldIndex(typ reflect.Type, name string) []int {
	var byJSON []int
	for _, f := range reflect.VisibleFields(typ) {
		if !f.IsExported() || f.Anonymous && f.Tag.Get("bexpr") == "" {
			continue
		}
		tag, tagged := f.Tag.Lookup("bexpr")
		tag, _, _ = strings.Cut(tag, ",")
		switch {
		case tagged && tag != "":
			if tag == name && tag != "-" {
				return slices.Clone(f.Index)
			}
		case f.Name == name:
			return slices.Clone(f.Index)
		default:
			json, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if json == name && json != "-" && byJSON == nil {
				byJSON = slices.Clone(f.Index)
			}
		}
	}
	return byJSON
}
