package cli

import (
	"strings"
	"testing"
)

func historyAnswer() []any {
	return []any{
		map[string]any{"Index": 30, "Time": "2026-01-02T03:04:07Z", "Accessor": "acc", "Source": "http", "Operation": "set", "Flags": 1, "Size": 12, "Value": "b25lCnR3bwp0aHJlZQ=="},
		map[string]any{"Index": 20, "Time": "2026-01-02T03:04:06Z", "Source": "http", "Operation": "delete", "Deleted": true},
		map[string]any{"Index": 10, "Time": "2026-01-02T03:04:05Z", "Source": "http", "Operation": "set", "Txn": true, "Flags": 1, "Size": 8, "Value": "b25lCnR3bwo="},
		map[string]any{"Index": 5, "Time": nil, "Operation": "unknown", "Flags": 7, "Size": 2, "Value": "AP8=", "Session": "s"},
	}
}

func TestKVHistory(t *testing.T) {
	a := newFake(t, map[string]any{"GET /muster/v1/kv/history/app/%25a": historyAnswer()})
	muster("kv", "history", "-limit=9", "app/%a").want(t, 0, `Index  Time                  Operation  Size  Flags  Source  Accessor  Session
30     2026-01-02 03:04:07Z  set        12    1      http    acc       -
20     2026-01-02 03:04:06Z  delete     -     0      http    -         -
10     2026-01-02 03:04:05Z  set (txn)  8     1      http    -         -
5      -                     unknown    2     7      -       -         s
`)
	if got := a.asked[0]; got != "GET /muster/v1/kv/history/app/%25a?limit=9&values=false" {
		t.Error(got)
	}
	if out := muster("kv", "history", "-values", "app/%a").out; !strings.Contains(out, `"one\ntwo\nthree"`) {
		t.Error(out)
	}
	if out := muster("kv", "history", "-format=json", "app/%a").out; !strings.Contains(out, `"Operation": "unknown"`) {
		t.Error(out)
	}
	muster("kv", "history", "none").wantError(t, "no such thing here")
	muster("kv", "history", "-limit=-1", "a").wantError(t, "-limit")
}

func TestKVDiff(t *testing.T) {
	newFake(t, map[string]any{"GET /muster/v1/kv/history/k": historyAnswer(), "GET /muster/v1/kv/history/one": historyAnswer()[:1]})
	muster("kv", "diff", "k", "10", "30").want(t, 0, "--- k\t10 2026-01-02 03:04:05Z\n+++ k\t30 2026-01-02 03:04:07Z\n"+
		"@@ -1,2 +1,3 @@\n one\n two\n+three\n\\ No newline at end of file\n")
	muster("kv", "diff", "k", "10").want(t, 0, muster("kv", "diff", "k", "10", "30").out)
	muster("kv", "diff", "k").want(t, 0, "Flags: 0, then 1\n--- k\t20 2026-01-02 03:04:06Z (deleted)\n+++ k\t30 2026-01-02 03:04:07Z\n"+
		"@@ -0,0 +1,3 @@\n+one\n+two\n+three\n\\ No newline at end of file\n")
	muster("kv", "diff", "k", "5", "10").want(t, 0, "Flags: 7, then 1\nk\t5 -: 2 bytes, SHA-256 06eb7d6a69ee19e5fbdf749018d3d2abfa04bcbd1365db312eb86dc7169389b8\n"+
		"k\t10 2026-01-02 03:04:05Z: 8 bytes, SHA-256 c3f9c8c283a2b1f2f1896f27a01cbe3cddc0c9d93f752e4639035a0f5b36f6e8\n")
	muster("kv", "diff", "k", "11").wantError(t, "no revision 11")
	muster("kv", "diff", "k", "x").wantError(t, "not the index")
	muster("kv", "diff", "one").wantError(t, "only one revision")
	muster("kv", "diff", "k", "1", "2", "3").wantError(t, "not 4 arguments")
}

func TestKVRestore(t *testing.T) {
	a := newFake(t, map[string]any{
		"GET /muster/v1/kv/history/k": historyAnswer(), "PUT /v1/kv/k": true,
		"GET /muster/v1/kv/history/gone": historyAnswer()[1:], "PUT /v1/kv/gone": false,
	})
	last := func() string { return a.asked[len(a.asked)-1] }
	muster("kv", "restore", "-index=10", "k").want(t, 0, "Success! Restored k to revision 10\n")
	if last() != "PUT /v1/kv/k?cas=30&flags=1 one\ntwo" {
		t.Errorf("%q", last())
	}
	muster("kv", "restore", "-index=10", "-force", "k").want(t, 0, "Success! Restored k to revision 10\n")
	if last() != "PUT /v1/kv/k?flags=1 one\ntwo" {
		t.Errorf("%q", last())
	}
	muster("kv", "restore", "-index=10", "gone").wantError(t, "has changed meanwhile")
	if !strings.HasPrefix(last(), "PUT /v1/kv/gone?cas=0&flags=1") {
		t.Errorf("%q", last())
	}
	muster("kv", "restore", "-index=20", "k").wantError(t, "was deleted")
	muster("kv", "restore", "-index=11", "k").wantError(t, "no revision 11")
	muster("kv", "restore", "k").wantError(t, "-index is missing")
}

func TestLineDiff(t *testing.T) {
	number := func(n int) (lines []string) {
		for i := range n {
			lines = append(lines, string(rune('a'+i))+"\n")
		}
		return lines
	}
	a := number(20)
	b := append(append([]string{}, a[:9]...), "new\n")
	b = append(append(b, a[9:17]...), a[18:]...)
	var out strings.Builder
	unified(&out, diffLines(a, b))
	want := "@@ -7,6 +7,7 @@\n g\n h\n i\n+new\n j\n k\n l\n@@ -15,6 +16,5 @@\n o\n p\n q\n-r\n s\n t\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
	long := make([]string, 3000)
	if got := diffLines(long, append([]string{"x"}, make([]string, 1)...)); len(got) == 0 {
		t.Error("nothing")
	}
}
