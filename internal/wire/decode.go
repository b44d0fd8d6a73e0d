package wire

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"
)

// dialect is how field names and values of a body may be spelled.
type dialect uint8

const (
	// catalogBody: names in any case; unknown ones are refused.
	catalogBody dialect = iota
	// agentBody: also names with underscores.
	agentBody
	// looseBody: names in any case; unknown ones are skipped.
	looseBody
	// fileBody: also a single value for a list, and numbers and booleans as
	// strings, as HCL has it.
	fileBody
)

// decode reads one JSON value into a pointer to a struct. Fields that clients
// don't send keep their value; so do those that are null.
func decode(data []byte, into any, d dialect) error {
	v, err := parse(data)
	if err != nil {
		return err
	}
	return d.assign(v, reflect.ValueOf(into).Elem(), "")
}

var durationType = reflect.TypeFor[time.Duration]()

func (d dialect) assign(v any, to reflect.Value, path string) error {
	if v == nil {
		return nil
	}
	if to.Type() == durationType {
		return assignDuration(v, to, path)
	}
	switch to.Kind() {
	case reflect.Pointer:
		made := reflect.New(to.Type().Elem())
		if err := d.assign(v, made.Elem(), path); err != nil {
			return err
		}
		to.Set(made)
		return nil
	case reflect.Interface:
		to.Set(reflect.ValueOf(plain(v)))
		return nil
	case reflect.Struct:
		return d.assignStruct(v, to, path)
	case reflect.Map:
		return d.assignMap(v, to, path)
	case reflect.Slice:
		return d.assignSlice(v, to, path)
	}
	return d.assignScalar(v, to, path)
}

func (d dialect) assignScalar(v any, to reflect.Value, path string) error {
	if d == fileBody {
		v = loosen(v, to.Kind())
	}
	switch to.Kind() {
	case reflect.String:
		if s, ok := v.(string); ok {
			to.SetString(s)
			return nil
		}
		return mismatch(path, "a string", v)
	case reflect.Bool:
		if b, ok := v.(bool); ok {
			to.SetBool(b)
			return nil
		}
		return mismatch(path, "a boolean", v)
	case reflect.Int:
		n, ok := v.(json.Number)
		if !ok {
			return mismatch(path, "a number", v)
		}
		i, err := strconv.Atoi(n.String())
		if err != nil {
			return fmt.Errorf("%s: %s is not a whole number in range", path, n)
		}
		to.SetInt(int64(i))
		return nil
	}
	// Only a field of a type that nothing above handles gets here.
	panic("wire: cannot decode into " + to.Type().String())
}

// loosen reads numbers and booleans that are written as strings, and the reverse.
func loosen(v any, kind reflect.Kind) any {
	switch v := v.(type) {
	case string:
		switch kind {
		case reflect.Int:
			if _, err := strconv.Atoi(v); err == nil {
				return json.Number(v)
			}
		case reflect.Bool:
			if b, err := strconv.ParseBool(v); err == nil {
				return b
			}
		}
	case json.Number:
		if kind == reflect.String {
			return v.String()
		}
	case bool:
		if kind == reflect.String {
			return strconv.FormatBool(v)
		}
	}
	return v
}

// assignDuration takes Go's notation or nanoseconds. The error for a broken
// duration is Go's own text, which clients know.
func assignDuration(v any, to reflect.Value, path string) error {
	switch v := v.(type) {
	case string:
		if v == "" {
			return nil
		}
		t, err := time.ParseDuration(v)
		if err != nil {
			return err
		}
		to.SetInt(int64(t))
		return nil
	case json.Number:
		n, err := strconv.ParseInt(v.String(), 10, 64)
		if err != nil {
			return fmt.Errorf("%s: %s is not a whole number of nanoseconds in range", path, v)
		}
		to.SetInt(n)
		return nil
	}
	return mismatch(path, "a duration", v)
}

func (d dialect) assignMap(v any, to reflect.Value, path string) error {
	if list, ok := v.([]any); ok && d == fileBody && len(list) == 1 {
		v = list[0] // an HCL block
	}
	obj, ok := v.(object)
	if !ok {
		return mismatch(path, "an object", v)
	}
	m := reflect.MakeMapWithSize(to.Type(), len(obj))
	for _, f := range obj {
		elem := reflect.New(to.Type().Elem()).Elem()
		if err := d.assign(f.value, elem, join(path, f.name)); err != nil {
			return err
		}
		m.SetMapIndex(reflect.ValueOf(f.name), elem)
	}
	to.Set(m)
	return nil
}

func (d dialect) assignSlice(v any, to reflect.Value, path string) error {
	list, ok := v.([]any)
	if !ok {
		if d != fileBody {
			return mismatch(path, "a list", v)
		}
		list = []any{v}
	}
	s := reflect.MakeSlice(to.Type(), len(list), len(list))
	for k, elem := range list {
		if err := d.assign(elem, s.Index(k), fmt.Sprintf("%s[%d]", path, k)); err != nil {
			return err
		}
	}
	to.Set(s)
	return nil
}

func (d dialect) assignStruct(v any, to reflect.Value, path string) error {
	if list, ok := v.([]any); ok && d == fileBody && len(list) == 1 {
		v = list[0]
	}
	obj, ok := v.(object)
	if !ok {
		return mismatch(path, "an object", v)
	}
	fields := fieldsOf(to.Type())
	for _, f := range obj {
		index, ok := d.field(fields, f.name)
		if !ok {
			if d == looseBody {
				continue
			}
			return fmt.Errorf("unknown field %q", join(path, f.name))
		}
		if err := d.assign(f.value, to.Field(index), join(path, f.name)); err != nil {
			return err
		}
	}
	return nil
}

// field finds a struct's field by the name in a body.
func (d dialect) field(fields map[string]field, name string) (int, bool) {
	folded := strings.ToLower(name)
	if f, ok := fields[folded]; ok {
		return f.index, true
	}
	if d == catalogBody || d == looseBody || !strings.Contains(folded, "_") {
		return 0, false
	}
	f, ok := fields[strings.ReplaceAll(folded, "_", "")]
	if !ok || d == agentBody && f.camelOnly {
		return 0, false
	}
	return f.index, true
}

// field is where a struct keeps what a body names.
type field struct {
	index     int
	camelOnly bool
}

var fieldCache sync.Map // reflect.Type to map[string]field

// fieldsOf maps the lower-case names of a struct's fields. The tag `alias` adds
// names; the tag `spelling:"camel"` marks fields whose names with underscores only
// files may use, as Consul has it.
func fieldsOf(t reflect.Type) map[string]field {
	if m, ok := fieldCache.Load(t); ok {
		return m.(map[string]field)
	}
	m := make(map[string]field, t.NumField())
	for k := range t.NumField() {
		sf := t.Field(k)
		f := field{index: k, camelOnly: sf.Tag.Get("spelling") == "camel"}
		m[strings.ToLower(sf.Name)] = f
		if alias := sf.Tag.Get("alias"); alias != "" {
			for _, name := range strings.Split(alias, ",") {
				m[strings.ToLower(name)] = f
			}
		}
	}
	fieldCache.Store(t, m)
	return m
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func mismatch(path, want string, got any) error {
	if path == "" {
		path = "body"
	}
	return fmt.Errorf("%s: want %s, got %s", path, want, describe(got))
}
