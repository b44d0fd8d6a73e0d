package config

import (
	"bytes"
	"strconv"
	"strings"
)

// Service and check definitions of files have the keys of the HTTP API in another
// spelling. They are translated to the API's spelling here and decoded by those who
// decode the API's bodies, so that a definition means the same wherever it stands.

var definitionKeys = map[string]bool{"service": true, "services": true, "check": true, "checks": true}

// want of a field's value.
type want uint8

const (
	wantText want = iota
	wantDuration
	wantInt
	wantBool
	wantTexts  // list of texts
	wantMap    // object of texts
	wantAny    // passed on as it is
	wantShape  // object with known keys
	wantShapes // list of such
	wantNamed  // object whose members are such
	wantOurs   // Consul's enterprise: empty or "default"
)

type field struct {
	name  string // in the HTTP API
	want  want
	shape func() *shape // for wantShape, wantShapes, wantNamed
	means string        // for the reference
}

// shape has the keys of an object, lower case without underscores.
type shape struct {
	fields map[string]field
	keys   []string // as documented, for suggestions
}

// makeShape reads lines of "key Name want // meaning"; shapes are given by name.
func makeShape(text string, sub map[string]func() *shape) *shape {
	s := &shape{fields: map[string]field{}}
	wants := map[string]want{"text": wantText, "duration": wantDuration, "int": wantInt, "bool": wantBool, "texts": wantTexts, "map": wantMap, "any": wantAny, "ours": wantOurs}
	for line := range strings.Lines(text) {
		line, means, _ := strings.Cut(line, " // ")
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		fd := field{name: f[1], means: strings.TrimSpace(means)}
		if w, ok := wants[f[2]]; ok {
			fd.want = w
		} else {
			fd.want = map[string]want{"one": wantShape, "list": wantShapes, "named": wantNamed}[f[2]]
			fd.shape = sub[f[3]]
		}
		s.fields[plain(f[0])] = fd
		s.keys = append(s.keys, f[0])
	}
	return s
}

func plain(key string) string { return strings.ToLower(strings.ReplaceAll(key, "_", "")) }

// definitions takes the keys service, services, check and checks.
func (d *decoder) definitions(key string, m member) bool {
	if !definitionKeys[key] {
		return false
	}
	list := []*node{m.val}
	if m.val.kind == kindList {
		list = m.val.list
	}
	for i, n := range list {
		at := key
		if m.val.kind == kindList {
			at += "[" + strconv.Itoa(i) + "]"
		}
		sh, into := serviceShape(), &d.draft.services
		if strings.HasPrefix(key, "check") {
			sh, into = nodeCheckShape(), &d.draft.checks
		}
		var b bytes.Buffer
		before := len(d.errs)
		d.translate(&b, at, n, sh)
		if len(d.errs) == before {
			*into = append(*into, definition{n.at, at, b.Bytes()})
		}
	}
	return true
}

// translate writes n, an object of the given shape, as JSON of the HTTP API.
func (d *decoder) translate(b *bytes.Buffer, path string, n *node, sh *shape) {
	b.WriteByte('{')
	first := true
	for _, o := range d.objects(path, n) {
		d.repeated(path, o)
		keys, by := o.group()
		for _, k := range keys {
			val := by[k][len(by[k])-1].val
			if by[k][0].val.block && len(by[k]) > 1 {
				val = &node{at: by[k][0].at, kind: kindList, list: values(by[k])}
			}
			f, ok := sh.fields[plain(k)]
			if !ok {
				d.unknownField(by[k][0].at, path, k, sh)
				continue
			}
			if val.kind == kindNull || f.want == wantOurs && val.empty() {
				continue
			}
			if !first {
				b.WriteByte(',')
			}
			first = false
			writeString(b, f.name)
			b.WriteByte(':')
			d.translateField(b, path+"."+k, val, f)
		}
	}
	b.WriteByte('}')
}

func (d *decoder) unknownField(at Place, path, key string, sh *shape) {
	if key == "script" && sh.fields["args"].name != "" {
		d.errorf(at, path+"."+key, "no longer supported; give the command as a list in args")
		return
	}
	if close := Closest(strings.ToLower(key), sh.keys); close != "" {
		d.errorf(at, path+"."+key, "unknown key; did you mean %q?", close)
		return
	}
	d.errorf(at, path+"."+key, "unknown key")
}

func (d *decoder) translateField(b *bytes.Buffer, path string, n *node, f field) {
	switch f.want {
	case wantShape:
		d.translate(b, path, n, f.shape())
	case wantShapes:
		list := []*node{n}
		if n.kind == kindList {
			list = n.list
		}
		b.WriteByte('[')
		for i, e := range list {
			if i > 0 {
				b.WriteByte(',')
			}
			d.translate(b, path+"["+strconv.Itoa(i)+"]", e, f.shape())
		}
		b.WriteByte(']')
	case wantNamed:
		b.WriteByte('{')
		for _, o := range d.objects(path, n) {
			for i, m := range o.members {
				if i > 0 {
					b.WriteByte(',')
				}
				writeString(b, m.key)
				b.WriteByte(':')
				d.translate(b, path+"."+m.key, m.val, f.shape())
			}
		}
		b.WriteByte('}')
	default:
		d.checkScalar(path, n, f.want)
		if f.want == wantMap && n.kind == kindList && len(n.list) == 1 {
			n = n.list[0]
		}
		n.writeJSON(b)
	}
}

// checkScalar reports a value of the wrong type.
func (d *decoder) checkScalar(path string, n *node, w want) {
	switch w {
	case wantText:
		if n.kind != kindString {
			d.want(path, n, "a text")
		}
	case wantDuration:
		if n.kind != kindString || n.text != "" {
			d.duration(path, n)
		}
	case wantInt:
		if _, err := strconv.ParseInt(n.text, 10, 64); n.kind != kindNumber || err != nil {
			d.want(path, n, "a whole number")
		}
	case wantBool:
		if n.kind != kindBool {
			d.want(path, n, "true or false")
		}
	case wantTexts:
		d.elements(path, n, kindString)
	case wantMap:
		for _, o := range d.objects(path, n) {
			for _, m := range o.members {
				d.checkScalar(path+"."+m.key, m.val, wantText)
			}
		}
	case wantOurs:
		d.errorf(n.at, path, "%s", enterprise)
	}
}
