package httpapi

import (
	"context"
	"net/http"
	"strconv"

	"github.com/muster-discovery/muster/internal/apply"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/wire"
)

// Operator is what operators do to the servers. What only the leader can do fails with
// KindNotLeader elsewhere. Calls may overlap.
type Operator interface {
	// Autopilot is the replicated configuration. With stale any server answers.
	Autopilot(stale bool) (*model.Autopilot, error)
	SetAutopilot(ctx context.Context, c apply.Caller, s *model.AutopilotSet) error
	AutopilotHealth() (*wire.AutopilotHealth, error)
	AutopilotState() (*wire.AutopilotState, error)

	// Usage counts what is registered.
	Usage() wire.ServiceUsage

	// RemovePeer takes a server out of consensus; either id or address is given.
	RemovePeer(id, address string) error
	// TransferLeadership hands over to the server with the id, or to any.
	TransferLeadership(id string) error
}

// operatorRaftConfiguration lists the servers that take part in consensus, as this
// server knows them.
func operatorRaftConfiguration(c *call) error {
	if err := c.ownDatacenter(); err != nil {
		return err
	}
	return c.json(wire.RaftConfiguration{Servers: c.s.cfg.Agent.RaftServers()})
}

func operatorRaftPeer(c *call) error {
	if err := c.ownDatacenter(); err != nil {
		return err
	}
	id, _ := c.get("id")
	address, _ := c.get("address")
	switch {
	case id == "" && address == "":
		return model.Errorf(model.KindInvalid, "Must specify either ?id with the server's ID or ?address with IP:port of peer to remove")
	case id != "" && address != "":
		return model.Errorf(model.KindInvalid, "Must specify only one of ?id or ?address")
	}
	if err := c.s.cfg.Operator.RemovePeer(id, address); err != nil {
		return rpc(err)
	}
	return c.nothing()
}

func operatorTransferLeader(c *call) error {
	if err := c.ownDatacenter(); err != nil {
		return err
	}
	id, _ := c.get("id")
	if err := c.s.cfg.Operator.TransferLeadership(id); err != nil {
		return rpc(err)
	}
	return c.json(struct{ Success bool }{true})
}

func autopilotConfiguration(c *call) error {
	if err := c.ownDatacenter(); err != nil {
		return err
	}
	conf, err := c.s.cfg.Operator.Autopilot(c.stale)
	if err != nil {
		return rpc(err)
	}
	return c.json(wire.AutopilotJSON(conf))
}

// setAutopilot answers false where ?cas asks for another index than the present one.
func setAutopilot(c *call) error {
	if err := c.ownDatacenter(); err != nil {
		return err
	}
	body, err := c.body()
	if err != nil {
		return err
	}
	conf, err := wire.DecodeAutopilot(body)
	if err != nil {
		return err
	}
	set := &model.AutopilotSet{Config: *conf}
	if text, ok := c.get("cas"); ok {
		index, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return model.Errorf(model.KindInvalid, "Error parsing cas value: %v", err)
		}
		set.ExpectIndex = &index
	}
	err = c.s.cfg.Operator.SetAutopilot(c.r.Context(), c.caller(), set)
	if set.ExpectIndex != nil && model.KindOf(err) == model.KindConflict {
		return c.json(false)
	}
	if err != nil {
		return rpc(err)
	}
	return c.json(true)
}

// autopilotHealth answers 429 while a server is not healthy, so that monitoring need
// not read the body.
func autopilotHealth(c *call) error {
	if err := c.ownDatacenter(); err != nil {
		return err
	}
	health, err := c.s.cfg.Operator.AutopilotHealth()
	if err != nil {
		return rpc(err)
	}
	status := http.StatusOK
	if !health.Healthy {
		status = http.StatusTooManyRequests
	}
	return c.jsonStatus(status, health)
}

func autopilotState(c *call) error {
	if err := c.ownDatacenter(); err != nil {
		return err
	}
	state, err := c.s.cfg.Operator.AutopilotState()
	if err != nil {
		return rpc(err)
	}
	return c.json(state)
}

func operatorUsage(c *call) error {
	if err := c.ownDatacenter(); err != nil {
		return err
	}
	return c.json(wire.Usage{Usage: map[string]wire.ServiceUsage{c.s.cfg.Datacenter: c.s.cfg.Operator.Usage()}})
}
