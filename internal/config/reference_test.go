package config

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

const reference = "../../docs/configuration.md"

// TestReference keeps docs/configuration.md what the structs and tables say; with
// -update it writes it.
func TestReference(t *testing.T) {
	r := &writer{docs: typeDocs(t), usual: reflect.ValueOf(draft{Config: *Default()})}
	intro, err := os.ReadFile("testdata/reference_intro.md")
	if err != nil {
		t.Fatal(err)
	}
	r.out.Write(intro)
	r.sections()
	r.definitions()
	r.rules()
	for _, key := range Keys() {
		if r.meaning[key] == "" {
			t.Errorf("%s: the field has no comment that says what it means", key)
		}
	}
	golden(t, reference, r.out.String())
}

// typeDocs has the comments of all types and fields: "Type" and "Type.Field".
func typeDocs(t *testing.T) map[string]string {
	docs := map[string]string{}
	files, _ := filepath.Glob("*.go")
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.TYPE {
				continue
			}
			for _, s := range g.Specs {
				ts := s.(*ast.TypeSpec)
				docs[ts.Name.Name] = oneLine(g.Doc.Text())
				if st, ok := ts.Type.(*ast.StructType); ok {
					for _, field := range st.Fields.List {
						for _, n := range field.Names {
							docs[ts.Name.Name+"."+n.Name] = oneLine(field.Comment.Text())
						}
					}
				}
			}
		}
	}
	return docs
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

type writer struct {
	out     strings.Builder
	docs    map[string]string
	usual   reflect.Value // a draft with the defaults
	meaning map[string]string
}

type row struct{ key, kind, usual, means, status string }

// sections writes a table for each group of settings, in the order of Config.
func (w *writer) sections() {
	w.meaning = map[string]string{}
	var single []row
	ty := reflect.TypeFor[Config]()
	for i := range ty.NumField() {
		f := ty.Field(i)
		switch {
		case f.Type.Kind() == reflect.Struct:
			if rows := w.rows(f.Type, "", []int{0, i}); len(rows) > 0 {
				w.section(f.Name, w.docs[f.Name], rows)
			}
		case f.Tag.Get("key") != "":
			single = append(single, w.row(f.Tag.Get("key"), "Config."+f.Name, []int{0, i}))
		}
	}
	ty = reflect.TypeFor[draft]()
	for i := range ty.NumField() {
		f := ty.Field(i)
		key, tagged := f.Tag.Lookup("key")
		switch {
		case f.Anonymous || !tagged:
		case f.Type.Kind() == reflect.Struct:
			for _, r := range w.rows(f.Type, key, []int{i}) {
				r.means = map[bool]string{true: "old name, the same as in tls.defaults: ", false: "for all three of tls.https, tls.grpc, tls.internal_rpc: "}[key == ""] + r.means
				single = append(single, r)
			}
		default:
			single = append(single, w.row(key, "draft."+f.Name, []int{i}))
		}
	}
	w.section("Others", "", single)
}

// rows are the settings below a struct. In those of tls the keys are relative.
func (w *writer) rows(ty reflect.Type, prefix string, path []int) []row {
	var out []row
	for i := range ty.NumField() {
		f := ty.Field(i)
		at := append(slices.Clone(path), i)
		key, tagged := f.Tag.Lookup("key")
		switch {
		case f.Type.Kind() == reflect.Struct:
			out = append(out, w.rows(f.Type, key, at)...)
		case tagged:
			if prefix != "" {
				key = prefix + "." + key
			}
			out = append(out, w.row(key, ty.Name()+"."+f.Name, at))
		}
	}
	return out
}

func (w *writer) row(key, field string, path []int) row {
	w.meaning[key] = w.docs[field]
	v := w.usual.FieldByIndex(path)
	status := "works"
	if r, ok := pendingRule(key); ok {
		status = "no effect: " + r.reason()
	}
	return row{key, kindOf(v.Type()), usual(v), w.docs[field], status}
}

func kindOf(t reflect.Type) string {
	switch {
	case t == durationType:
		return "duration"
	case t == reflect.TypeFor[[]Raw]():
		return "list of objects"
	}
	switch t.Kind() {
	case reflect.Bool:
		return "switch"
	case reflect.Int:
		return "whole number"
	case reflect.Float64:
		return "number"
	case reflect.Slice:
		return "list of texts"
	case reflect.Map:
		if t.Elem() == durationType {
			return "durations by name"
		}
		return "texts by name"
	}
	if t == reflect.TypeFor[Secret]() {
		return "secret text"
	}
	return "text"
}

