package gossip

import (
	"github.com/hashicorp/serf/coordinate"

	"github.com/muster-discovery/muster/internal/model"
)

// Coordinate is where a member of a pool is in the network, false while that is not
// known: agents find out by probing each other.
func (p *Pools) Coordinate(name string, wan bool) (model.Coordinate, bool) {
	pl := p.pool(wan)
	if pl == nil {
		return model.Coordinate{}, false
	}
	if name == pl.serf.LocalMember().Name {
		c, err := pl.serf.GetCoordinate()
		if err != nil {
			return model.Coordinate{}, false
		}
		return fromVivaldi(c), true
	}
	c, ok := pl.serf.GetCachedCoordinate(name)
	if !ok {
		return model.Coordinate{}, false
	}
	return fromVivaldi(c), true
}

func fromVivaldi(c *coordinate.Coordinate) model.Coordinate {
	return model.Coordinate{
		Vec:   append([]float64(nil), c.Vec...),
		Error: c.Error, Adjustment: c.Adjustment, Height: c.Height,
	}
}
