package apply

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/muster-discovery/muster/internal/acl"
	"github.com/muster-discovery/muster/internal/fsm"
	"github.com/muster-discovery/muster/internal/model"
)

func TestSessionBounds(t *testing.T) {
	a := newApply(&fakeLog{}, &fakeForwarder{}, acl.AllowAll{})
	tests := []struct{ ttl, behavior, fault string }{
		{"", "", ""}, {"0s", "release", ""}, {"10s", "delete", ""}, {"86400s", "", ""},
		{"9s", "", "Invalid Session TTL '9000000000', must be between [10s=24h0m0s]"},
		{"86401s", "", "Invalid Session TTL '86401000000000', must be between [10s=24h0m0s]"},
		{"-10s", "", "Invalid Session TTL"},
		{"abc", "", `Session TTL 'abc' invalid: time: invalid duration "abc"`},
		{"", "explode", "Invalid Behavior setting 'explode'"},
	}
	for _, tt := range tests {
		s := &model.Session{Node: "n", TTL: tt.ttl, Behavior: tt.behavior, LockDelay: time.Hour}
		err := a.completeSession(s)
		if (err != nil) != (tt.fault != "") || err != nil && !strings.Contains(err.Error(), tt.fault) {
			t.Errorf("%q %q: got %v, want %q", tt.ttl, tt.behavior, err, tt.fault)
		}
		if err == nil && (!validUUID(s.ID) || s.Behavior == "" || s.LockDelay != time.Minute) {
			t.Errorf("%q: %+v", tt.ttl, s)
		}
	}
}

// TestRenewalIsNotLogged: the leader notes it, anyone else hands it on.
func TestRenewalIsNotLogged(t *testing.T) {
	log, fwd := &fakeLog{}, &fakeForwarder{}
	a := newApply(log, fwd, acl.AllowAll{})
	a.cfg.Renew = func(_ context.Context, id string) (*model.Session, error) {
		if id != "s" {
			return nil, model.Errorf(model.KindNotLeader, "not the leader")
		}
		return &model.Session{ID: id, Name: "one"}, nil
	}
	if s, err := a.RenewSession(t.Context(), Caller{}, "", "s"); err != nil || s.Name != "one" {
		t.Fatal(s, err)
	}
	command, err := fsm.Encode(&fsm.Command{Op: &model.SessionRenewal{ID: "s"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, data, err := a.ForwardedApply(t.Context(), "", command); err != nil || data == nil {
		t.Fatal(data, err)
	}
	_, _ = a.RenewSession(t.Context(), Caller{}, "", "elsewhere")
	if fwd.calls != 1 || len(log.commands) != 0 {
		t.Fatal(fwd.calls, log.commands)
	}
}

// rules allows reading everything and writing what begins with "own".
type rules struct{}

func (rules) Allowed(_ acl.Resource, name string, a acl.Access) bool {
	return a == acl.Read || strings.HasPrefix(name, "own")
}
func (rules) AllowsAll(_ acl.Resource, a acl.Access) bool { return a == acl.Read }

func TestKeysAreAuthorized(t *testing.T) {
	a := newApply(&fakeLog{}, &fakeForwarder{}, rules{})
	a.cfg.SessionNode = func(id string) (string, bool) { return id + " node", id != "unknown" }
	kv := func(verb model.KVVerb, key string) *model.KVOp { return &model.KVOp{Verb: verb, Key: key} }
	txn := func(ops ...model.TxnOp) *model.Txn { return &model.Txn{Ops: ops} }
	tests := []struct {
		op    any
		allow bool
	}{
		{kv(model.KVSet, "own/a"), true},
		{kv(model.KVSet, "a"), false},
		{kv(model.KVDeleteTree, "own/"), false}, // rules below the prefix are not looked at
		{txn(model.TxnOp{KV: kv(model.KVGet, "a")}, model.TxnOp{KV: kv(model.KVSet, "own")}), true},
		{txn(model.TxnOp{KV: kv(model.KVSet, "own")}, model.TxnOp{KV: kv(model.KVSet, "a")}), false},
		{txn(model.TxnOp{Node: &model.NodeOp{Verb: model.CatalogSet, Node: model.Node{Name: "a"}}}), false},
		{txn(model.TxnOp{}), false},
		{&model.SessionCreation{Session: model.Session{Node: "a"}}, false},
		{&model.SessionDestruction{ID: "own"}, true},
		{&model.SessionDestruction{ID: "other"}, false},
		{&model.SessionDestruction{ID: "unknown"}, true},
		{&model.SessionRenewal{ID: "other"}, false},
		{txn(model.TxnOp{Session: &model.SessionOp{Verb: model.CatalogDelete, ID: "other"}}), false},
		{&model.Expiry{}, false},
	}
	for _, tt := range tests {
		err := a.authorize("", tt.op)
		if (err == nil) != tt.allow || err != nil && model.KindOf(err) != model.KindDenied {
			t.Errorf("%#v: %v", tt.op, err)
		}
	}
}

// TestLostOutcome: success whose result is gone is told as such, and not repeated.
func TestLostOutcome(t *testing.T) {
	a := newApply(&fakeLog{}, &fakeForwarder{}, acl.AllowAll{})
	_, err := a.WriteKV(t.Context(), Caller{}, "", &model.KVOp{Verb: model.KVLock, Key: "k", Session: "s"})
	if model.KindOf(err) != model.KindUncertain {
		t.Fatal(err)
	}
	if _, err := a.WriteKV(t.Context(), Caller{}, "", &model.KVOp{Verb: model.KVSet, Key: "k"}); err != nil {
		t.Fatal(err)
	}
}
