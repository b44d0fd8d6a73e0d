package wire

import (
	"fmt"

	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/view"
)

// removalJSON names an instance that is gone.
type removalJSON struct {
	Node string
	ID   string
}

// changes makes the part of a delta event that is the same for everybody: two members
// of an object, with no bracket around them. Only lists of instances are streamed.
func changes(e *view.Encoder, upsert, remove []*view.Item) []byte {
	size := 64
	for _, item := range upsert {
		size += len(item.Fragment(e).([]byte)) + 1
	}
	b := append(make([]byte, 0, size+64*len(remove)), `"Upsert":[`...)
	for k, item := range upsert {
		if k > 0 {
			b = append(b, ',')
		}
		b = append(b, item.Fragment(e).([]byte)...)
	}
	b = append(b, `],"Remove":[`...)
	for k, item := range remove {
		if k > 0 {
			b = append(b, ',')
		}
		i, ok := item.Value.(*model.Instance)
		if !ok {
			panic(fmt.Sprintf("wire: %s is streamed, but %T has no name", e.Name, item.Value))
		}
		b = append(b, encode(removalJSON{i.Service.Node, i.Service.ID})...)
	}
	return append(b, ']')
}
