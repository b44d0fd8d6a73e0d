package state

import (
	"fmt"

	"github.com/muster-discovery/muster/internal/model"
)

// coordinateRow is a node's place under the node's folded name.
type coordinateRow struct {
	node string
	model.NodeCoordinate
}

func (t *tables) coordinate(node string) *coordinateRow {
	row, _ := t.coordinates.Get(&coordinateRow{node: node})
	return row
}

// UpdateCoordinates places nodes in the network. Nodes that are not registered are
// passed over: their agents tell again.
func (b *Batch) UpdateCoordinates(meta *model.CommandMeta, u *model.CoordinateUpdate) (uint64, error) {
	index := b.begin(meta)
	t := b.s.work
	for _, in := range u.Nodes {
		key := model.Fold(in.Node)
		node := t.node(key)
		if node == nil || !in.Coordinate.Valid() {
			continue
		}
		row := &coordinateRow{node: key, NodeCoordinate: in}
		row.Node, row.Indexes = node.node.Name, model.Indexes{Create: index, Modify: index}
		if old := t.coordinate(key); old != nil {
			row.Create = old.Create
		}
		t.coordinates.Set(row)
		b.touch(model.TopicCoordinates, "")
	}
	b.end()
	return index, nil
}

// dropCoordinate forgets the place of a node that went.
func (b *Batch) dropCoordinate(node string) {
	if row := b.s.work.coordinate(node); row != nil {
		b.s.work.coordinates.Delete(row)
		b.touch(model.TopicCoordinates, "")
	}
}

// Coordinate is where a node is, false if that is not known.
func (s *Snapshot) Coordinate(node string) (model.Coordinate, bool) {
	if row := s.t.coordinate(model.Fold(node)); row != nil {
		return row.Coordinate, true
	}
	return model.Coordinate{}, false
}

func (r *Restorer) addCoordinate(c *model.NodeCoordinate) error {
	t := r.s.work
	key := model.Fold(c.Node)
	node := t.node(key)
	if node == nil || t.coordinate(key) != nil || !c.Coordinate.Valid() {
		return fmt.Errorf("coordinate of %q: impossible, of no node, or twice", c.Node)
	}
	row := &coordinateRow{node: key, NodeCoordinate: *c}
	row.Node = node.node.Name
	t.coordinates.Load(row)
	return nil
}
