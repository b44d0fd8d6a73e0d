package apply

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/muster-discovery/muster/internal/acl"
	"github.com/muster-discovery/muster/internal/fsm"
	"github.com/muster-discovery/muster/internal/model"
)

// WriteKV does one operation on a key and returns the fencing token of a lock that
// it took. A condition that does not hold is an error of kind Conflict with a code
// as its Field.
func (a *Apply) WriteKV(ctx context.Context, who Caller, dc string, op *model.KVOp) (token uint64, err error) {
	if op.Key == "" && op.Verb != model.KVDeleteTree {
		return 0, invalid(model.CodeInvalid, "Must provide key")
	}
	_, data, err := a.write(ctx, who, dc, op)
	if err != nil || op.Verb != model.KVLock {
		return 0, err
	}
	out, err := outcome(data)
	if err != nil {
		return 0, err
	}
	return out.Token, nil
}

// Transact does all of a transaction's operations or none; which ones could not be
// done is in the outcome.
func (a *Apply) Transact(ctx context.Context, who Caller, dc string, txn *model.Txn) (*model.Outcome, error) {
	for i := range txn.Ops {
		if err := completeOp(&txn.Ops[i]); err != nil {
			return nil, err
		}
	}
	_, data, err := a.write(ctx, who, dc, txn)
	if err != nil {
		return nil, err
	}
	return outcome(data)
}

func outcome(data []byte) (*model.Outcome, error) {
	if data == nil {
		return nil, model.Errorf(model.KindUncertain, "the write was done, but its result was lost with the former leader")
	}
	return fsm.DecodeOutcome(data)
}

// completeOp fills in what an operation may leave open.
func completeOp(op *model.TxnOp) error {
	if op.Service != nil && op.Service.Service.Weights == (model.Weights{}) {
		op.Service.Service.Weights = model.Weights{Passing: 1, Warning: 1}
	}
	return nil
}

// Bounds of sessions, as clients know them.
const (
	DefaultSessionTTLMin = 10 * time.Second
	sessionTTLMax        = 24 * time.Hour
	lockDelayMax         = 60 * time.Second
)

// CreateSession makes a session and returns its id.
func (a *Apply) CreateSession(ctx context.Context, who Caller, dc string, s *model.Session) (id string, err error) {
	if err := a.completeSession(s); err != nil {
		return "", err
	}
	if _, _, err := a.write(ctx, who, dc, &model.SessionCreation{Session: *s}); err != nil {
		return "", err
	}
	return s.ID, nil
}

func (a *Apply) completeSession(s *model.Session) error {
	if s.Node == "" {
		return invalid("Node", "Must provide Node")
	}
	switch s.Behavior {
	case "":
		s.Behavior = model.BehaviorRelease
	case model.BehaviorRelease, model.BehaviorDelete:
	default:
		return invalid("Behavior", "Invalid Behavior setting '%s'", s.Behavior)
	}
	if s.TTL != "" {
		ttl, err := time.ParseDuration(s.TTL)
		if err != nil {
			return invalid("TTL", "Session TTL '%s' invalid: %v", s.TTL, err)
		}
		if ttl != 0 && (ttl < a.cfg.SessionTTLMin || ttl > sessionTTLMax) {
			return invalid("TTL", "Invalid Session TTL '%d', must be between [%v=%v]", ttl, a.cfg.SessionTTLMin, sessionTTLMax)
		}
	}
	s.LockDelay = min(max(s.LockDelay, 0), lockDelayMax)
	s.ID = uuid.NewString()
	return nil
}

// DestroySession ends a session. One that is not there is no error.
func (a *Apply) DestroySession(ctx context.Context, who Caller, dc, id string) error {
	_, _, err := a.write(ctx, who, dc, &model.SessionDestruction{ID: id})
	return err
}

// RenewSession starts a session's time to live anew and returns it.
func (a *Apply) RenewSession(ctx context.Context, who Caller, dc, id string) (*model.Session, error) {
	_, data, err := a.write(ctx, who, dc, &model.SessionRenewal{ID: id})
	if err != nil {
		return nil, err
	}
	out, err := outcome(data)
	if err != nil {
		return nil, err
	}
	if len(out.Results) != 1 || out.Results[0].Session == nil {
		return nil, model.Errorf(model.KindInternal, "the leader answered a renewal without a session")
	}
	return out.Results[0].Session, nil
}

