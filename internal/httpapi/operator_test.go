package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/muster-discovery/muster/internal/apply"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/wire"
)

// fakeOperator is Operator and Keyring by hand; err is every call's.
type fakeOperator struct {
	called  string
	err     error
	healthy bool
}

func (f *fakeOperator) note(format string, args ...any) error {
	f.called = fmt.Sprintf(format, args...)
	return f.err
}

func (f *fakeOperator) Autopilot(stale bool) (*model.Autopilot, error) {
	c := model.DefaultAutopilot()
	c.Create, c.Modify = 4, 9
	return &c, f.note("autopilot %t", stale)
}

func (f *fakeOperator) SetAutopilot(_ context.Context, c apply.Caller, s *model.AutopilotSet) error {
	expect := "-"
	if s.ExpectIndex != nil {
		expect = fmt.Sprint(*s.ExpectIndex)
	}
	return f.note("set %t %v %d %d %v, expect %s, token %q", s.Config.CleanupDeadServers, s.Config.LastContactThreshold,
		s.Config.MaxTrailingLogs, s.Config.MinQuorum, s.Config.ServerStabilizationTime, expect, c.Token)
}

func (f *fakeOperator) AutopilotHealth() (*wire.AutopilotHealth, error) {
	return &wire.AutopilotHealth{Healthy: f.healthy, Servers: []wire.ServerHealth{}}, f.note("health")
}

func (f *fakeOperator) AutopilotState() (*wire.AutopilotState, error) {
	return &wire.AutopilotState{Healthy: true, Servers: map[string]wire.AutopilotServer{}, Leader: "a", Voters: []string{"a"}}, f.note("state")
}

func (f *fakeOperator) Usage() wire.ServiceUsage {
	_ = f.note("usage")
	u := wire.NewServiceUsage()
	for _, i := range []*model.Service{
		{Name: "consul"}, {Name: "web"}, {Name: "web", Connect: model.Connect{Native: true}}, {Name: "p", Kind: model.KindConnectProxy},
	} {
		u.Add(i)
	}
	return u
}

func (f *fakeOperator) RemovePeer(id, address string) error {
	return f.note("remove %s %s", id, address)
}
func (f *fakeOperator) TransferLeadership(id string) error { return f.note("transfer %s", id) }
func (f *fakeOperator) Keys(_ context.Context, relay int) ([]wire.Keyring, error) {
	return []wire.Keyring{{Datacenter: "dc1", Keys: map[string]int{"k": 1}, PrimaryKeys: map[string]int{"k": 1}, NumNodes: 1}}, f.note("keys %d", relay)
}
func (f *fakeOperator) InstallKey(_ context.Context, key string, relay int) error {
	return f.note("install %s %d", key, relay)
}
func (f *fakeOperator) UseKey(_ context.Context, key string, relay int) error {
	return f.note("use %s %d", key, relay)
}
func (f *fakeOperator) RemoveKey(_ context.Context, key string, relay int) error {
	return f.note("remove key %s %d", key, relay)
}

