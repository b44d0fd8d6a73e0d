package cli

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func sent(t *testing.T, a *fakeAgent) map[string]any {
	t.Helper()
	_, body, _ := strings.Cut(a.asked[len(a.asked)-1], "{")
	var m map[string]any
	if err := json.Unmarshal([]byte("{"+body), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestRegisterByFlags(t *testing.T) {
	a := newFake(t, map[string]any{"PUT /v1/agent/service/register": nil})
	muster("services", "register", "-name=web", "-id=web-1", "-port=80", "-address=10.0.0.1", "-tag=a", "-tag=b", "-meta=k=v", "-tagged-address=wan=192.0.2.1:8080").
		want(t, 0, "Registered service: web\n")
	got := sent(t, a)
	for key, want := range map[string]any{
		"ID": "web-1", "Name": "web", "Port": 80.0, "Address": "10.0.0.1",
		"Tags": []any{"a", "b"}, "Meta": map[string]any{"k": "v"},
		"TaggedAddresses": map[string]any{"wan": map[string]any{"Address": "192.0.2.1", "Port": 8080.0}},
	} {
		if !reflect.DeepEqual(got[key], want) {
			t.Errorf("%s is %v, want %v", key, got[key], want)
		}
	}
}

func TestRegisterByFile(t *testing.T) {
	a := newFake(t, map[string]any{"PUT /v1/agent/service/register": nil})
	path := file(t, "web.hcl", `
services { name = "web" port = 80 check { http = "http://localhost" interval = "10s" } }
services { id = "db-1" name = "db" tagged_addresses { lan { address = "10.0.0.9" port = 5432 } } }`)
	muster("services", "register", path).want(t, 0, "Registered service: web\nRegistered service: db\n")
	if len(a.asked) != 2 || !strings.Contains(a.asked[0], `"Interval":"10s"`) || !strings.Contains(a.asked[1], `"Port":5432`) {
		t.Errorf("asked %v", a.asked)
	}
}

func TestRegisterMistakes(t *testing.T) {
	newFake(t, nil)
	muster("services", "register").wantError(t, "-name")
	muster("services", "register", "-name=x", "web.hcl").wantError(t, "not both")
	muster("services", "register", "nofile.hcl").wantError(t, "nofile.hcl: no such file")
	muster("services", "register", file(t, "e.json", "{}")).wantError(t, "no service is defined in")
	muster("services", "register", file(t, "b.json", `{"service": {"nam": "x"}}`)).wantError(t, `did you mean "name"?`)
	muster("services", "register", "-name=x", "-meta=novalue").wantError(t, "want key=value")
	muster("services", "register", "-name=x", "-tagged-address=wan=a:b:c").wantError(t, "want address:port")
	muster("services", "register", "-name=x").wantError(t, `registering service "x": no such thing here`)
}

func TestServiceAddress(t *testing.T) {
	for in, want := range map[string]string{"10.0.0.1": "10.0.0.1 7", "10.0.0.1:8": "10.0.0.1 8", "[::1]:8": "::1 8", "::1": "::1 7", "[::1]": "::1 7", "host": "host 7", "h:99999": "", "h:x": ""} {
		got := ""
		if a, err := serviceAddress(in, 7); err == nil {
			got = strings.TrimSpace(a.Address) + " " + string(rune('0'+a.Port))
		}
		if got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestDeregister(t *testing.T) {
	a := newFake(t, map[string]any{
		"PUT /v1/agent/service/deregister/web":                   nil,
		"PUT /v1/agent/service/deregister/http:%2F%2Fx.test%2Fa": nil,
	})
	muster("services", "deregister", "-id=web").want(t, 0, "Deregistered service: web\n")
	// An id may be a URL; its slashes are not part of the path.
	muster("services", "deregister", "-id=http://x.test/a").want(t, 0, "Deregistered service: http://x.test/a\n")
	muster("services", "deregister", file(t, "s.json", `{"service": {"name": "web"}}`)).want(t, 0, "Deregistered service: web\n")
	muster("services", "deregister", "-id=other").wantError(t, `deregistering service "other"`)
	muster("services", "deregister").wantError(t, "give -id")
	muster("services", "deregister", "-id=a", "f.hcl").wantError(t, "not both")
	if len(a.asked) != 4 {
		t.Errorf("asked %v", a.asked)
	}
}
