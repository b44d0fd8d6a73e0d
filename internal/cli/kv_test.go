package cli

import (
	"os"
	"path/filepath"
	"testing"
)

func TestKV(t *testing.T) {
	pair := map[string]any{"Key": "app/a", "Value": "djE=", "Flags": 7, "CreateIndex": 3, "ModifyIndex": 4, "LockIndex": 0}
	other := map[string]any{"Key": "app/%2F//b", "Value": nil, "Flags": 0, "CreateIndex": 5, "ModifyIndex": 5, "LockIndex": 0}
	a := newFake(t, map[string]any{
		"GET /v1/kv/app/a":    []any{pair},
		"GET /v1/kv/app/":     []any{pair, other},
		"GET /v1/kv/":         []any{pair, other},
		"PUT /v1/kv/app/a":    true,
		"PUT /v1/kv/app/held": false,
		"DELETE /v1/kv/app/a": true,
		"DELETE /v1/kv/app/":  true,
	})
	muster("kv", "get", "app/a").want(t, 0, "v1\n")
	muster("kv", "get", "-base64", "app/a").want(t, 0, "djE=\n")
	muster("kv", "get", "-recurse", "app/").want(t, 0, "app/a:v1\napp/%2F//b:\n")
	muster("kv", "get", "-detailed", "app/a").want(t, 0, `CreateIndex      3
Flags            7
Key              app/a
LockIndex        0
ModifyIndex      4
Session          -
Value            v1
`)
	muster("kv", "put", "app/a", "v1").want(t, 0, "Success! Data written to: app/a\n")
	if got := a.asked[len(a.asked)-1]; got != "PUT /v1/kv/app/a v1" {
		t.Errorf("asked %q", got)
	}
	muster("kv", "put", "-cas", "-modify-index=4", "app/held", "x").wantError(t, "the key has changed")
	muster("kv", "put", "-acquire", "app/a").wantError(t, "need -session")
	muster("kv", "put", "a", "b", "c").wantError(t, "quote values")
	muster("kv", "put", "-base64", "app/a", "***").wantError(t, "not base64")
	muster("kv", "get").wantError(t, "the KEY is missing")
	muster("kv", "delete", "app/a").want(t, 0, "Success! Deleted key: app/a\n")
	muster("kv", "delete", "-recurse", "app/").want(t, 0, "Success! Deleted keys with prefix: app/\n")
	muster("kv", "delete", "-cas", "app/a").wantError(t, "-modify-index")

	export := "[\n\t{\n\t\t\"key\": \"app/%2F//b\",\n\t\t\"flags\": 0,\n\t\t\"value\": \"\"\n\t},\n\t{\n\t\t\"key\": \"app/a\",\n\t\t\"flags\": 7,\n\t\t\"value\": \"djE=\"\n\t}\n]\n"
	muster("kv", "export").want(t, 0, export)
	file := filepath.Join(t.TempDir(), "export.json")
	if err := os.WriteFile(file, []byte(`[{"key": "app/a", "flags": 7, "value": "djE="}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	muster("kv", "import", "@"+file).want(t, 0, "Imported: app/a\n")
	if got := a.asked[len(a.asked)-1]; got != "PUT /v1/kv/app/a?flags=7 v1" {
		t.Errorf("import asked %q", got)
	}
	muster("kv", "import", `[{"key": "a", "valeu": "x"}]`).wantError(t, "valeu")
	muster("kv", "import", `[{"value": "djE="}]`).wantError(t, "no key")
}
