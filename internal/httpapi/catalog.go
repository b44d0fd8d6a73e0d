package httpapi

import (
	"net/http"

	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/view"
	"github.com/muster-discovery/muster/internal/wire"
)

func catalogRegister(c *call) error {
	body, err := c.body()
	if err != nil {
		return err
	}
	r, err := wire.DecodeRegistration(body)
	if err != nil {
		return err
	}
	c.datacenter(&r.Datacenter)
	if _, err := c.s.cfg.Catalog.Register(c.r.Context(), c.caller(), r); err != nil {
		return rpc(err)
	}
	return c.json(true)
}

func catalogDeregister(c *call) error {
	body, err := c.body()
	if err != nil {
		return err
	}
	d, err := wire.DecodeDeregistration(body)
	if err != nil {
		return err
	}
	c.datacenter(&d.Datacenter)
	if _, err := c.s.cfg.Catalog.Deregister(c.r.Context(), c.caller(), d); err != nil {
		return rpc(err)
	}
	if tell := c.s.cfg.ComesBack; tell != nil && d.CheckID == "" {
		if why := tell(d.Node, d.ServiceID); why != "" {
			c.w.Header()["X-Muster-Warning"] = []string{why}
		}
	}
	return c.json(true)
}

// datacenter completes the one that a body names: the query's counts more.
func (c *call) datacenter(dc *string) {
	if c.dc != "" {
		*dc = c.dc
	}
	if *dc == "" {
		*dc = c.s.cfg.Datacenter
	}
}

func catalogDatacenters(c *call) error {
	return c.json(c.s.cfg.Agent.Datacenters())
}

func catalogNodes(c *call) error {
	return c.read(model.NewTopic(model.TopicNodes, ""), wire.NodesJSON, c.question())
}

func catalogServices(c *call) error {
	return c.read(model.NewTopic(model.TopicServices, ""), wire.ServicesJSON, c.question())
}

func catalogService(c *call) error { return c.catalogInstances(model.TopicService) }
func catalogConnect(c *call) error { return c.catalogInstances(model.TopicConnect) }

func (c *call) catalogInstances(kind model.TopicKind) error {
	if err := c.need("Missing service name"); err != nil {
		return err
	}
	q := c.question()
	q.Tags = c.tagsFor(kind)
	return c.read(model.NewTopic(kind, c.id), wire.CatalogServiceJSON, q)
}

// tagsFor are the tags to ask for: the mesh's lists don't know them, since a
// proxy's tags need not be those of its service.
func (c *call) tagsFor(kind model.TopicKind) []string {
	if kind == model.TopicConnect {
		return nil
	}
	return c.tags
}

func catalogNode(c *call) error         { return c.catalogOneNode(wire.NodeJSON) }
func catalogNodeServices(c *call) error { return c.catalogOneNode(wire.NodeServicesJSON) }

func (c *call) catalogOneNode(e *view.Encoder) error {
	if err := c.need("Missing node name"); err != nil {
		return err
	}
	q := c.question()
	q.NodeMeta, q.Near = nil, "" // they choose between nodes
	return c.read(model.NewTopic(model.TopicNode, c.id), e, q)
}

// catalogGatewayServices: no gateway is bound to services before there are config
// entries.
func catalogGatewayServices(c *call) error {
	if err := c.need("Missing gateway name"); err != nil {
		return err
	}
	return c.readNothing(model.NewTopic(model.TopicService, c.id), wire.CatalogServiceJSON)
}

// readNothing answers with an empty list that has the headers, and the waiting, of
// a topic.
func (c *call) readNothing(t model.Topic, e *view.Encoder) error {
	if err := c.request(t, e); err != nil {
		return err
	}
	c.req.Variant = &nothing
	if err := c.find(); err != nil {
		return err
	}
	return c.sendConsistent()
}

var nothing = view.Variant{
	Key:    "nothing",
	Select: func([]*view.Item) ([]*view.Item, error) { return nil, nil },
}

func statusLeader(c *call) error {
	if err := c.ownDatacenter(); err != nil {
		return err
	}
	return c.json(c.s.cfg.Agent.Leader())
}

func statusPeers(c *call) error {
	if err := c.ownDatacenter(); err != nil {
		return err
	}
	peers := c.s.cfg.Agent.Peers()
	if peers == nil {
		peers = []string{}
	}
	return c.json(peers)
}

func aclDisabled(*call) error {
	return &statusError{http.StatusUnauthorized, "ACL support disabled"}
}
