package cli

import (
	"os"
	"path/filepath"
	"testing"
)

func TestEvent(t *testing.T) {
	event := map[string]any{"ID": "b54fe110", "Name": "deploy", "Payload": "MS40LjI=", "Version": 1, "LTime": 19}
	a := newFake(t, map[string]any{
		"PUT /v1/event/fire/deploy": event,
		"GET /v1/event/list":        []any{event, map[string]any{"ID": "c1", "Name": "a\nb", "LTime": 20}},
	})
	file := filepath.Join(t.TempDir(), "payload")
	if err := os.WriteFile(file, []byte("from a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	for args, asked := range map[string]string{
		"-name=deploy 1.4.2":                                   "PUT /v1/event/fire/deploy 1.4.2",
		"-name=deploy @" + file:                                "PUT /v1/event/fire/deploy from a file",
		"-name=deploy -node=n.* -service=web -tag=v1":          "PUT /v1/event/fire/deploy?node=n.%2A&service=web&tag=v1",
		"-name=deploy -datacenter=dc2 -token=secret -node=^a$": "PUT /v1/event/fire/deploy?dc=dc2&node=%5Ea%24",
	} {
		muster(words("event "+args)...).want(t, 0, "Event ID: b54fe110\n")
		if got := a.asked[len(a.asked)-1]; got != asked {
			t.Errorf("%s asked %q, want %q", args, got, asked)
		}
	}
	muster("event", "-list").want(t, 0, "ID        Name    LTime  Payload\nb54fe110  deploy  19     1.4.2\nc1        \"a\\nb\"  20     \n")
	if r := muster("event", "-list", "-name=deploy", "-format=json"); r.code != 0 || a.asked[len(a.asked)-1] != "GET /v1/event/list?name=deploy" {
		t.Errorf("%+v, asked %q", r, a.asked)
	}
	for args, want := range map[string]string{
		"x":                      "-name is missing",
		"-name=x a b":            "quote one with spaces",
		"-name=x -node=(":        "not a regular expression",
		"-name=x -tag=v1":        "-tag needs -service",
		"-list x":                "-list takes no PAYLOAD",
		"-list -node=x":          "-list takes no filter",
		"-name=other":            "firing the event: no such thing here",
		"-list -format=yaml":     "want pretty or json",
		"-name=x @/no/such/file": "no such file",
	} {
		muster(words("event "+args)...).wantError(t, want)
	}
}