func usual(v reflect.Value) string {
	switch {
	case v.Kind() == reflect.Slice || v.Kind() == reflect.Map:
		return ""
	case v.Type() == durationType:
		return short(time.Duration(v.Int()))
	case v.Kind() == reflect.String:
		if v.String() == "" {
			return ""
		}
		return "`" + strings.TrimSuffix(v.String(), ".") + "`"
	}
	return fmt.Sprintf("%v", v.Interface())
}

// short is a duration without the parts that are zero.
func short(d time.Duration) string {
	s := d.String()
	for _, end := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(s, end) {
			s = s[:len(s)-2]
		}
	}
	return s
}

func (w *writer) section(name, intro string, rows []row) {
	fmt.Fprintf(&w.out, "\n## %s\n", name)
	if intro != "" {
		fmt.Fprintf(&w.out, "\n%s\n", cell(intro))
	}
	w.table([]string{"key", "type", "default", "meaning", "status"}, rows)
}

func (w *writer) table(heads []string, rows []row) {
	fmt.Fprintf(&w.out, "\n| %s |\n|%s\n", strings.Join(heads, " | "), strings.Repeat(" --- |", len(heads)))
	for _, r := range rows {
		cells := []string{"`" + r.key + "`", r.kind, r.usual, cell(r.means), cell(r.status)}
		switch len(heads) {
		case 3:
			cells = []string{cells[0], cells[1], cells[3]}
		case 2:
			cells = []string{cells[0], cells[3]}
		}
		fmt.Fprintf(&w.out, "| %s |\n", strings.Join(cells, " | "))
	}
}

// cell escapes what Markdown would take for itself.
func cell(s string) string {
	return strings.NewReplacer("|", `\|`, "*", `\*`, "<", "&lt;", "_", `\_`).Replace(s)
}

func (w *writer) definitions() {
	fmt.Fprint(&w.out, "\n## Services and checks\n\nKeys of a `service` block; `services` is a list of them. Unknown keys are mistakes.\n")
	w.shape(serviceShape())
	fmt.Fprint(&w.out, "\nKeys of a `check` block at the top of a file; `checks` is a list of them. Within a service, `id` is the id of the check, and `service_id` does not exist.\n")
	w.shape(nodeCheckShape())
}

func (w *writer) shape(s *shape) {
	names := map[want]string{
		wantText: "text", wantDuration: "duration", wantInt: "whole number", wantBool: "switch", wantTexts: "list of texts",
		wantMap: "texts by name", wantAny: "any", wantShape: "object", wantShapes: "list of objects", wantNamed: "objects by name", wantOurs: "text",
	}
	var rows []row
	for _, k := range s.keys {
		f := s.fields[plain(k)]
		rows = append(rows, row{key: k, kind: names[f.want], means: f.means})
	}
	w.table([]string{"key", "type", "meaning"}, rows)
}

func (w *writer) rules() {
	for _, part := range []struct {
		verdict     verdict
		head, intro string
	}{
		{refused, "Refused", "With these the agent does not start, unless the value asks for nothing (null, false, empty, \"default\")."},
		{warned, "Ignored with a warning", "Of Consul, and without effect in Muster for good."},
		{ignored, "Ignored", "Accepted without a word: they make no difference here."},
	} {
		var rows []row
		for _, key := range sortedKeys(rules) {
			if r := rules[key]; r.verdict == part.verdict {
				rows = append(rows, row{key: key, means: r.why})
			}
		}
		fmt.Fprintf(&w.out, "\n## %s\n\n%s\n", part.head, part.intro)
		if part.verdict == ignored {
			var keys []string
			for _, r := range rows {
				keys = append(keys, "`"+r.key+"`")
			}
			fmt.Fprintf(&w.out, "\n%s.\n", strings.Join(keys, ", "))
			continue
		}
		w.table([]string{"key", "why"}, rows)
	}
	var rows []row
	for _, old := range sortedKeys(oldNames) {
		rows = append(rows, row{key: old, means: "`" + oldNames[old] + "`"})
	}
	fmt.Fprint(&w.out, "\n## Old names\n\nAccepted with a warning; where both stand, today's name counts.\n")
	fmt.Fprint(&w.out, "\n| old | today |\n| --- | --- |\n")
	for _, r := range rows {
		fmt.Fprintf(&w.out, "| `%s` | %s |\n", r.key, r.means)
	}
}
