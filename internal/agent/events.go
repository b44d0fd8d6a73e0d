package agent

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/muster-discovery/muster/internal/acl"
	"github.com/muster-discovery/muster/internal/event"
	"github.com/muster-discovery/muster/internal/gossip"
	"github.com/muster-discovery/muster/internal/httpapi"
	"github.com/muster-discovery/muster/internal/model"
)

var _ httpapi.Events = (*events)(nil)

// events joins user events to gossip: what is fired goes out, and what is heard and
// is for this agent is kept.
type events struct {
	node    string
	pools   *gossip.Pools
	recent  *event.Recent
	resolve func(token string) (acl.Authorizer, error)
	log     *slog.Logger
	// services are those registered on this agent; unset until it has any.
	services atomic.Pointer[func() []event.Service]
}

// hear takes a message from gossip.
func (v *events) hear(m gossip.Message) {
	e, err := event.Decode(m.Name, m.LTime, m.Payload)
	if err != nil {
		v.log.Warn("cannot read a user event", "event", m.Name, "err", err)
		return
	}
	if !e.For(v.node, v.local) {
		v.log.Debug("user event is for others", "event", e.Name, "id", e.ID)
		return
	}
	v.log.Debug("user event", "event", e.Name, "id", e.ID)
	v.recent.Add(e)
}

func (v *events) local() []event.Service {
	if f := v.services.Load(); f != nil {
		return (*f)()
	}
	return nil
}

// Fire implements httpapi.Events.
func (v *events) Fire(_ context.Context, token string, e *event.Event) error {
	authz, err := v.resolve(token)
	if err != nil {
		return err
	}
	if !authz.Allowed(acl.UserEvent, e.Name, acl.Write) {
		return model.Errorf(model.KindDenied, "Permission denied: needs event:write on %q", e.Name)
	}
	b, err := e.Encode()
	if err != nil {
		return err
	}
	if err := v.pools.Broadcast(e.Name, b); err != nil {
		return &model.Error{Kind: model.KindInvalid, Text: fmt.Sprintf("error broadcasting event: %v", err)}
	}
	return nil
}

// List implements httpapi.Events.
func (v *events) List(token string) ([]*event.Event, <-chan struct{}, error) {
	authz, err := v.resolve(token)
	if err != nil {
		return nil, nil, err
	}
	all, changed := v.recent.List()
	if authz.AllowsAll(acl.UserEvent, acl.Read) {
		return all, changed, nil
	}
	var list []*event.Event
	for _, e := range all {
		if authz.Allowed(acl.UserEvent, e.Name, acl.Read) {
			list = append(list, e)
		}
	}
	return list, changed, nil
}

// eventServices is what filters of events look at.
func eventServices(list func() []*model.Service) *func() []event.Service {
	f := func() []event.Service {
		var out []event.Service
		for _, s := range list() {
			out = append(out, event.Service{Name: s.Name, Tags: s.Tags})
		}
		return out
	}
	return &f
}