func TestRaftConfiguration(t *testing.T) {
	k := newKit(t)
	w := k.do("GET", "/v1/operator/raft/configuration", "")
	want := `{"Servers":[{"ID":"id-1","Node":"n1","Address":"10.0.0.1:8300","Leader":true,"ProtocolVersion":"3","Voter":true,"LastIndex":7}],"Index":0}`
	if w.Code != http.StatusOK || strings.TrimSpace(w.Body.String()) != want {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	if w := k.do("GET", "/v1/operator/raft/configuration?dc=nowhere", ""); w.Code != http.StatusInternalServerError || w.Body.String() != "No path to datacenter" {
		t.Errorf("another datacenter: %d %s", w.Code, w.Body)
	}
}

func TestOperator(t *testing.T) {
	conflict := model.Errorf(model.KindConflict, "the autopilot configuration is of index 9")
	notLeader := model.Errorf(model.KindNotLeader, "this server is not the leader")
	const raft, pilot, keys = "/v1/operator/raft/", "/v1/operator/autopilot/", "/v1/operator/keyring"
	for _, c := range []struct {
		method, path, body string
		err                error
		status             int
		called, answer     string
	}{
		{"DELETE", raft + "peer?id=a", "", nil, 200, "remove a ", ""},
		{"DELETE", raft + "peer?address=x:1", "", nil, 200, "remove  x:1", ""},
		{"DELETE", raft + "peer", "", nil, 400, "", "Must specify either ?id with the server's ID or ?address with IP:port of peer to remove"},
		{"DELETE", raft + "peer?id=a&address=x:1", "", nil, 400, "", "Must specify only one of ?id or ?address"},
		{"DELETE", raft + "peer?id=a", "", notLeader, 500, "remove a ", "this server is not the leader"},
		{"PUT", raft + "transfer-leader", "", nil, 200, "transfer ", `{"Success":true}`},
		{"POST", raft + "transfer-leader?id=b", "", nil, 200, "transfer b", `{"Success":true}`},
		{"POST", raft + "transfer-leader?id=b", "", notLeader, 500, "transfer b", "this server is not the leader"},

		{"GET", pilot + "configuration?stale", "", nil, 200, "autopilot true", `{"CleanupDeadServers":true,"LastContactThreshold":"200ms","MaxTrailingLogs":250,` +
			`"MinQuorum":0,"ServerStabilizationTime":"10s","RedundancyZoneTag":"","DisableUpgradeMigration":false,"UpgradeVersionTag":"","CreateIndex":4,"ModifyIndex":9}`},
		{"PUT", pilot + "configuration", `{"CleanupDeadServers":false,"LastContactThreshold":"5s","MinQuorum":3,"Later":1}`, nil, 200,
			`set false 5s 250 3 10s, expect -, token ""`, "true"},
		{"PUT", pilot + "configuration?cas=9", `{"ServerStabilizationTime":1000}`, nil, 200, `set true 200ms 250 0 1µs, expect 9, token ""`, "true"},
		{"PUT", pilot + "configuration?cas=1", `{}`, conflict, 200, `set true 200ms 250 0 10s, expect 1, token ""`, "false"},
		{"PUT", pilot + "configuration?cas=abc", `{}`, nil, 400, "", `Error parsing cas value: strconv.ParseUint: parsing "abc": invalid syntax`},
		{"PUT", pilot + "configuration", `{"MaxTrailingLogs":-1}`, nil, 400, "", "Error parsing autopilot config: a number or duration is negative"},
		{"PUT", pilot + "configuration", `{}`, notLeader, 500, `set true 200ms 250 0 10s, expect -, token ""`, "this server is not the leader"},
		{"GET", pilot + "health", "", nil, 429, "health", `{"Healthy":false,"FailureTolerance":0,"Servers":[]}`},
		{"GET", pilot + "health", "", notLeader, 500, "health", "this server is not the leader"},
		{"GET", pilot + "state", "", nil, 200, "state", `{"Healthy":true,"FailureTolerance":0,"OptimisticFailureTolerance":0,"Servers":{},"Leader":"a","Voters":["a"]}`},

		{"GET", "/v1/operator/usage", "", nil, 200, "usage", `{"Usage":{"dc1":{"Nodes":0,"Services":0,"ServiceInstances":4,` +
			`"ConnectServiceInstances":{"api-gateway":0,"connect-native":1,"connect-proxy":1,"ingress-gateway":0,"mesh-gateway":0,` +
			`"terminating-gateway":0},"BillableServiceInstances":2}}}`},

		{"GET", keys, "", nil, 200, "keys 0", `[{"WAN":false,"Datacenter":"dc1","Segment":"","Keys":{"k":1},"PrimaryKeys":{"k":1},"NumNodes":1}]`},
		{"GET", keys + "?relay-factor=3&local-only=true", "", nil, 200, "keys 3", `[{"WAN":false,"Datacenter":"dc1","Segment":"","Keys":{"k":1},"PrimaryKeys":{"k":1},"NumNodes":1}]`},
		{"GET", keys + "?relay-factor=9", "", nil, 400, "", "Invalid relay-factor: Relay factor must be in range: [0, 5]"},
		{"POST", keys, `{"Key":"abc"}`, nil, 200, "install abc 0", ""},
		{"PUT", keys + "?relay-factor=1", `{"Key":"abc"}`, nil, 200, "use abc 1", ""},
		{"DELETE", keys, `{"Key":"abc"}`, model.Errorf(model.KindInvalid, "no"), 500, "remove key abc 0", "no"},
		{"POST", keys + "?local-only=1", `{"Key":"abc"}`, nil, 400, "", "Invalid local-only: it is only for listing the keys"},
	} {
		k := newKit(t)
		f := &fakeOperator{err: c.err}
		k.cfg.Operator, k.cfg.Keyring = f, f
		w := k.do(c.method, c.path, c.body)
		if w.Code != c.status || f.called != c.called || strings.TrimSpace(w.Body.String()) != c.answer {
			t.Errorf("%s %s: %d %s, called %q; want %d %s, %q", c.method, c.path, w.Code, w.Body, f.called, c.status, c.answer, c.called)
		}
	}
}

// TestRemovedServiceMayComeBack: the answer stays as clients know it, with a word about
// what is to be expected.
func TestRemovedServiceMayComeBack(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{`{"Node":"n2","ServiceID":"web"}`, "n2 holds web"},
		{`{"Node":"n2"}`, "n2 holds "},
		{`{"Node":"n2","ServiceID":"web","CheckID":"c"}`, "(absent)"},
		{`{"Node":"external","ServiceID":"web"}`, "(absent)"},
	} {
		k := newKit(t)
		k.cfg.ComesBack = func(node, service string) string {
			if node == "external" {
				return ""
			}
			return node + " holds " + service
		}
		w := k.do("PUT", "/v1/catalog/deregister", c.body)
		if got := header1(w, "X-Muster-Warning"); w.Code != 200 || strings.TrimSpace(w.Body.String()) != "true" || got != c.want {
			t.Errorf("%s: %d %s, warning %q, want %q", c.body, w.Code, w.Body, got, c.want)
		}
	}
}

func TestAccusations(t *testing.T) {
	k := newKit(t)
	k.cfg.Accusations = func() []wire.Accusation {
		return []wire.Accusation{{Accuser: "a", Accused: "b", Kind: "suspected"}}
	}
	want := `[{"Time":"0001-01-01T00:00:00Z","Accuser":"a","Accused":"b","Kind":"suspected","Confirmations":0,"WAN":false}]`
	if w := k.do("GET", "/muster/v1/agent/accusations", ""); w.Code != 200 || strings.TrimSpace(w.Body.String()) != want {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
