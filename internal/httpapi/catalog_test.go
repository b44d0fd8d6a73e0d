package httpapi

import (
	"testing"

	"github.com/muster-discovery/muster/internal/model"
)

func TestCatalogWrites(t *testing.T) {
	k := newKit(t)
	w := k.do("PUT", "/v1/catalog/register", `{"node":"w1","Address":"10.1.0.1"}`, "Content-Type", "text/plain", "Authorization", "Bearer s")
	if w.Code != 200 || w.Body.String() != "true" || header1(w, "Content-Type") != "application/json" || header1(w, "X-Consul-Index") != "(absent)" {
		t.Errorf("%d %q %v", w.Code, w.Body, w.Header())
	}
	if k.catalog.caller.Token != "s" || k.catalog.caller.Source != "http" || k.catalog.registered.Datacenter != "dc1" {
		t.Errorf("%+v %+v", k.catalog.caller, k.catalog.registered)
	}
	k.do("PUT", "/v1/catalog/deregister?dc=dc2", `{"Datacenter":"dc3","Node":"w1","ServiceID":"a"}`)
	if d := k.catalog.deregistered; *d != (model.Deregistration{Datacenter: "dc2", Node: "w1", ServiceID: "a"}) {
		t.Errorf("%+v", d)
	}

	k.catalog.registered, k.catalog.deregistered = nil, nil
	for _, path := range []string{"/v1/catalog/register", "/v1/catalog/deregister"} {
		for _, body := range []string{`{`, ``, `[1]`, `"x"`, `{"Node":5}`, `{"Node":"w1","Unknown":1}`, `{"Node":"w1","Namespace":"team1"}`, `{"Node":"w1"} {}`} {
			if w := k.do("PUT", path, body); w.Code != 400 || len(w.Body.String()) <= len("Request decode failed: ") {
				t.Errorf("%s %s: %d %q", path, body, w.Code, w.Body)
			}
		}
	}
	if k.catalog.registered != nil || k.catalog.deregistered != nil {
		t.Error("a broken body got through")
	}
}

// TestStatuses: the table from error kinds to HTTP, on this agent and from the
// servers.
func TestStatuses(t *testing.T) {
	for kind, want := range map[model.ErrorKind][2]int{
		model.KindInternal: {500, 500}, model.KindInvalid: {400, 500}, model.KindNotFound: {404, 404}, model.KindDenied: {403, 403},
		model.KindConflict: {409, 500}, model.KindTooLarge: {413, 413}, model.KindNotLeader: {500, 500}, model.KindNoLeader: {500, 500},
		model.KindNoQuorum: {500, 500}, model.KindUnavailable: {503, 503}, model.KindUncertain: {500, 500}, model.KindLimit: {429, 429},
		model.KindNoPath: {500, 500}, 99: {500, 500},
	} {
		k := newKit(t)
		k.local.err = model.Errorf(kind, "text")
		k.catalog.err = k.local.err
		edge := k.do("PUT", "/v1/agent/check/pass/x", "")
		rpc := k.do("PUT", "/v1/catalog/register", "{}")
		if edge.Code != want[0] || rpc.Code != want[1] || edge.Body.String() != "text" || rpc.Body.String() != "text" {
			t.Errorf("kind %d: %d %q, %d %q", kind, edge.Code, edge.Body, rpc.Code, rpc.Body)
		}
	}
}
