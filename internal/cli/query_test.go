package cli

import "testing"

func TestQuery(t *testing.T) {
	def := map[string]any{"ID": "8f24", "Name": "web", "Service": map[string]any{"Service": "web", "OnlyPassing": true}}
	template := map[string]any{"ID": "9a35", "Name": "geo-", "Service": map[string]any{"Service": "${match(1)}"}, "Template": map[string]any{"Type": "name_prefix_match"}}
	instance := func(address string) map[string]any {
		return map[string]any{"Node": map[string]any{"Node": "n1", "Address": "10.0.0.1"}, "Service": map[string]any{"ID": "web-1", "Address": address, "Port": 80}}
	}
	a := newFake(t, map[string]any{
		"GET /v1/query":               []any{def, template},
		"GET /v1/query/8f24":          []any{def},
		"GET /v1/query/web/execute":   map[string]any{"Service": "web", "Nodes": []any{instance(""), instance("::1")}},
		"GET /v1/query/geo-x/explain": map[string]any{"Query": def},
		"POST /v1/query":              map[string]any{"ID": "8f24"},
		"PUT /v1/query/8f24":          nil,
		"DELETE /v1/query/8f24":       nil,
	})
	muster("query", "list").want(t, 0, "ID    Name  Service      Template\n8f24  web   web          -\n9a35  geo-  ${match(1)}  name_prefix_match\n")
	muster("query", "execute", "web").want(t, 0, "Node  ID     Address\nn1    web-1  10.0.0.1:80\nn1    web-1  [::1]:80\n")
	muster("query", "create", `{"Name": "web", "Service": {"Service": "web"}}`).want(t, 0, "8f24\n")
	muster("query", "create", "-format=json", `{"Service": {"Service": "web"}}`).want(t, 0, "{\n    \"ID\": \"8f24\"\n}\n")
	muster("query", "update", `{"ID": "8f24", "Service": {"Service": "web"}}`).want(t, 0, "Success! Updated query: 8f24\n")
	muster("query", "delete", "8f24").want(t, 0, "Success! Deleted query: 8f24\n")
	// What read prints is what update takes.
	read := muster("query", "read", "8f24")
	if read.code != 0 {
		t.Fatalf("%+v", read)
	}
	muster("query", "update", read.out).want(t, 0, "Success! Updated query: 8f24\n")
	if explained := muster("query", "explain", "geo-x"); explained.code != 0 || explained.out != read.out {
		t.Errorf("%+v", explained)
	}
	for _, args := range [][]string{{"list", "-format=json"}, {"execute", "-format=json", "web"}} {
		if r := muster(append([]string{"query"}, args...)...); r.code != 0 || r.out[0] != '[' && r.out[0] != '{' {
			t.Errorf("%v: %+v", args, r)
		}
	}
	asked := len(a.asked)
	for args, want := range map[string]string{
		"read":                               "it takes one ID",
		"create":                             "it takes one DEFINITION",
		"create {":                           "the definition: unexpected EOF",
		`create {"Nmae":"x"}`:                `unknown field "Nmae"`,
		"create @/no/such/file":              "no such file",
		`update {"Service":{"Service":"x"}}`: "the definition has no ID",
		"list -format=xml":                   "want pretty or json",
		"lsit":                               `Did you mean "query list"?`,
	} {
		muster(words("query "+args)...).wantError(t, want)
	}
	if len(a.asked) != asked {
		t.Errorf("mistakes were sent: %q", a.asked[asked:])
	}
	muster("query", "delete", "none").wantError(t, "no such thing here")
}
