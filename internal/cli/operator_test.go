package cli

import (
	"net/http"
	"testing"
)

func raftServer(node, id string, leader bool, last int) map[string]any {
	return map[string]any{"Node": node, "ID": id, "Address": "10.0.0." + id + ":8300", "Leader": leader, "Voter": true, "ProtocolVersion": "3", "LastIndex": last}
}

func TestOperatorRaft(t *testing.T) {
	a := newFake(t, map[string]any{
		"GET /v1/operator/raft/configuration":    map[string]any{"Servers": []any{raftServer("alice", "1", false, 1166), raftServer("bob", "2", true, 1167), raftServer("(unknown)", "3", false, 0)}},
		"DELETE /v1/operator/raft/peer":          nil,
		"POST /v1/operator/raft/transfer-leader": map[string]any{"Success": true},
	})
	muster(words("operator raft list-peers -stale")...).want(t, 0, `Node       ID  Address        State     Voter  RaftProtocol  Commit Index  Trails Leader By
alice      1   10.0.0.1:8300  follower  true   3             1166          1 commit
bob        2   10.0.0.2:8300  leader    true   3             1167          -
(unknown)  3   10.0.0.3:8300  follower  true   3             0             -
`)
	muster(words("operator raft remove-peer -id=3")...).want(t, 0, "Removed peer with id \"3\"\n")
	muster(words("operator raft remove-peer -address=10.0.0.3:8300")...).want(t, 0, "Removed peer with address \"10.0.0.3:8300\"\n")
	muster(words("operator raft transfer-leader -id=1")...).want(t, 0, "Success\n")
	for i, want := range []string{"GET /v1/operator/raft/configuration?stale=", "DELETE /v1/operator/raft/peer?id=3",
		"DELETE /v1/operator/raft/peer?address=10.0.0.3%3A8300", "POST /v1/operator/raft/transfer-leader?id=1"} {
		if a.asked[i] != want {
			t.Errorf("asked %q, want %q", a.asked[i], want)
		}
	}
	for args, want := range map[string]string{
		"operator raft remove-peer":                "give the server by -id or by -address",
		"operator raft remove-peer -id=1 -address": "flag needs an argument",
		"operator raft list-peer":                  `Did you mean "operator raft list-peers"?`,
		"operator raft":                            "Usage: muster operator raft <subcommand>",
		"operator":                                 "Show and change who takes part in consensus",
	} {
		muster(words(args)...).wantError(t, want)
	}
}

func TestOperatorAutopilot(t *testing.T) {
	conf := map[string]any{"CleanupDeadServers": true, "LastContactThreshold": "200ms", "MaxTrailingLogs": 250, "ServerStabilizationTime": "10s", "ModifyIndex": 7}
	a := newFake(t, map[string]any{
		"GET /v1/operator/autopilot/configuration": conf,
		"PUT /v1/operator/autopilot/configuration": true,
		"GET /v1/operator/autopilot/state": map[string]any{"Healthy": true, "FailureTolerance": 0, "Leader": "1", "Voters": []string{"1"},
			"Servers": map[string]any{"1": map[string]any{"ID": "1", "Name": "bob", "Address": "10.0.0.1:8300", "NodeStatus": "alive", "Status": "leader",
				"Healthy": true, "LastContact": "0s", "LastIndex": 9, "StableSince": "2026-01-02T03:04:05Z", "Version": "1.22.0"}}},
	})
	muster(words("operator autopilot get-config")...).want(t, 0, `CleanupDeadServers = true
LastContactThreshold = 200ms
MaxTrailingLogs = 250
MinQuorum = 0
ServerStabilizationTime = 10s
RedundancyZoneTag = ""
DisableUpgradeMigration = false
UpgradeVersionTag = ""
`)
	muster(words("operator autopilot set-config -min-quorum=3 -cleanup-dead-servers=false")...).want(t, 0, "Configuration updated!\n")
	want := `PUT /v1/operator/autopilot/configuration?cas=7 {"CleanupDeadServers":false,"LastContactThreshold":"200ms","MaxTrailingLogs":250,"MinQuorum":3,` +
		`"ServerStabilizationTime":"10s","RedundancyZoneTag":"","DisableUpgradeMigration":false,"UpgradeVersionTag":"","CreateIndex":0,"ModifyIndex":7}`
	if got := a.asked[len(a.asked)-1]; got != want {
		t.Errorf("asked %s, want %s", got, want)
	}
	muster(words("operator autopilot state")...).want(t, 0, `Healthy:           true
Failure Tolerance: 0
Leader:            1
Voters:            1

Node  ID  Address        Status  Node Status  Healthy  Last Contact  Last Index  Stable Since          Version
bob   1   10.0.0.1:8300  leader  alive        true     0s            9           2026-01-02T03:04:05Z  1.22.0
`)
	a.mu.Lock()
	a.answers["PUT /v1/operator/autopilot/configuration"] = false
	a.mu.Unlock()
	muster(words("operator autopilot set-config -min-quorum=3")...).wantError(t, "changed by somebody else")
	muster(words("operator autopilot set-config")...).wantError(t, "nothing to change")
	muster(words("operator autopilot state -format=xml")...).wantError(t, "want pretty or json")
}

func TestKeyring(t *testing.T) {
	a := newFake(t, map[string]any{
		"GET /v1/operator/keyring": []any{
			map[string]any{"WAN": true, "Datacenter": "dc1", "Keys": map[string]int{"b": 1, "a": 3}, "PrimaryKeys": map[string]int{"a": 3}, "NumNodes": 3},
			map[string]any{"Datacenter": "dc1", "Keys": map[string]int{"a": 5}, "PrimaryKeys": map[string]int{"a": 5}, "NumNodes": 5}},
		"POST /v1/operator/keyring": nil, "PUT /v1/operator/keyring": nil,
	})
	a.handlers = map[string]http.HandlerFunc{}
	muster(words("keyring -list")...).want(t, 0, "==> Gathering installed encryption keys...\n\nWAN:\n  a [3/3]\n  b [1/3]\n\ndc1 (LAN):\n  a [5/5]\n")
	muster(words("keyring -list-primary -local-only")...).want(t, 0, "==> Gathering installed encryption keys...\n\nWAN:\n  a [3/3]\n\ndc1 (LAN):\n  a [5/5]\n")
	muster(words("keyring -install=b -relay-factor=2")...).want(t, 0, "==> Installing new gossip encryption key...\n")
	muster(words("keyring -use=b")...).want(t, 0, "==> Changing primary gossip encryption key...\n")
	for i, want := range []string{"GET /v1/operator/keyring", "GET /v1/operator/keyring?local-only=true",
		`POST /v1/operator/keyring?relay-factor=2 {"Key":"b"}`, `PUT /v1/operator/keyring {"Key":"b"}`} {
		if a.asked[i] != want {
			t.Errorf("asked %q, want %q", a.asked[i], want)
		}
	}
	if r := muster(words("keyring -remove=a")...); r.code != 1 {
		t.Errorf("a refused removal: %+v", r)
	}
	for args, want := range map[string]string{
		"keyring": "exactly one of", "keyring -list -use=b": "exactly one of",
		"keyring -list -relay-factor=6": "from 0 to 5", "keyring -use=b -local-only": "-local-only may only",
	} {
		muster(words(args)...).wantError(t, want)
	}
}
