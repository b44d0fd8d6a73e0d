package cli

import (
	"net/http"
	"testing"
)

func TestKVFence(t *testing.T) {
	a := newFake(t, map[string]any{"PUT /v1/kv/job/state": true, "DELETE /v1/kv/job/state": true})
	muster("kv", "put", "-fence=17", "-fence-key=job/.lock", "-flags=3", "job/state", "x").want(t, 0, "Success! Data written to: job/state\n")
	if got := a.asked[0]; got != "PUT /v1/kv/job/state?fence=17&fence-key=job%2F.lock&flags=3 x" {
		t.Errorf("asked %q", got)
	}
	muster("kv", "delete", "-fence=17", "-fence-key=job/.lock", "job/state").want(t, 0, "Success! Deleted key: job/state\n")
	if got := a.asked[1]; got != "DELETE /v1/kv/job/state?fence=17&fence-key=job%2F.lock" {
		t.Errorf("asked %q", got)
	}
	a.handlers = map[string]http.HandlerFunc{"/v1/kv/job/state": func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "fencing token 17 for lock \"job/.lock\" is not the latest, which is 18", http.StatusConflict)
	}}
	muster("kv", "put", "-fence=17", "-fence-key=job/.lock", "job/state", "x").wantError(t, "is not the latest, which is 18")
	muster("kv", "put", "-fence=17", "job/state", "x").wantError(t, "must be given together")
	muster("kv", "delete", "-fence=abc", "-fence-key=x", "job/state").wantError(t, "-fence is not a fencing token")
}
