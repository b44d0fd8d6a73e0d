package cli

import "testing"

func TestMaint(t *testing.T) {
	a := newFake(t, map[string]any{
		"PUT /v1/agent/maintenance":                               nil,
		"PUT /v1/agent/service/maintenance/web":                   nil,
		"PUT /v1/agent/service/maintenance/http:%2F%2Fx.test%2Fa": nil,
		"GET /v1/agent/self":                                      map[string]any{"Config": map[string]any{"NodeName": "n1"}},
		"GET /v1/agent/checks": map[string]any{
			"_node_maintenance":        map[string]any{"CheckID": "_node_maintenance", "Notes": "new disk"},
			"_service_maintenance:web": map[string]any{"CheckID": "_service_maintenance:web", "ServiceID": "web", "Notes": "update"},
			"ttl":                      map[string]any{"CheckID": "ttl"},
		},
	})
	muster("maint").want(t, 0, "Node:\n  Name:   n1\n  Reason: new disk\n\nService:\n  ID:     web\n  Reason: update\n\n")
	for _, c := range []struct{ args, out, asked string }{
		{"-enable", "Node maintenance is now enabled\n", "PUT /v1/agent/maintenance?enable=true&reason="},
		{"-disable", "Node maintenance is now disabled\n", "PUT /v1/agent/maintenance?enable=false"},
		{"-enable -service=web -reason=x", "Service maintenance is now enabled for \"web\"\n", "PUT /v1/agent/service/maintenance/web?enable=true&reason=x"},
		{"-disable -service=http://x.test/a", "Service maintenance is now disabled for \"http://x.test/a\"\n", "PUT /v1/agent/service/maintenance/http:%2F%2Fx.test%2Fa?enable=false"},
	} {
		muster(words("maint "+c.args)...).want(t, 0, c.out)
		if got := a.asked[len(a.asked)-1]; got != c.asked {
			t.Errorf("%s asked %q, want %q", c.args, got, c.asked)
		}
	}
	for args, want := range map[string]string{
		"-enable -disable":           "only one of -enable and -disable",
		"-disable -reason=x":         "-reason may only be given with -enable",
		"-service=web":               "-service needs -enable or -disable",
		"-enable -service=other":     "changing maintenance mode: no such thing here",
		"web":                        `unexpected argument "web"`,
		"-enable -servcie=web":       "Did you mean -service?",
		"-enable -partition=billing": "an enterprise feature",
	} {
		muster(words("maint "+args)...).wantError(t, want)
	}
}
