package fsm

import (
	"encoding/binary"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/muster-discovery/muster/internal/model"
)

// The codec of prepared queries and coordinates. The numbers are those of
// pb/log.proto.

func (w *writer) querySet(o *model.QuerySet) {
	w.embed(1, func() { w.query(&o.Query) })
	w.bool(2, o.Update)
}

func (r *reader) querySet(o *model.QuerySet) {
	for r.next() {
		switch r.num {
		case 1:
			r.embedded(func(m *reader) { m.query(&o.Query) })
		case 2:
			o.Update = r.bool()
		default:
			r.unknown("QuerySet")
		}
	}
}

func (w *writer) query(q *model.Query) {
	w.string(1, q.ID)
	w.string(2, q.Name)
	w.string(3, q.Session)
	w.string(4, q.Token)
	w.string(5, q.Template.Type)
	w.string(6, q.Template.Regexp)
	w.bool(7, q.Template.RemoveEmptyTags)
	w.embed(8, func() { w.queryService(&q.Service) })
	w.string(9, q.DNSTTL)
	w.uint(10, q.Create)
	w.uint(11, q.Modify)
}

func (r *reader) query(q *model.Query) {
	for r.next() {
		switch r.num {
		case 1:
			q.ID = r.string()
		case 2:
			q.Name = r.string()
		case 3:
			q.Session = r.string()
		case 4:
			q.Token = r.string()
		case 5:
			q.Template.Type = r.name()
		case 6:
			q.Template.Regexp = r.string()
		case 7:
			q.Template.RemoveEmptyTags = r.bool()
		case 8:
			r.embedded(func(m *reader) { m.queryService(&q.Service) })
		case 9:
			q.DNSTTL = r.name()
		case 10:
			q.Create = r.uint()
		case 11:
			q.Modify = r.uint()
		default:
			r.unknown("Query")
		}
	}
}

func (w *writer) queryService(s *model.QueryService) {
	w.string(1, s.Service)
	w.string(2, s.SamenessGroup)
	w.string(3, s.Peer)
	w.int(4, s.Failover.NearestN)
	w.strings(5, s.Failover.Datacenters)
	if s.Failover.Targets != nil {
		w.embed(6, func() {
			for _, t := range s.Failover.Targets {
				w.embed(1, func() {
					w.string(1, t.Datacenter)
					w.string(2, t.Peer)
				})
			}
		})
	}
	w.bool(7, s.OnlyPassing)
	w.strings(8, s.IgnoreCheckIDs)
	w.string(9, s.Near)
	w.strings(10, s.Tags)
	w.stringMap(11, s.NodeMeta)
	w.stringMap(12, s.ServiceMeta)
	w.bool(13, s.Connect)
}

func (r *reader) queryService(s *model.QueryService) {
	for r.next() {
		switch r.num {
		case 1:
			s.Service = r.name()
		case 2:
			s.SamenessGroup = r.name()
		case 3:
			s.Peer = r.name()
		case 4:
			s.Failover.NearestN = r.int()
		case 5:
			s.Failover.Datacenters = r.strings()
		case 6:
			s.Failover.Targets = r.targets()
		case 7:
			s.OnlyPassing = r.bool()
		case 8:
			s.IgnoreCheckIDs = r.strings()
		case 9:
			s.Near = r.name()
		case 10:
			s.Tags = r.strings()
		case 11:
			s.NodeMeta = r.stringMap(true)
		case 12:
			s.ServiceMeta = r.stringMap(true)
		case 13:
			s.Connect = r.bool()
		default:
			r.unknown("QueryService")
		}
	}
}

func (r *reader) targets() []model.QueryTarget {
	list := []model.QueryTarget{}
	r.embedded(func(m *reader) {
		for m.next() {
			if m.num != 1 {
				m.unknown("QueryTargetList")
				return
			}
			var t model.QueryTarget
			m.embedded(func(e *reader) { e.target(&t) })
			list = append(list, t)
		}
	})
	return list
}

func (r *reader) target(t *model.QueryTarget) {
	for r.next() {
		switch r.num {
		case 1:
			t.Datacenter = r.name()
		case 2:
			t.Peer = r.name()
		default:
			r.unknown("QueryTarget")
		}
	}
}

func (w *writer) coordinateUpdate(u *model.CoordinateUpdate) {
	for i := range u.Nodes {
		w.embed(1, func() { w.nodeCoordinate(&u.Nodes[i]) })
	}
}

func (r *reader) coordinateUpdate(u *model.CoordinateUpdate) {
	for r.next() {
		if r.num != 1 {
			r.unknown("CoordinateUpdate")
			return
		}
		var c model.NodeCoordinate
		r.embedded(func(m *reader) { m.nodeCoordinate(&c) })
		u.Nodes = append(u.Nodes, c)
	}
}

func (w *writer) nodeCoordinate(c *model.NodeCoordinate) {
	w.string(1, c.Node)
	w.optional(2, appendNumbers(nil, c.Coordinate.Error, c.Coordinate.Adjustment, c.Coordinate.Height))
	if len(c.Coordinate.Vec) > 0 {
		w.optional(3, appendNumbers(nil, c.Coordinate.Vec...))
	}
	w.uint(4, c.Create)
	w.uint(5, c.Modify)
}

func (r *reader) nodeCoordinate(c *model.NodeCoordinate) {
	for r.next() {
		switch r.num {
		case 1:
			c.Node = r.name()
		case 2:
			n := r.numbers()
			if len(n) != 3 {
				r.fail(errMalformed)
				return
			}
			c.Coordinate.Error, c.Coordinate.Adjustment, c.Coordinate.Height = n[0], n[1], n[2]
		case 3:
			c.Coordinate.Vec = r.numbers()
		case 4:
			c.Create = r.uint()
		case 5:
			c.Modify = r.uint()
		default:
			r.unknown("NodeCoordinate")
		}
	}
}

// appendNumbers writes IEEE 754 doubles, little endian.
func appendNumbers(b []byte, list ...float64) []byte {
	for _, v := range list {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	return b
}

func (r *reader) numbers() []float64 {
	if !r.want(protowire.BytesType) {
		return nil
	}
	if len(r.raw)%8 != 0 {
		r.fail(errMalformed)
		return nil
	}
	list := make([]float64, len(r.raw)/8)
	for i := range list {
		list[i] = math.Float64frombits(binary.LittleEndian.Uint64(r.raw[8*i:]))
	}
	return list
}
