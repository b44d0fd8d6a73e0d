package httpapi

import (
	"context"
	"net/http"

	"github.com/muster-discovery/muster/internal/apply"
	"github.com/muster-discovery/muster/internal/lookup"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/view"
	"github.com/muster-discovery/muster/internal/wire"
)

// Coordinates are the places of nodes. Calls may overlap.
type Coordinates interface {
	// Areas are the places of servers in the WAN, by datacenter.
	Areas() []wire.AreaCoordinates
	UpdateCoordinates(ctx context.Context, c apply.Caller, dc string, u *model.CoordinateUpdate) error
}

func coordinateDatacenters(c *call) error {
	return c.json(c.s.cfg.Coordinates.Areas())
}

func coordinateNodes(c *call) error {
	if err := c.lookup(model.Topic{Kind: model.TopicCoordinates}, wire.CoordinatesJSON, lookup.Question{}); err != nil {
		return err
	}
	return c.sendAnswer()
}

// coordinateNode answers for one node, with an empty 404 while nothing is known.
func coordinateNode(c *call) error {
	err := c.lookupVariant(model.Topic{Kind: model.TopicCoordinates}, wire.CoordinatesJSON, wire.CoordinateOfNode(c.id))
	if err != nil {
		return err
	}
	if c.answer.Count == 0 {
		c.w.Header()["Content-Length"] = valueZero
		c.writeHeader(http.StatusNotFound)
		return nil
	}
	return c.sendAnswer()
}

func coordinateUpdate(c *call) error {
	body, err := c.body()
	if err != nil {
		return err
	}
	n, err := wire.DecodeCoordinate(body)
	if err != nil {
		return err
	}
	u := &model.CoordinateUpdate{Nodes: []model.NodeCoordinate{*n}}
	if err := c.s.cfg.Coordinates.UpdateCoordinates(c.r.Context(), c.caller(), c.dc, u); err != nil {
		return rpc(err)
	}
	return c.nothing()
}

// lookupVariant is lookup with a variant that the handler made itself.
func (c *call) lookupVariant(t model.Topic, e *view.Encoder, v *view.Variant) error {
	if err := c.request(t, e); err != nil {
		return err
	}
	c.req.Variant = v
	return c.find()
}
