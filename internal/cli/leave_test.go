package cli

import "testing"

func TestLeaveReloadInfo(t *testing.T) {
	a := newFake(t, map[string]any{
		"PUT /v1/agent/leave":  nil,
		"PUT /v1/agent/reload": nil,
		"GET /v1/agent/self":   map[string]any{"Stats": map[string]any{"raft": map[string]string{"term": "2", "state": "Leader"}, "agent": map[string]string{"checks": "1"}}},
	})
	muster("leave").want(t, 0, "Graceful leave complete\n")
	muster("reload").want(t, 0, "Configuration reload triggered\n")
	muster("info").want(t, 0, "agent:\n\tchecks = 1\nraft:\n\tstate = Leader\n\tterm = 2\n")
	if len(a.asked) != 3 || a.asked[0] != "PUT /v1/agent/leave" {
		t.Errorf("asked %v", a.asked)
	}
	newFake(t, nil)
	for _, c := range []string{"leave", "reload", "info"} {
		muster(c).wantError(t, "HTTP status 404")
	}
}
