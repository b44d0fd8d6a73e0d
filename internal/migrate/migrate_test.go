package migrate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func run(t *testing.T, from Source, to *Endpoint, o Options) Report {
	t.Helper()
	r, err := NewImporter(to, o, nil).Run(context.Background(), from)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// sameContents compares what two registries hold.
func sameContents(t *testing.T, a, b *registry, nodes ...string) {
	t.Helper()
	if len(a.keys) != len(b.keys) {
		t.Errorf("%d keys, want %d", len(b.keys), len(a.keys))
	}
	for key, want := range a.keys {
		if got := b.keys[key]; got == nil || got.Flags != want.Flags || !bytes.Equal(got.Value, want.Value) {
			t.Errorf("key %q: %+v", key, got)
		}
	}
	for _, n := range nodes {
		for id, s := range a.services[n] {
			if !sameObject(plain(s), plain(b.services[n][id])) {
				t.Errorf("service %s: %v\nwant %v", id, b.services[n][id], s)
			}
		}
		for id, c := range a.checks[n] {
			if !sameObject(plainCheck(c), plainCheck(b.checks[n][id])) {
				t.Errorf("check %s: %v\nwant %v", id, b.checks[n][id], c)
			}
		}
	}
}

func TestImport(t *testing.T) {
	from, source := consul(t)
	to, target := newRegistry(t)
	dry := run(t, &HTTPSource{From: source}, target, Options{DryRun: true})
	if len(to.keys)+len(to.nodes)+len(to.queries) != 0 {
		t.Fatal("a dry run wrote")
	}
	to.fail, from.fail = 2, 2 // an election
	got := run(t, &HTTPSource{From: source}, target, Options{})
	if got.Nodes != (Counts{Created: 1}) || got.Services != (Counts{Created: 1}) || got.Checks != (Counts{Created: 2}) ||
		got.Queries != (Counts{Created: 2}) || got.Keys != (Counts{Created: 305}) || got.Locks != 1 || !got.Clean() {
		t.Fatalf("%+v", got)
	}
	dry.DryRun = false
	if !reflect.DeepEqual(dry, got) {
		t.Errorf("the dry run told\n%+v\nand it became\n%+v", dry, got)
	}
	sameContents(t, from, to, "ext-1")
	want := []Left{
		{Kind: "node", Name: "agent-1", Reason: reasonAgent}, {Kind: "service", Name: "web", Node: "agent-1", Reason: reasonAgent},
		{Kind: "query", Name: "bound", Reason: "it belongs to a session, which is not carried over"},
		{Kind: "query", Name: "secret", Reason: "its token is hidden from the token that is used here: give one with acl:write"},
		{Kind: "session", Count: 2, Reason: reasonSession},
	}
	if !reflect.DeepEqual(got.Left[:5], want) || got.Left[5].Kind != "ACL token" || !strings.Contains(got.Left[5].Reason, "Permission denied") ||
		got.Left[6].Kind != "config entry service-defaults" || len(got.Left) != 7 {
		t.Errorf("left: %+v", got.Left)
	}
	again := run(t, &HTTPSource{From: source}, target, Options{})
	if again.Keys != (Counts{Unchanged: 305}) || again.Checks != (Counts{Unchanged: 2}) || again.Queries != (Counts{Unchanged: 2}) ||
		again.Nodes != (Counts{Unchanged: 1}) || again.Services != (Counts{Unchanged: 1}) {
		t.Errorf("a second time: %+v", again)
	}
}

func TestConflicts(t *testing.T) {
	from, source := consul(t)
	to, target := consul(t)
	to.set("app/001", []byte("newer"), 0)
	to.set("large", []byte("small"), 0)
	to.checks["ext-1"]["up"]["Status"] = "critical"
	to.nodes["ext-1"]["Address"] = "10.9.9.9"
	to.queries[0]["DNS"] = Object{"TTL": "99s"}
	got := run(t, &HTTPSource{From: source}, target, Options{})
	if got.Keys != (Counts{Unchanged: 303, Conflicts: 2}) || got.Checks != (Counts{Unchanged: 1, Conflicts: 1}) ||
		got.Nodes != (Counts{Conflicts: 1}) || got.Queries != (Counts{Unchanged: 1, Conflicts: 1}) || got.Clean() || len(got.Conflicts) != 5 {
		t.Fatalf("%+v", got)
	}
	if string(to.keys["app/001"].Value) != "newer" {
		t.Fatal("overwritten")
	}
	got = run(t, &HTTPSource{From: source}, target, Options{Overwrite: true})
	if got.Keys != (Counts{Unchanged: 303, Updated: 2}) || got.Nodes != (Counts{Updated: 1}) || got.Queries != (Counts{Unchanged: 1, Updated: 1}) || !got.Clean() {
		t.Fatalf("%+v", got)
	}
	sameContents(t, from, to, "ext-1")
	from.nodes["refused"] = Object{"Node": "refused", "Address": "1.2.3.4"}
	from.nodes["agent-1"], from.checks["agent-1"] = Object{"Node": "agent-1", "Address": "1.2.3.4"}, nil // here no agent has it
	got = run(t, &HTTPSource{From: source}, target, Options{Overwrite: true})
	if got.Nodes != (Counts{Unchanged: 1, Failed: 1, Conflicts: 1}) || len(got.Failures) != 1 || !strings.Contains(got.Failures[0].Reason, "invalid node name") {
		t.Fatalf("%+v", got)
	}
}

// TestResume: an import that was cut off goes on, and comes to the same.
func TestResume(t *testing.T) {
	from, source := consul(t)
	to, target := newRegistry(t)
	file := filepath.Join(t.TempDir(), "state")
	options := Options{StateFile: file, From: "a", To: "b", Workers: 1}
	ctx, cancel := context.WithCancelCause(context.Background())
	txns := 0
	to.hook = func(path string) {
		to.mu.Lock()
		defer to.mu.Unlock()
		if txns += strings.Count(path, "txn"); txns == 9 {
			cancel(errors.New("killed"))
		}
	}
	if _, err := NewImporter(target, options, nil).Run(ctx, &HTTPSource{From: source, Batch: 16}); err == nil {
		t.Fatal("not cut off")
	}
	to.hook = nil
	state, err := ReadState(file, "a", "b")
	if err != nil || state == nil || !state.Position.Queries || state.Position.After == "" {
		t.Fatalf("%+v %v", state, err)
	}
	got, err := NewImporter(target, options, state).Run(context.Background(), &HTTPSource{From: source, Batch: 16})
	if err != nil || !got.Resumed || !got.Clean() || got.Queries.Created != 2 {
		t.Fatalf("%+v %v", got, err)
	}
	if n := got.Keys.Created + got.Keys.Unchanged; n < 305 || n > 305+2*16 { // what was under way is told twice
		t.Errorf("%+v", got.Keys)
	}
	sameContents(t, from, to, "ext-1")
	if _, err := ReadState(file, "a", "c"); err == nil {
		t.Error("the state of another migration was taken")
	}
}

// TestFileRoundTrip: what is exported and imported elsewhere is the same, and exports
// again as the same bytes.
func TestFileRoundTrip(t *testing.T) {
	from, source := consul(t)
	to, target := newRegistry(t)
	first := export(t, &HTTPSource{From: source})
	got := run(t, &FileSource{From: bytes.NewReader(first)}, target, Options{})
	if got.Keys.Created != 305 || got.Nodes.Created != 1 || got.Queries.Created != 2 || got.Locks != 1 || len(got.Left) != 7 || !got.Clean() {
		t.Fatalf("%+v", got)
	}
	sameContents(t, from, to, "ext-1")
	if second := export(t, &FileSource{From: bytes.NewReader(first)}); !bytes.Equal(first, second) {
		t.Errorf("read and written again it differs:\n%s\n%s", first[:500], second[:500])
	}
	half := run(t, &FileSource{From: bytes.NewReader(first)}, target, Options{})
	if half.Keys.Unchanged != 305 || half.Checks.Unchanged != 2 {
		t.Fatalf("%+v", half)
	}
	from.nodes = map[string]Object{}
	from.queries, from.keys = nil, map[string]*entry{}
	if r := run(t, &FileSource{From: bytes.NewReader(export(t, &HTTPSource{From: source}))}, target, Options{}); r.Keys != (Counts{}) || !r.Done {
		t.Fatalf("empty: %+v", r)
	}
}

func export(t testing.TB, from Source) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := NewFileWriter(&out, "dc1", time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	if err := from.Walk(context.Background(), Position{}, w); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestFileErrors(t *testing.T) {
	head := `{"kind":"export","format":1}` + "\n"
	for name, c := range map[string]struct{ in, want string }{
		"empty":          {"", "ends too early"},
		"another file":   {`{"kind":"key","key":{"key":"a","value":""}}`, "not an export"},
		"newer":          {`{"kind":"export","format":2}`, "format 2"},
		"no JSON":        {head + "x", "line 2"},
		"unknown kind":   {head + `{"kind":"x"}`, `unknown kind "x"`},
		"unknown field":  {head + `{"kind":"key","key":{"key":"a","valeu":""}}`, "valeu"},
		"no key":         {head + `{"kind":"key"}`, "lacks"},
		"cut off":        {head + `{"kind":"key","key":{"key":"a","value":""}}`, "ends too early"},
		"count":          {head + `{"kind":"end","records":3}`, "the end says 3"},
		"order":          {head + `{"kind":"key","key":{"key":"a","value":""}}` + "\n" + `{"kind":"node","node":{"Node":"n"}}`, "out of order"},
		"stray service":  {head + `{"kind":"service","node_name":"n","service":{"ID":"a","Service":"a"}}`, "not the one before"},
		"not UTF-8":      {head + "{\"kind\":\"\xff\"}", "UTF-8"},
		"two on a line":  {head + `{"kind":"end","records":0} {}`, "more than one"},
		"another header": {head + head, "in the middle"},
	} {
		_, target := newRegistry(t)
		_, err := NewImporter(target, Options{}, nil).Run(context.Background(), &FileSource{From: strings.NewReader(c.in)})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// FuzzFile: no bytes make the reader panic, and what it takes is read the same again
// from what is written of it.
func FuzzFile(f *testing.F) {
	_, source := consul(f)
	source.Patience = time.Second
	whole := export(f, &HTTPSource{From: source})
	f.Add(whole[:min(len(whole), 4000)])
	f.Add([]byte(`{"kind":"export","format":1}` + "\n" + `{"kind":"node","node":{"Node":"n","Meta":{"a":1.50}}}` + "\n" +
		`{"kind":"check","node_name":"n","check":{"CheckID":"c"}}` + "\n" + `{"kind":"key","key":{"key":"a","value":"AA=="}}` + "\n" + `{"kind":"end","records":3}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		w, err := NewFileWriter(io.Discard, "", time.Unix(0, 0))
		if err != nil {
			t.Fatal(err)
		}
		if (&FileSource{From: bytes.NewReader(in)}).Walk(context.Background(), Position{}, w) != nil {
			return
		}
		once := exportOf(t, in)
		if twice := exportOf(t, once); !bytes.Equal(once, twice) {
			t.Fatalf("read again it differs:\n%s\n%s", once, twice)
		}
	})
}

func exportOf(t testing.TB, in []byte) []byte {
	return export(t, &FileSource{From: bytes.NewReader(in)})
}

func TestReportText(t *testing.T) {
	_, source := consul(t)
	_, target := newRegistry(t)
	r := run(t, &HTTPSource{From: source}, target, Options{})
	var out strings.Builder
	if err := r.WriteText(&out, func(s string) string { return s }); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Keys      305        0          0          0       0", "1 keys were held as locks",
		"service web on node agent-1: an agent owns it", "session (2): sessions are not carried over"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
	if _, err := json.Marshal(r); err != nil {
		t.Fatal(err)
	}
}
