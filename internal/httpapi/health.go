package httpapi

import (
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/wire"
)

func healthService(c *call) error { return c.healthInstances(model.TopicService) }
func healthConnect(c *call) error { return c.healthInstances(model.TopicConnect) }

func (c *call) healthInstances(kind model.TopicKind) error {
	if err := c.need("Missing service name"); err != nil {
		return err
	}
	passing, err := c.onlyPassing()
	if err != nil {
		return err
	}
	q := c.question()
	q.Tags, q.Passing = c.tagsFor(kind), passing
	return c.read(model.NewTopic(kind, c.id), wire.HealthServiceJSON, q)
}

// healthIngress: no ingress gateway serves anything before there are config
// entries.
func healthIngress(c *call) error {
	if err := c.need("Missing service name"); err != nil {
		return err
	}
	return c.readNothing(model.NewTopic(model.TopicService, c.id), wire.HealthServiceJSON)
}

func healthNode(c *call) error {
	if err := c.need("Missing node name"); err != nil {
		return err
	}
	return c.read(model.NewTopic(model.TopicNodeChecks, c.id), wire.ChecksJSON, c.question())
}

func healthChecks(c *call) error {
	if err := c.need("Missing service name"); err != nil {
		return err
	}
	return c.read(model.NewTopic(model.TopicServiceCheck, c.id), wire.ChecksJSON, c.question())
}

// anyState asks for the checks in all states.
const anyState = "any"

func healthState(c *call) error {
	if err := c.need("Missing check state"); err != nil {
		return err
	}
	t := model.NewTopic(model.TopicChecksState, c.id)
	if c.id == anyState {
		t = model.NewTopic(model.TopicChecks, "")
	}
	return c.read(t, wire.ChecksJSON, c.question())
}
