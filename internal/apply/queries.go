package apply

import (
	"context"

	"github.com/google/uuid"

	"github.com/muster-discovery/muster/internal/acl"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/query"
)

// CreateQuery stores a prepared query and returns its id.
func (a *Apply) CreateQuery(ctx context.Context, who Caller, dc string, q *model.Query) (id string, err error) {
	if err := query.Check(q); err != nil {
		return "", err
	}
	q.ID = uuid.NewString()
	if _, _, err := a.write(ctx, who, dc, &model.QuerySet{Query: *q}); err != nil {
		return "", err
	}
	return q.ID, nil
}

// UpdateQuery replaces the prepared query that has q's id.
func (a *Apply) UpdateQuery(ctx context.Context, who Caller, dc string, q *model.Query) error {
	if err := checkQueryID(q.ID); err != nil {
		return err
	}
	if err := query.Check(q); err != nil {
		return err
	}
	_, _, err := a.write(ctx, who, dc, &model.QuerySet{Query: *q, Update: true})
	return err
}

// DeleteQuery removes a prepared query.
func (a *Apply) DeleteQuery(ctx context.Context, who Caller, dc, id string) error {
	if err := checkQueryID(id); err != nil {
		return err
	}
	_, _, err := a.write(ctx, who, dc, &model.QueryDeletion{ID: id})
	return err
}

func checkQueryID(id string) error {
	if err := query.CheckID(id); err != nil {
		return invalid("ID", "Prepared Query lookup failed: failed prepared query lookup: index error: %v", err)
	}
	return nil
}

// UpdateCoordinates places nodes in the network.
func (a *Apply) UpdateCoordinates(ctx context.Context, who Caller, dc string, u *model.CoordinateUpdate) error {
	for i := range u.Nodes {
		if !u.Nodes[i].Coordinate.Valid() {
			return invalid("Coord", "incompatible coordinate")
		}
	}
	_, _, err := a.write(ctx, who, dc, u)
	return err
}

// authorizeDeletion goes by the query's name, as authorizeSession by the node.
func (a *Apply) authorizeDeletion(authz acl.Authorizer, id string) error {
	if a.cfg.QueryName == nil {
		if !authz.AllowsAll(acl.Query, acl.Write) {
			return denied("query", "")
		}
		return nil
	}
	if name, ok := a.cfg.QueryName(id); ok && !authz.Allowed(acl.Query, name, acl.Write) {
		return denied("query", name)
	}
	return nil
}
