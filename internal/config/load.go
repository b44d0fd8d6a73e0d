package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/muster-discovery/muster/internal/model"
)

// Options say where the configuration comes from. Later sources override earlier
// ones: Paths in their order, then HCL, then Flags.
type Options struct {
	// Dev starts from DevDefaults instead of Default.
	Dev bool
	// Paths are files, or folders whose .hcl and .json files are read in lexical
	// order. Other files in a folder are passed over.
	Paths []string
	// Format, "hcl" or "json", is that of files with another ending.
	Format string
	// HCL are fragments from the command line.
	HCL []string
	// Flags are single settings from the command line.
	Flags []Setting
	// DecodeService and DecodeCheck read a definition in the JSON shape of the
	// HTTP API. Without them definitions are only checked for their keys.
	DecodeService func([]byte) (*model.ServiceDefinition, error)
	DecodeCheck   func([]byte) (*model.CheckDefinition, error)
	// CheckWatch checks an element of watches. Without it they are taken as they are.
	CheckWatch func([]byte) error
}

// Setting is a key given by a flag. Value is a string, int, bool, []string or
// map[string]string.
type Setting struct {
	Flag  string // as typed, for messages: "-http-port"
	Key   string // dotted
	Value any
}

// Load reads, merges, completes and validates. An error is of type Errors and has
// all mistakes.
func Load(o Options) (*Config, []Warning, error) {
	p := &problems{}
	base := Default()
	if o.Dev {
		base = DevDefaults()
	}
	d := &decoder{problems: p, draft: &draft{Config: *base}, set: map[string]Place{}}
	for _, path := range o.Paths {
		d.path(path, o.Format)
	}
	for i, text := range o.HCL {
		d.text(fmt.Sprintf("-hcl #%d", i+1), "hcl", []byte(text))
	}
	for _, s := range o.Flags {
		d.flag(s)
	}
	d.draft.decodeDefinitions(&o, p)
	d.draft.checkWatches(&o, p)
	if !d.unread {
		f := &finisher{problems: p, draft: d.draft, set: d.set}
		f.finish()
	}
	if err := p.err(); err != nil {
		return nil, p.warns, err
	}
	return &d.draft.Config, p.warns, nil
}

// path reads a file or the files of a folder.
func (d *decoder) path(path, format string) {
	info, err := os.Stat(path)
	if err != nil {
		d.fail(Place{File: path}, "%v", reason(err))
		return
	}
	if !info.IsDir() {
		d.file(path, formatOf(path, format))
		return
	}
	entries, err := os.ReadDir(path) // sorted by name
	if err != nil {
		d.fail(Place{File: path}, "%v", reason(err))
		return
	}
	for _, e := range entries {
		name := filepath.Join(path, e.Name())
		// Follow links: orchestrators mount configuration as links.
		if info, err := os.Stat(name); err != nil || info.IsDir() {
			continue
		}
		if f := formatOf(name, format); f != "" {
			d.file(name, f)
		}
	}
}

func formatOf(path, format string) string {
	switch filepath.Ext(path) {
	case ".json":
		return "json"
	case ".hcl":
		return "hcl"
	}
	return format
}

func (d *decoder) file(path, format string) {
	if format == "" {
		d.fail(Place{File: path}, "the name must end in .hcl or .json, or -config-format must be given")
		return
	}
	text, err := os.ReadFile(path)
	if err != nil {
		d.fail(Place{File: path}, "%v", reason(err))
		return
	}
	d.text(path, format, text)
}

func (d *decoder) text(name, format string, text []byte) {
	d.draft.Sources = append(d.draft.Sources, name)
	tree, err := parse(name, format, text)
	if err != nil {
		at := Place{File: name}
		var syntax *syntaxError
		if errors.As(err, &syntax) {
			at.Line = syntax.line
		}
		d.fail(at, "not valid %s: %v", strings.ToUpper(format), err)
		return
	}
	d.object("", tree)
}

// fail reports that a source could not be read.
func (d *decoder) fail(at Place, format string, args ...any) {
	d.unread = true
	d.errorf(at, "", format, args...)
}

// flag lays one setting over the draft, as if a file had it.
func (d *decoder) flag(s Setting) {
	at := Place{File: "flag " + s.Flag}
	n := &node{at: at}
	switch v := s.Value.(type) {
	case string:
		n.kind, n.text = kindString, v
	case int:
		n.kind, n.text = kindNumber, fmt.Sprint(v)
	case bool:
		n.kind, n.text = kindBool, fmt.Sprint(v)
	case []string:
		n.kind = kindList
		for _, e := range v {
			n.list = append(n.list, &node{at: at, kind: kindString, text: e})
		}
	case map[string]string:
		n.kind = kindObject
		for k, e := range v {
			n.members = append(n.members, member{k, at, &node{at: at, kind: kindString, text: e}})
		}
		sort.Slice(n.members, func(i, j int) bool { return n.members[i].key < n.members[j].key })
	default:
		panic(fmt.Sprintf("config: setting of %s has type %T", s.Flag, s.Value))
	}
	prefix, name := "", s.Key
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		prefix, name = name[:i], name[i+1:]
	}
	m := member{name, at, n}
	if r, ok := pendingRule(s.Key); ok {
		if _, own := rules[s.Key]; !own { // that of an object above, which a flag passes by
			d.judge(s.Key, r, m)
		}
	}
	d.member(prefix, m)
}

// reason is an error without the path, which the place has already.
func reason(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
