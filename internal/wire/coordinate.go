package wire

import (
	"encoding/json"

	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/view"
)

type vivaldiJSON struct {
	Vec        []float64
	Error      float64
	Adjustment float64
	Height     float64
}

// CoordinateJSON is where a node is.
type CoordinateJSON struct {
	Node    string
	Segment string
	Coord   vivaldiJSON
}

// CoordinateOf is a coordinate as clients see it.
func CoordinateOf(node string, c model.Coordinate) CoordinateJSON {
	return CoordinateJSON{Node: node, Coord: vivaldiJSON(c)}
}

// CoordinatesJSON lists where nodes are.
var CoordinatesJSON = joined('[', ']', view.Encoder{
	Name: "coordinates",
	Fragment: func(value any) any {
		c := value.(*model.NodeCoordinate)
		return encode(CoordinateOf(c.Node, c.Coordinate))
	},
})

// CoordinateOfNode is the variant of CoordinatesJSON that holds one node at most.
func CoordinateOfNode(node string) *view.Variant {
	node = model.Fold(node)
	return &view.Variant{Private: true, Select: func(items []*view.Item) ([]*view.Item, error) {
		for _, item := range items {
			if model.Fold(item.Value.(*model.NodeCoordinate).Node) == node {
				return []*view.Item{item}, nil
			}
		}
		return nil, nil
	}}
}

// AreaCoordinates are the places of a datacenter's servers.
type AreaCoordinates struct {
	Datacenter  string
	AreaID      string
	Coordinates []CoordinateJSON
}

// DecodeCoordinate reads the body of an update.
func DecodeCoordinate(data []byte) (*model.NodeCoordinate, error) {
	in := struct {
		Node, Segment, Namespace, Partition string
		Coord                               *struct {
			Vec                       []any
			Error, Adjustment, Height any
		}
	}{}
	if err := decode(data, &in, catalogBody); err != nil {
		return nil, decodeFailed(err)
	}
	if err := (enterprise{in.Namespace, in.Partition}).refuse(); err != nil {
		return nil, err
	}
	out := &model.NodeCoordinate{Node: in.Node}
	if in.Coord == nil {
		return out, nil // refused later, as one of the wrong dimension
	}
	for _, f := range []struct {
		name string
		from any
		to   *float64
	}{
		{"Coord.Error", in.Coord.Error, &out.Coordinate.Error},
		{"Coord.Adjustment", in.Coord.Adjustment, &out.Coordinate.Adjustment},
		{"Coord.Height", in.Coord.Height, &out.Coordinate.Height},
	} {
		if err := assignFloat(f.from, f.to, f.name); err != nil {
			return nil, decodeFailed(err)
		}
	}
	out.Coordinate.Vec = make([]float64, len(in.Coord.Vec))
	for i, v := range in.Coord.Vec {
		if err := assignFloat(v, &out.Coordinate.Vec[i], "Coord.Vec"); err != nil {
			return nil, decodeFailed(err)
		}
	}
	return out, nil
}

func assignFloat(v any, to *float64, path string) (err error) {
	switch v := v.(type) {
	case nil:
		return nil
	case float64:
		*to = v
		return nil
	case json.Number:
		*to, err = v.Float64()
		return err
	}
	return mismatch(path, "a number", v)
}
