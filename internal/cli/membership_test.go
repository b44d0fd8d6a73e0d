package cli

import (
	"slices"
	"testing"
)

func TestJoin(t *testing.T) {
	a := newFake(t, map[string]any{
		"PUT /v1/agent/join/10.0.0.1":           nil,
		"PUT /v1/agent/join/10.0.0.2:8301":      nil,
		"PUT /v1/agent/join/%5Bfd00::1%5D:8301": nil,
	})
	muster("join", "10.0.0.1", "10.0.0.2:8301").want(t, 0, "Successfully joined cluster by contacting 2 nodes.\n")
	muster("join", "-wan", "[fd00::1]:8301").want(t, 0, "Successfully joined cluster by contacting 1 nodes.\n")
	if got := a.asked[2]; got != "PUT /v1/agent/join/%5Bfd00::1%5D:8301?wan=1" {
		t.Errorf("asked %q", got)
	}
	muster("join", "10.0.0.1", "other").wantError(t, "joining address 'other'", "Failed to join some nodes.")
	muster("join", "other").wantError(t, "Failed to join any nodes.")
	muster("join").wantError(t, "at least one address")
}

func TestForceLeave(t *testing.T) {
	a := newFake(t, map[string]any{"PUT /v1/agent/force-leave/n2": nil})
	muster("force-leave", "n2").want(t, 0, "")
	muster("force-leave", "-prune", "-wan", "n2").want(t, 0, "")
	if want := []string{"PUT /v1/agent/force-leave/n2", "PUT /v1/agent/force-leave/n2?prune=1&wan=1"}; !slices.Equal(a.asked, want) {
		t.Errorf("asked %v", a.asked)
	}
	muster("force-leave", "n3").wantError(t, "force leaving: no such thing here (HTTP status 404)")
	muster("force-leave").wantError(t, "a single node name")
	muster("force-leave", "a", "b").wantError(t, "a single node name")
}
