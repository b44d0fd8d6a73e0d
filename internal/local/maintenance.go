package local

import (
	"context"

	"github.com/muster-discovery/muster/internal/model"
)

// Texts that clients show.
const (
	defaultServiceReason = "Maintenance mode is enabled for this service, but no reason was provided. This is a default message."
	defaultNodeReason    = "Maintenance mode is enabled for this node, but no reason was provided. This is a default message."
)

// SetServiceMaintenance turns a service's maintenance mode on or off and returns
// once that is on disk. Turning on what is on keeps the first reason.
func (l *Local) SetServiceMaintenance(ctx context.Context, id string, on bool, reason string) error {
	if reason == "" {
		reason = defaultServiceReason
	}
	checkID := model.CheckServiceMaintenancePrefix + id
	return l.do(ctx, change{
		services: []string{id},
		checks:   []string{checkID},
		build: func() ([]*unit, error) {
			l.mu.RLock()
			defer l.mu.RUnlock()
			e, ok := l.services.Get(id)
			if !ok {
				return nil, unknownService(id)
			}
			u := l.units[e.unit]
			switch isOn := u.check(checkID) >= 0; {
			case isOn == on:
				return nil, nil
			case !on:
				return []*unit{u.withoutCheck(checkID)}, nil
			}
			return []*unit{u.withCheck(checkDef{
				def: &model.CheckDefinition{
					ID: checkID, Name: "Service Maintenance Mode", Notes: reason,
					ServiceID: id, Status: model.StatusCritical, Token: e.token,
				},
				embedded: true, maintenance: true,
				serviceName: e.service.Name, serviceTags: e.service.Tags,
			})}, nil
		},
	})
}

// SetNodeMaintenance turns the node's maintenance mode on or off and returns once
// that is on disk. Turning on what is on keeps the first reason.
func (l *Local) SetNodeMaintenance(ctx context.Context, on bool, reason, token string) error {
	if reason == "" {
		reason = defaultNodeReason
	}
	id := model.CheckNodeMaintenance
	return l.do(ctx, change{
		checks: []string{id},
		build: func() ([]*unit, error) {
			key := checkUnit(id)
			switch isOn := l.unit(key) != nil; {
			case isOn == on:
				return nil, nil
			case !on:
				return []*unit{{key: key}}, nil
			}
			return []*unit{{key: key, checks: []checkDef{{
				def: &model.CheckDefinition{
					ID: id, Name: "Node Maintenance Mode", Notes: reason,
					Status: model.StatusCritical, Token: token,
				},
				embedded: true, maintenance: true,
			}}}}, nil
		},
	})
}
