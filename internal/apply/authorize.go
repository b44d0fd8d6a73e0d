package apply

import (
	"fmt"

	"github.com/muster-discovery/muster/internal/acl"
	"github.com/muster-discovery/muster/internal/model"
)

// authorize decides whether a token may do a write: the one place that does.
func (a *Apply) authorize(token string, op any) error {
	authz, err := a.cfg.Resolve(token)
	if err != nil {
		return err
	}
	switch op := op.(type) {
	case *model.Registration:
		if !op.SkipNodeUpdate && !authz.Allowed(acl.Node, op.Node.Name, acl.Write) {
			return denied("node", op.Node.Name)
		}
		if op.Service != nil && !authz.Allowed(acl.Service, op.Service.Name, acl.Write) {
			return denied("service", op.Service.Name)
		}
		for _, c := range op.Checks {
			if c.ServiceID == "" && !authz.Allowed(acl.Node, op.Node.Name, acl.Write) {
				return denied("node", op.Node.Name)
			}
		}
	case *model.Deregistration:
		if !authz.Allowed(acl.Node, op.Node, acl.Write) {
			return denied("node", op.Node)
		}
	case *model.CARootSet, *model.AutopilotSet, *model.KVHistorySet:
		if !authz.Allowed(acl.Operator, "", acl.Write) {
			return denied("operator", "")
		}
	case *model.KVOp, *model.Txn:
		return a.authorizeKeys(authz, op)
	case *model.SessionCreation:
		if !authz.Allowed(acl.Session, op.Session.Node, acl.Write) {
			return denied("session", op.Session.Node)
		}
	case *model.SessionDestruction:
		return a.authorizeSession(authz, op.ID)
	case *model.SessionRenewal:
		return a.authorizeSession(authz, op.ID)
	case *model.QuerySet:
		if !authz.Allowed(acl.Query, op.Query.Name, acl.Write) {
			return denied("query", op.Query.Name)
		}
		if op.Update { // also of what it was
			return a.authorizeDeletion(authz, op.Query.ID)
		}
	case *model.QueryDeletion:
		return a.authorizeDeletion(authz, op.ID)
	case *model.CoordinateUpdate:
		for i := range op.Nodes {
			if name := op.Nodes[i].Node; !authz.Allowed(acl.Node, name, acl.Write) {
				return denied("node", name)
			}
		}
	case *model.Expiry:
		if !authz.Allowed(acl.Operator, "", acl.Write) {
			return denied("operator", "")
		}
	default:
		// A command without a rule must not slip through.
		return model.Errorf(model.KindDenied, "no permission rule for %T", op)
	}
	return nil
}

func denied(class, name string) error {
	text := fmt.Sprintf("Permission denied: needs %s:write", class)
	if name != "" {
		text += fmt.Sprintf(" on %q", name)
	}
	return &model.Error{Kind: model.KindDenied, Text: text}
}
