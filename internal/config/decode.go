package config

import (
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// decoder lays the settings of one source after the other over a draft.
type decoder struct {
	*problems
	draft *draft
	// set has the last place of every key that some source sets.
	set map[string]Place
	// unread: a source could not be read, so what is missing may be in it.
	unread bool
}

// object reads the members of an object whose key is prefix ("" at the top).
func (d *decoder) object(prefix string, n *node) {
	// Old names first: where both stand, today's name counts.
	for _, m := range n.members {
		if _, old := oldNames[fold(prefix, m.key)]; old {
			d.member(prefix, m)
		}
	}
	for _, m := range n.members {
		if _, old := oldNames[fold(prefix, m.key)]; !old {
			d.member(prefix, m)
		}
	}
	d.repeated(prefix, n)
}

// repeated warns of a key that stands twice in an object, of which only the last
// counts. Blocks are meant to be repeated.
func (d *decoder) repeated(prefix string, n *node) {
	keys, by := n.group()
	for _, k := range keys {
		ms := by[k]
		if prefix == "" && definitionKeys[k] {
			continue // each counts
		}
		if len(ms) > 1 && !ms[0].val.block && ms[0].val.kind != kindList {
			d.warnf(ms[len(ms)-1].at, join(prefix, k), "is set at %s, too; this one counts", ms[0].at)
		}
	}
}

func join(prefix, name string) string {
	if prefix == "" {
		return name
	}
	return prefix + "." + name
}

func (d *decoder) member(prefix string, m member) {
	key := fold(prefix, m.key)
	if m.val.kind == kindNull {
		d.known(key, prefix, m)
		return // the same as a key that is not there
	}
	if now, ok := oldNames[key]; ok {
		d.warnf(m.at, key, "deprecated; the key is now %s", now)
		key = now
	}
	if prefix == "" && d.definitions(key, m) {
		return
	}
	if r, ok := rules[key]; ok && !d.judge(key, r, m) {
		return
	}
	if at, ok := fields[key]; ok {
		d.field(key, reflect.ValueOf(d.draft).Elem().FieldByIndex(at), m)
		return
	}
	if !d.known(key, prefix, m) {
		return
	}
	for _, o := range d.objects(key, m.val) {
		d.object(key, o)
	}
}

// known reports an unknown key, with the one that may be meant.
func (d *decoder) known(key, prefix string, m member) bool {
	if _, ok := fields[key]; ok || parents[key] != nil {
		return true
	}
	if _, ok := oldNames[key]; ok {
		return true
	}
	if _, ok := rules[key]; ok || prefix == "" && definitionKeys[key] {
		return true
	}
	if close := Closest(strings.ToLower(m.key), parents[prefix]); close != "" {
		d.errorf(m.at, join(prefix, m.key), "unknown key; did you mean %q?", close)
	} else {
		d.errorf(m.at, join(prefix, m.key), "unknown key")
	}
	return false
}

// fold gives the key's name in our table: keys are compared without regard to case,
// and the CA's also without underscores, since Consul accepts LeafCertTTL there.
func fold(prefix, name string) string {
	name = strings.ToLower(name)
	if prefix == "connect.ca_config" {
		for _, known := range parents[prefix] {
			if strings.ReplaceAll(known, "_", "") == strings.ReplaceAll(name, "_", "") {
				return join(prefix, known)
			}
		}
	}
	return join(prefix, name)
}

// judge applies a rule and says whether to go on with the key.
func (d *decoder) judge(key string, r rule, m member) bool {
	switch r.verdict {
	case warned:
		if m.val.empty() {
			break
		}
		d.warnf(m.at, key, "ignored: %s", r.why)
	case refused:
		if !m.val.empty() {
			d.errorf(m.at, key, "%s", r.why)
		}
	case pending:
		if asks(key, m.val) {
			d.warnf(m.at, key, "no effect: %s", r.reason())
		}
		return true
	}
	return false
}

// asks says whether a value of a key without effect asks for something: a switch or
// number if it is not as it would be without the key, all else if it is not empty.
func asks(key string, n *node) bool {
	var usual reflect.Value
	if at, ok := fields[key]; ok {
		usual = reflect.ValueOf(draft{Config: *Default()}).FieldByIndex(at)
	}
	switch {
	case n.kind == kindObject:
		return slices.ContainsFunc(n.members, func(m member) bool { return asks(fold(key, m.key), m.val) })
	case n.kind == kindBool && usual.Kind() == reflect.Bool:
		return usual.Bool() != (n.text == "true")
	case n.kind == kindNumber && usual.Kind() == reflect.Int:
		off := strings.HasPrefix(key, "ports.") && (n.text == "0" || n.text == "-1")
		return !off && strconv.FormatInt(usual.Int(), 10) != n.text
	}
	return !n.empty()
}

// objects are the pieces of a value that should be an object: HCL blocks of one name
// arrive one by one, an HCL attribute may be a list of one.
func (d *decoder) objects(key string, n *node) []*node {
	switch {
	case n.kind == kindObject:
		return []*node{n}
	case n.kind == kindList && len(n.list) == 1 && n.list[0].kind == kindObject:
		return n.list
	}
	d.want(key, n, "an object")
	return nil
}

func (d *decoder) want(key string, n *node, what string) {
	got := n.kind.String()
	switch n.kind {
	case kindString:
		got = "the text " + strconv.Quote(n.text)
	case kindNumber, kindBool:
		got = n.text
	}
	d.errorf(n.at, key, "want %s, not %s", what, got)
}

var durationType = reflect.TypeFor[time.Duration]()

// field reads one value into a field of the draft. Lists are appended to, maps
// merged, everything else replaced.
func (d *decoder) field(key string, f reflect.Value, m member) {
	d.set[key] = m.at
	n := m.val
	switch {
	case f.Type() == durationType:
		if v, ok := d.duration(key, n); ok {
			f.SetInt(int64(v))
		}
		return
	case f.Type() == reflect.TypeFor[[]Raw]():
		for _, e := range d.elements(key, n, kindObject) {
			f.Set(reflect.Append(f, reflect.ValueOf(Raw(e.json()))))
			if key == "watches" {
				d.draft.watches = append(d.draft.watches, e.at)
			}
		}
		return
	}
	switch f.Kind() {
	case reflect.String:
		if n.kind != kindString {
			d.want(key, n, "a text")
			return
		}
		f.SetString(n.text)
	case reflect.Bool:
		if n.kind != kindBool {
			d.want(key, n, "true or false")
			return
		}
		f.SetBool(n.text == "true")
	case reflect.Int:
		v, err := strconv.ParseInt(n.text, 10, 64)
		if n.kind != kindNumber || err != nil {
			d.want(key, n, "a whole number")
			return
		}
		f.SetInt(v)
	case reflect.Float64:
		v, err := strconv.ParseFloat(n.text, 64)
		if n.kind != kindNumber || err != nil || math.IsInf(v, 0) {
			d.want(key, n, "a number")
			return
		}
		f.SetFloat(v)
	case reflect.Slice:
		if key == "recursors" && n.kind == kindString { // the old key recursor
			n = &node{at: n.at, kind: kindList, list: []*node{n}}
		}
		for _, e := range d.elements(key, n, kindString) {
			f.Set(reflect.Append(f, reflect.ValueOf(e.text)))
		}
	case reflect.Map:
		d.mapping(key, f, n)
	default:
		panic("config: no decoder for the field of " + key)
	}
}

func (d *decoder) duration(key string, n *node) (time.Duration, bool) {
	if n.kind == kindNumber && n.text == "0" {
		return 0, true
	}
	v, err := time.ParseDuration(n.text)
	if n.kind != kindString || err != nil {
		d.want(key, n, `a duration like "10s"`)
		return 0, false
	}
	return v, true
}

// elements are the members of a list that have the right kind; the others are
// reported. A lone HCL block is a list of one.
func (d *decoder) elements(key string, n *node, k kind) []*node {
	if n.block && k == kindObject {
		return []*node{n}
	}
	if n.kind != kindList {
		d.want(key, n, "a list")
		return nil
	}
	var out []*node
	for i, e := range n.list {
		if e.kind != k {
			d.want(key+"["+strconv.Itoa(i)+"]", e, k.String())
			continue
		}
		out = append(out, e)
	}
	return out
}

func (d *decoder) mapping(key string, f reflect.Value, n *node) {
	if f.IsNil() {
		f.Set(reflect.MakeMap(f.Type()))
	}
	for _, o := range d.objects(key, n) {
		d.repeated(key, o)
		for _, m := range o.members {
			at := key + "." + m.key
			if f.Type().Elem() == durationType {
				if v, ok := d.duration(at, m.val); ok {
					f.SetMapIndex(reflect.ValueOf(m.key), reflect.ValueOf(v))
				}
				continue
			}
			if m.val.kind != kindString {
				d.want(at, m.val, "a text")
				continue
			}
			f.SetMapIndex(reflect.ValueOf(m.key), reflect.ValueOf(m.val.text))
		}
	}
}
