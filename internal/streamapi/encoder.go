package streamapi

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/muster-discovery/muster/internal/discovery"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/view"
	"github.com/muster-discovery/muster/internal/wire"
	v1 "github.com/muster-discovery/muster/proto/muster/discovery/v1"
)

// Numbers of fields in discovery.proto that are written by hand here. An instance
// has the same one in snapshots and deltas, so that its bytes serve both.
const (
	responseSnapshot = 4
	responseDelta    = 5
	eventInstance    = 1
	snapshotLast     = 2
	deltaRemove      = 2
)

const (
	// partSize is about how large the parts of a snapshot are.
	partSize = 256 << 10
	// maxDelta is the size above which a snapshot in parts is sent in place of a
	// delta: clients of gRPC refuse messages above 4 MiB unless told otherwise.
	maxDelta = 1 << 20
)

// instances makes the frames: for a snapshot a [][]byte of parts, for a change a
// []byte, each the bytes of one field of a WatchResponse. They are the same for
// every stream; what differs is added when one is sent, see session.frame.
var instances = newEncoder()

func newEncoder() *view.Encoder {
	var made *view.Encoder
	made = view.NewEncoder(view.Encoder{
		Name: "discovery",
		Fragment: func(value any) any {
			return field(nil, eventInstance, encode(discovery.Encode(value.(*model.Instance))))
		},
		Assemble:    func(items []*view.Item) any { return parts(made, items) },
		Changes:     func(upsert, remove []*view.Item) any { return delta(made, upsert, remove) },
		FilterValue: wire.HealthServiceJSON.FilterValue,
		FilterZero:  wire.HealthServiceJSON.FilterZero,
	})
	return made
}

// field appends a field that holds bytes, a text or a message.
func field(to []byte, number protowire.Number, value []byte) []byte {
	if to == nil {
		to = make([]byte, 0, len(value)+8)
	}
	return protowire.AppendBytes(protowire.AppendTag(to, number, protowire.BytesType), value)
}

// parts cuts a snapshot; there is at least one part, the last.
func parts(e *view.Encoder, items []*view.Item) [][]byte {
	var all [][]byte
	var part []byte
	for _, item := range items {
		b := item.Fragment(e).([]byte)
		if len(part) > 0 && len(part)+len(b) > partSize {
			all = append(all, field(nil, responseSnapshot, part))
			part = part[:0]
		}
		part = append(part, b...)
	}
	part = protowire.AppendVarint(protowire.AppendTag(part, snapshotLast, protowire.VarintType), 1)
	return append(all, field(nil, responseSnapshot, part))
}

func delta(e *view.Encoder, upsert, remove []*view.Item) []byte {
	var b []byte
	for _, item := range upsert {
		b = append(b, item.Fragment(e).([]byte)...)
	}
	for _, item := range remove {
		s := item.Value.(*model.Instance).Service
		b = field(b, deltaRemove, encode(&v1.Removal{Node: discovery.Text(s.Node), Id: discovery.Text(s.ID)}))
	}
	return field(nil, responseDelta, b)
}

// encode panics where the library fails: it refuses only texts that are not UTF-8,
// which are mended before.
func encode(m proto.Message) []byte {
	b, err := proto.Marshal(m)
	if err != nil {
		panic(fmt.Sprintf("streamapi: encode %T: %v", m, err))
	}
	return b
}
