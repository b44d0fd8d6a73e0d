package agent

import (
	"context"
	"math"
	"strings"
	"time"

	"github.com/muster-discovery/muster/internal/apply"
	"github.com/muster-discovery/muster/internal/gossip"
	"github.com/muster-discovery/muster/internal/httpapi"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/wire"
)

var _ httpapi.Coordinates = coordinates{}

// coordinates are the places of nodes as HTTP has them.
type coordinates struct {
	*apply.Apply
	node *node
}

// Areas implements httpapi.Coordinates: the own datacenter, until others are known.
func (c coordinates) Areas() []wire.AreaCoordinates {
	s := c.node
	area := wire.AreaCoordinates{Datacenter: s.cfg.Node.Datacenter, AreaID: "wan", Coordinates: []wire.CoordinateJSON{}}
	for _, m := range s.pools.Members(true) {
		if m.Datacenter() != area.Datacenter || m.Status != gossip.StatusAlive {
			continue
		}
		if place, ok := s.pools.Coordinate(m.Name, true); ok {
			node := strings.TrimSuffix(m.Name, "."+area.Datacenter)
			area.Coordinates = append(area.Coordinates, wire.CoordinateOf(node, place))
		}
	}
	return []wire.AreaCoordinates{area}
}

// distance implements lookup's: gossip's own word on its members, which is newest,
// else what was written for a node.
func (n *node) distance(from, to string) (time.Duration, bool) {
	a, ok := n.place(from)
	if !ok {
		return 0, false
	}
	b, ok := n.place(to)
	if !ok {
		return 0, false
	}
	return a.Distance(&b), true
}

func (n *node) place(node string) (model.Coordinate, bool) {
	if c, ok := n.pools.Coordinate(node, false); ok && c.Valid() {
		return c, true
	}
	if n.recorded == nil {
		return model.Coordinate{}, false
	}
	return n.recorded(node)
}

// coordinatePeriod is how often the leader writes down where members are. Agents of
// existing clusters tell every 15 s, too.
const coordinatePeriod = 15 * time.Second

// followCoordinates writes members' places to the catalog while this server leads, so
// that they can be listed and outlast gossip.
func (s *server) followCoordinates(ctx context.Context) error {
	tick := time.NewTicker(coordinatePeriod)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		if !s.cluster.established.Load() {
			continue
		}
		u := s.movedMembers()
		if len(u.Nodes) == 0 {
			continue
		}
		if err := s.apply.UpdateCoordinates(ctx, asLeader, "", u); err != nil && ctx.Err() == nil {
			s.log.Debug("cannot write coordinates; the next time will tell", "err", err)
		}
	}
}

// movedMembers are the live members that are elsewhere than the catalog says.
func (s *server) movedMembers() *model.CoordinateUpdate {
	u := &model.CoordinateUpdate{}
	state := s.store.Snapshot()
	for _, m := range s.pools.Members(false) {
		now, ok := s.pools.Coordinate(m.Name, false)
		if !ok || !now.Valid() || m.Status != gossip.StatusAlive {
			continue
		}
		if was, known := state.Coordinate(m.Name); !known || moved(&was, &now) {
			u.Nodes = append(u.Nodes, model.NodeCoordinate{Node: m.Name, Coordinate: now})
		}
	}
	return u
}

// still is the distance in seconds below which a node has not moved: estimates tremble
// by that much, and nobody sorts by less.
const still = 0.0005

func moved(was, now *model.Coordinate) bool {
	if math.Abs(was.Height-now.Height) > still || math.Abs(was.Adjustment-now.Adjustment) > still || len(was.Vec) != len(now.Vec) {
		return true
	}
	for i, v := range was.Vec {
		if math.Abs(v-now.Vec[i]) > still {
			return true
		}
	}
	return false
}
