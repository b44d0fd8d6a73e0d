package httpapi

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/muster-discovery/muster/internal/event"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/wire"
)

// Events are the user events of this agent. Calls may overlap.
type Events interface {
	// Fire sends an event to every agent.
	Fire(ctx context.Context, token string, e *event.Event) error
	// List are the events that this agent heard and that are for it, as far as the
	// token may know of them, and a channel that is closed when another one comes.
	List(token string) ([]*event.Event, <-chan struct{}, error)
}

// eventVersion is the version of events that clients know.
const eventVersion = 1

func eventOf(e *event.Event) *wire.EventJSON {
	return &wire.EventJSON{ID: e.ID, Name: e.Name, Payload: e.Payload, NodeFilter: e.NodeFilter,
		ServiceFilter: e.ServiceFilter, TagFilter: e.TagFilter, Version: eventVersion, LTime: e.LTime}
}

func eventFire(c *call) error {
	if err := c.need("Missing name"); err != nil {
		return err
	}
	if err := c.ownDatacenter(); err != nil {
		return err
	}
	in := event.Event{Name: c.id}
	in.NodeFilter, _ = c.get("node")
	in.ServiceFilter, _ = c.get("service")
	in.TagFilter, _ = c.get("tag")
	var err error
	if in.Payload, err = c.body(); err != nil {
		return err
	}
	e, err := event.New(in)
	if err != nil {
		return rpc(err)
	}
	if err := c.s.cfg.Events.Fire(c.r.Context(), c.tokenOf(c.r.Header), e); err != nil {
		return rpc(err)
	}
	return c.json(eventOf(e))
}

// eventList answers with what was heard. Its index tells one list from another and is
// in no order: whoever waits for a change gives the one it knows.
func eventList(c *call) error {
	index, wait, err := c.blocking()
	if err != nil {
		return err
	}
	if wait <= 0 {
		wait = defaultEventWait
	}
	timer := time.NewTimer(min(wait, c.s.cfg.MaxWait))
	defer timer.Stop()
	for {
		all, changed, err := c.s.cfg.Events.List(c.tokenOf(c.r.Header))
		if err != nil {
			return rpc(err)
		}
		list, now := c.wanted(all)
		if index == 0 || now != index {
			return c.events(list, now)
		}
		select {
		case <-changed:
		case <-timer.C:
			return c.events(list, now)
		case <-c.r.Context().Done():
			return model.Errorf(model.KindUnavailable, "request canceled")
		}
	}
}

// defaultEventWait is that of lookups.
const defaultEventWait = 5 * time.Minute

// wanted are the events that the parameters ask for, with the list's index.
func (c *call) wanted(all []*event.Event) ([]*wire.EventJSON, uint64) {
	list, index := []*wire.EventJSON{}, uint64(1) // 0 would be asked for again at once
	name, _ := c.get("name")
	for _, e := range all {
		if name != "" && e.Name != name {
			continue
		}
		list, index = append(list, eventOf(e)), e.Index()
	}
	return list, index
}

func (c *call) events(list []*wire.EventJSON, index uint64) error {
	c.w.Header()["X-Consul-Index"] = []string{strconv.FormatUint(index, 10)}
	return c.jsonStatus(http.StatusOK, list)
}