// renewHere asks this server's own timers: a renewal is the leader's note, never
// part of the log.
func (a *Apply) renewHere(ctx context.Context, r *model.SessionRenewal) (uint64, []byte, error) {
	if a.cfg.Renew == nil {
		return 0, nil, model.Errorf(model.KindNotLeader, "this server does not end sessions")
	}
	s, err := a.cfg.Renew(ctx, r.ID)
	if err != nil {
		return 0, nil, err
	}
	return 0, fsm.EncodeOutcome(&model.Outcome{Results: []model.TxnResult{{Session: s}}}), nil
}

// Expire ends sessions and lock delays: the leader's duty.
func (a *Apply) Expire(ctx context.Context, who Caller, e *model.Expiry) error {
	_, _, err := a.write(ctx, who, "", e)
	return err
}

func (a *Apply) authorizeKeys(authz acl.Authorizer, op any) error {
	switch op := op.(type) {
	case *model.KVOp:
		return authorizeKV(authz, op)
	case *model.Txn:
		if err := authorizeFence(authz, op.Fence); err != nil {
			return err
		}
		for i := range op.Ops {
			if err := a.authorizeOp(authz, &op.Ops[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// authorizeKV: whatever is done to a tree needs all of it. A guard tells whether a
// lock was taken anew, so it needs the lock to be readable.
func authorizeKV(authz acl.Authorizer, op *model.KVOp) error {
	if err := authorizeFence(authz, op.Fence); err != nil {
		return err
	}
	access, verb := acl.Write, "write"
	if op.Verb.Reads() {
		access, verb = acl.Read, "read"
	}
	tree := op.Verb == model.KVDeleteTree || op.Verb == model.KVGetTree
	if tree && !authz.AllowsAll(acl.Key, access) || !tree && !authz.Allowed(acl.Key, op.Key, access) {
		return deniedAccess("key", op.Key, verb)
	}
	return nil
}

func authorizeFence(authz acl.Authorizer, f *model.Fence) error {
	if f != nil && !authz.Allowed(acl.Key, f.Key, acl.Read) {
		return deniedAccess("key", f.Key, "read")
	}
	return nil
}

func (a *Apply) authorizeOp(authz acl.Authorizer, op *model.TxnOp) error {
	access, verb := acl.Write, "write"
	if op.Reads() {
		access, verb = acl.Read, "read"
	}
	switch {
	case op.KV != nil:
		return authorizeKV(authz, op.KV)
	case op.Node != nil:
		if !authz.Allowed(acl.Node, op.Node.Node.Name, access) {
			return deniedAccess("node", op.Node.Node.Name, verb)
		}
	case op.Service != nil:
		if s := &op.Service.Service; !authz.Allowed(acl.Service, s.Name, access) {
			return deniedAccess("service", s.Name, verb)
		}
	case op.Check != nil:
		if c := &op.Check.Check; !authz.Allowed(acl.Node, c.Node, access) {
			return deniedAccess("node", c.Node, verb)
		}
	case op.Session != nil:
		return a.authorizeSession(authz, op.Session.ID)
	default:
		return model.Errorf(model.KindDenied, "no permission rule for an operation of this type")
	}
	return nil
}

// authorizeSession goes by the session's node. One that is not known here needs no
// permission: there is nothing to end or renew, and the leader, who knows all, decides
// again.
func (a *Apply) authorizeSession(authz acl.Authorizer, id string) error {
	if a.cfg.SessionNode == nil {
		if !authz.AllowsAll(acl.Session, acl.Write) {
			return denied("session", "")
		}
		return nil
	}
	if node, ok := a.cfg.SessionNode(id); ok && !authz.Allowed(acl.Session, node, acl.Write) {
		return denied("session", node)
	}
	return nil
}

func deniedAccess(class, name, access string) error {
	text := fmt.Sprintf("Permission denied: needs %s:%s", class, access)
	if name != "" {
		text += fmt.Sprintf(" on %q", name)
	}
	return &model.Error{Kind: model.KindDenied, Text: text}
}
