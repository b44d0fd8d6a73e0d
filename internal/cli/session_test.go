package cli

import "testing"

func TestSession(t *testing.T) {
	full := map[string]any{"ID": "5e55", "Name": "nightly", "Node": "n1", "TTL": "30s", "Behavior": "delete", "LockDelay": 15000000000,
		"NodeChecks": []string{"serfHealth"}, "ServiceChecks": []any{map[string]any{"ID": "web"}}, "CreateIndex": 4, "ModifyIndex": 4}
	bare := map[string]any{"ID": "6e66", "Node": "n2", "Behavior": "release"}
	a := newFake(t, map[string]any{
		"PUT /v1/session/create":       map[string]any{"ID": "5e55"},
		"GET /v1/session/list":         []any{full, bare},
		"GET /v1/session/node/n2":      []any{bare},
		"GET /v1/session/info/5e55":    []any{full},
		"GET /v1/session/info/none":    []any{},
		"PUT /v1/session/renew/5e55":   []any{full},
		"PUT /v1/session/destroy/5e55": true,
	})
	for args, asked := range map[string]string{
		"":                               `PUT /v1/session/create {"Behavior":"release","LockDelay":"15000ms"}`,
		"-name=n -ttl=30s -lock-delay=0": `PUT /v1/session/create {"Behavior":"release","LockDelay":"1ms","Name":"n","TTL":"30s"}`,
		"-node=n2 -behavior=delete -node-check=serfHealth -service-check=web": `PUT /v1/session/create {"Behavior":"delete","LockDelay":"15000ms","Node":"n2","NodeChecks":["serfHealth"],"ServiceChecks":[{"ID":"web","Namespace":""}]}`,
		"-no-checks": `PUT /v1/session/create {"Behavior":"release","LockDelay":"15000ms","NodeChecks":[]}`,
	} {
		muster(words("session create "+args)...).want(t, 0, "5e55\n")
		if got := a.asked[len(a.asked)-1]; got != asked {
			t.Errorf("create %s asked\n%s\nwant\n%s", args, got, asked)
		}
	}
	muster("session", "create", "-format=json").want(t, 0, "{\n    \"ID\": \"5e55\"\n}\n")
	table := "ID    Node  TTL  Behavior  Name\n"
	muster("session", "list").want(t, 0, table+"5e55  n1    30s  delete    nightly\n6e66  n2    -    release   -\n")
	muster("session", "list", "-node=n2").want(t, 0, table+"6e66  n2    -    release   -\n")
	details := `ID               5e55
Name             nightly
Node             n1
TTL              30s
Behavior         delete
LockDelay        15s
NodeChecks       serfHealth
ServiceChecks    web
CreateIndex      4
`
	muster("session", "info", "5e55").want(t, 0, details)
	muster("session", "renew", "5e55").want(t, 0, details)
	muster("session", "destroy", "5e55").want(t, 0, "Success! Destroyed session: 5e55\n")
	for _, args := range []string{"list", "info 5e55", "renew 5e55"} {
		line := words("session " + args)
		if r := muster(append(line[:2:2], append([]string{"-format=json"}, line[2:]...)...)...); r.code != 0 || r.out[0] != '[' && r.out[0] != '{' {
			t.Errorf("%s as JSON: %+v", args, r)
		}
	}
	for args, want := range map[string]string{
		"info none":                          "No session exists with id: none",
		"renew none":                         "No session exists",
		"info":                               "it takes one ID",
		"destroy":                            "it takes one ID",
		"destroy other":                      "no such thing here",
		"list -format=xml":                   "want pretty or json",
		"create -no-checks -node-check":      "needs an argument",
		"create -no-checks -service-check=x": "-no-checks can't be used with checks",
		"lst":                                `Did you mean "session list"?`,
	} {
		muster(words("session "+args)...).wantError(t, want)
	}
}
