package httpapi

import (
	"bytes"
	"net/http"
	"strconv"

	"github.com/muster-discovery/muster/internal/lookup"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/view"
	"github.com/muster-discovery/muster/internal/wire"
)

func agentSelf(c *call) error {
	self, err := c.s.cfg.Agent.Self(c.r.Context())
	if err != nil {
		return err
	}
	return c.json(self)
}

func agentHost(c *call) error {
	host, err := c.s.cfg.Agent.Host(c.r.Context())
	if err != nil {
		return err
	}
	return c.json(host)
}

func agentVersion(c *call) error { return c.json(c.s.cfg.Agent.Version()) }

// contentMetrics is the version of Prometheus' text format.
var contentMetrics = []string{"text/plain; version=0.0.4; charset=utf-8"}

func agentMetrics(c *call) error {
	if format, _ := c.get("format"); format != "prometheus" {
		m, err := c.s.cfg.Agent.Metrics(c.r.Context())
		if err != nil {
			return err
		}
		return c.json(m)
	}
	var out bytes.Buffer
	if err := c.s.cfg.Agent.WriteMetrics(c.r.Context(), &out); err != nil {
		return err
	}
	c.pretty = false // it is no JSON
	c.w.Header()["Content-Type"] = contentMetrics
	c.send(http.StatusOK, out.Bytes())
	return nil
}

func agentMembers(c *call) error {
	if segment, _ := c.get("segment"); segment != "" {
		return &statusError{http.StatusInternalServerError, "Network segments are not supported in this version of Consul"}
	}
	// A bare ?wan has always meant the LAN here.
	wan, _ := c.get("wan")
	members, err := filtered(c, wire.AgentMembersFilter, c.s.cfg.Agent.Members(wan != ""))
	if err != nil {
		return err
	}
	return c.json(members)
}

// agentAccusations lists who held whom for dead, as this agent saw it.
func agentAccusations(c *call) error { return c.json(c.s.cfg.Accusations()) }

// filtered applies the request's filter to one of the agent's own lists.
func filtered[T any](c *call, e *view.Encoder, list []T) ([]T, error) {
	if c.filter == "" {
		if list == nil {
			list = []T{}
		}
		return list, nil
	}
	v, err := c.s.cfg.Lookup.Prepare(e, lookup.Question{Filter: c.filter})
	if err != nil {
		return nil, rpc(err)
	}
	if v == nil { // a filter of spaces
		return list, nil
	}
	items := make([]*view.Item, len(list))
	for k := range list {
		items[k] = view.NewItem(list[k])
	}
	if items, err = v.Select(items); err != nil {
		return nil, rpc(err)
	}
	kept := make([]T, len(items))
	for k, item := range items {
		kept[k] = item.Value.(T)
	}
	return kept, nil
}

func agentJoin(c *call) error {
	wan, _ := c.get("wan")
	if err := c.s.cfg.Agent.Join(c.r.Context(), c.id, wan != ""); err != nil {
		return internal(err)
	}
	return c.nothing()
}

// agentLeave sends its answer itself: the agent closes its connections as soon as
// the request's context is over, which is before net/http sends what it has buffered.
func agentLeave(c *call) error {
	if err := c.s.cfg.Agent.Leave(c.r.Context()); err != nil {
		c.fail(internal(err))
	} else {
		_ = c.nothing()
	}
	_ = http.NewResponseController(c.w).Flush() // fails if the client is gone
	return nil
}

func agentForceLeave(c *call) error {
	if err := c.s.cfg.Agent.ForceLeave(c.r.Context(), c.id, c.has("prune"), c.has("wan")); err != nil {
		return internal(err)
	}
	return c.nothing()
}

func agentReload(c *call) error {
	if err := c.s.cfg.Agent.Reload(c.r.Context()); err != nil {
		return internal(err)
	}
	return c.nothing()
}

// internal gives errors of the pool the status that clients know, whatever their
// kind.
func internal(err error) error {
	if model.KindOf(err) == model.KindDenied {
		return err
	}
	return &statusError{http.StatusInternalServerError, err.Error()}
}

func agentMaintenance(c *call) error {
	on, reason, err := c.maintenance()
	if err != nil {
		return err
	}
	if err := c.s.cfg.Local.SetNodeMaintenance(c.r.Context(), on, reason, c.tokenOf(c.r.Header)); err != nil {
		return err
	}
	return c.nothing()
}

func (c *call) maintenance() (on bool, reason string, err error) {
	v, ok := c.get("enable")
	if !ok {
		return false, "", model.Errorf(model.KindInvalid, "Missing value for enable")
	}
	if on, err = strconv.ParseBool(v); err != nil {
		return false, "", model.Errorf(model.KindInvalid, "Invalid value for enable: %q", v)
	}
	reason, _ = c.get("reason")
	return on, reason, nil
}
