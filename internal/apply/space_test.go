package apply

import (
	"testing"

	"github.com/muster-discovery/muster/internal/acl"
	"github.com/muster-discovery/muster/internal/fsm"
	"github.com/muster-discovery/muster/internal/model"
)

// fullDisk refuses everything it is asked for.
type fullDisk struct{ asked int }

func (f *fullDisk) Admit(int) error {
	f.asked++
	return model.Errorf(model.KindNoSpace, "full")
}

func TestWithoutSpace(t *testing.T) {
	known := func(r *model.Registration) bool { return r.Node.Name == "known" }
	check := func(node string) model.TxnOp {
		return model.TxnOp{Check: &model.CheckOp{Verb: model.CatalogSet, Check: model.Check{Node: node, ID: "c", Name: "c", Status: "critical"}}}
	}
	kv := func(v model.KVVerb) *model.KVOp { return &model.KVOp{Verb: v, Key: "k"} }
	for _, c := range []struct {
		name   string
		op     any
		passes bool
	}{
		{"new registration", &model.Registration{Node: model.Node{Name: "new", Address: "10.0.0.1"}}, false},
		{"state of a check", &model.Registration{Node: model.Node{Name: "known", Address: "10.0.0.1"}}, true},
		{"deregistration", &model.Deregistration{Node: "known"}, true},
		{"set", kv(model.KVSet), false},
		{"cas", kv(model.KVCAS), false},
		{"lock", kv(model.KVLock), false},
		{"unlock", kv(model.KVUnlock), true},
		{"delete", kv(model.KVDelete), true},
		{"delete cas", kv(model.KVDeleteCAS), true},
		{"delete tree", kv(model.KVDeleteTree), true},
		{"new session", &model.SessionCreation{}, false},
		{"end of a session", &model.SessionDestruction{}, true},
		{"expiry", &model.Expiry{}, true},
		{"new query", &model.QuerySet{}, false},
		{"query deleted", &model.QueryDeletion{}, true},
		{"coordinates", &model.CoordinateUpdate{}, false},
		{"roots", &model.CARootSet{}, true},
		{"autopilot", &model.AutopilotSet{}, true},
		{"transaction that deletes and reads", &model.Txn{Ops: []model.TxnOp{{KV: kv(model.KVDelete)}, {KV: kv(model.KVGet)}}}, true},
		{"transaction that also sets", &model.Txn{Ops: []model.TxnOp{{KV: kv(model.KVDelete)}, {KV: kv(model.KVSet)}}}, false},
		{"transaction with states of checks", &model.Txn{Ops: []model.TxnOp{check("known")}}, true},
		{"transaction with a new check", &model.Txn{Ops: []model.TxnOp{check("known"), check("new")}}, false},
		{"transaction that removes a node", &model.Txn{Ops: []model.TxnOp{{Node: &model.NodeOp{Verb: model.CatalogDelete}}}}, true},
		{"transaction that adds a service", &model.Txn{Ops: []model.TxnOp{{Service: &model.ServiceOp{Verb: model.CatalogCAS}}}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			log, disk := &fakeLog{}, &fullDisk{}
			a := newApply(log, &fakeForwarder{}, acl.AllowAll{})
			a.cfg.Space, a.cfg.Registered = disk, known
			_, _, err := a.write(t.Context(), Caller{}, "", c.op)
			if passed := err == nil && disk.asked == 0; passed != c.passes {
				t.Errorf("passes: %v, want %v: %v", passed, c.passes, err)
			}
			if !c.passes && (model.KindOf(err) != model.KindNoSpace || len(log.commands) > 0) {
				t.Errorf("%v, and %d commands went into the log", err, len(log.commands))
			}
		})
	}
}

// TestLeaderGoesOnWithoutSpace: its duties do, but nobody else can claim to be it.
func TestLeaderGoesOnWithoutSpace(t *testing.T) {
	a := newApply(&fakeLog{}, &fakeForwarder{}, acl.AllowAll{})
	a.cfg.Space = &fullDisk{}
	if _, err := a.Register(t.Context(), Caller{Source: model.SourceLeader}, node()); err != nil {
		t.Errorf("the leader's own: %v", err)
	}
	command, err := fsm.Encode(&fsm.Command{Op: node(), Meta: model.CommandMeta{Source: model.SourceLeader}})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := a.ForwardedApply(t.Context(), "", command); model.KindOf(err) != model.KindNoSpace {
		t.Errorf("one that says it is the leader's: %v", err)
	}
}
