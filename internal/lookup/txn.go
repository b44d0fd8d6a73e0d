package lookup

import (
	"context"
	"math"
	"time"

	"github.com/muster-discovery/muster/internal/acl"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/trace"
)

// Reader reads at one moment of the local state what views don't hold together.
type Reader interface {
	// Index is the index of the newest state.
	Index() uint64
	// ReadTxn does a transaction that only reads, and tells the index it saw.
	ReadTxn(txn *model.Txn) (out *model.Outcome, index uint64, err error)
	// KeyHistory are a key's revisions, newest first, at most limit unless that is 0,
	// and the index of the key's last change.
	KeyHistory(key string, limit int) (list []*model.Revision, index uint64)
}

// TxnAnswer is what a transaction that only reads found.
type TxnAnswer struct {
	Outcome     *model.Outcome
	Index       uint64
	KnownLeader bool
	LastContact time.Duration
}

// ReadTxn does a transaction that only reads, as new as the request's mode asks for.
// Of the request Datacenter, Token, Mode and MaxStale count. What the caller may not
// read is left out, and counts as not there where an operation asks for one thing.
func (l *Lookup) ReadTxn(ctx context.Context, r *Request, txn *model.Txn) (*TxnAnswer, error) {
	if r.Datacenter != "" && r.Datacenter != l.config.Datacenter {
		return nil, model.Errorf(model.KindNoPath, "No path to datacenter")
	}
	auth, err := l.config.Resolve(r.Token)
	if err != nil {
		return nil, err
	}
	contact, err := l.reach(ctx, r)
	if err != nil {
		return nil, err
	}
	out, index, err := l.config.Reader.ReadTxn(txn)
	if err != nil {
		return nil, err
	}
	permitResults(auth, out)
	return &TxnAnswer{Outcome: out, Index: index, KnownLeader: l.config.Leader.Known(), LastContact: contact}, nil
}

// reach returns once the whole local state is as new as the mode asks for. It is to
// the state what source is to one topic.
func (l *Lookup) reach(ctx context.Context, r *Request) (contact time.Duration, err error) {
	if r.Mode == ModeStale {
		contact := l.config.Leader.LastContact()
		if r.MaxStale <= 0 || contact <= r.MaxStale {
			return contact, nil
		}
	}
	if r.Mode != ModeConsistent && l.config.Leader.IsLeader() {
		return 0, nil
	}
	state, err := l.readTopic(ctx, model.Topic{Kind: model.TopicState}, math.MaxUint64, r.Mode == ModeConsistent)
	if err != nil {
		return 0, err
	}
	index := state.Index
	deadline := time.Now().Add(l.config.CatchUp)
	for pause := time.Millisecond; l.config.Reader.Index() < index; pause = min(2*pause, recheck) {
		if !time.Now().Before(deadline) {
			return 0, model.Errorf(model.KindUnavailable,
				"This server did not reach index %d of the leader within %s; retry, or allow stale reads", index, l.config.CatchUp)
		}
		if !sleep(ctx, pause) {
			return 0, model.Errorf(model.KindUnavailable, "read canceled: %s", ctx.Err())
		}
	}
	trace.From(ctx).Addf("source", "local state, at the leader's index %d", index)
	return 0, nil
}

// permitResults leaves out what the caller may not read.
func permitResults(auth acl.Authorizer, out *model.Outcome) {
	kept := out.Results[:0:0]
	for _, v := range out.Results {
		visible := false
		switch {
		case v.KV != nil:
			visible = auth.Allowed(acl.Key, v.KV.Key, acl.Read)
		case v.Node != nil:
			visible = auth.Allowed(acl.Node, v.Node.Name, acl.Read)
		case v.Service != nil:
			visible = auth.Allowed(acl.Node, v.Service.Node, acl.Read) && auth.Allowed(acl.Service, v.Service.Name, acl.Read)
		case v.Check != nil:
			visible = auth.Allowed(acl.Node, v.Check.Node, acl.Read) &&
				(v.Check.ServiceName == "" || auth.Allowed(acl.Service, v.Check.ServiceName, acl.Read))
		case v.Session != nil:
			visible = auth.Allowed(acl.Session, v.Session.Node, acl.Read)
		}
		if visible {
			kept = append(kept, v)
		}
	}
	out.Results = kept
}
