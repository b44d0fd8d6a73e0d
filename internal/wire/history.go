package wire

import (
	"time"

	"github.com/muster-discovery/muster/internal/model"
)

// Revision is an entry of a key's history.
type Revision struct {
	Index     uint64
	Time      *time.Time // null: not recorded
	Accessor  string
	Source    string
	Operation string
	Txn       bool
	Deleted   bool
	Flags     uint64
	Session   string
	Size      int
	Value     []byte // base64; null also where values were not asked for
}

// RevisionsJSON are revisions as answers have them, with or without their values.
func RevisionsJSON(list []*model.Revision, values bool) []Revision {
	out := make([]Revision, len(list))
	for i, r := range list {
		v := Revision{Index: r.Index, Accessor: r.Accessor, Source: r.Source, Operation: r.Kind.String(), Txn: r.Txn, Deleted: r.Entry == nil}
		if !r.Time.IsZero() {
			v.Time = &r.Time
		}
		if e := r.Entry; e != nil {
			v.Flags, v.Session, v.Size = e.Flags, e.Session, len(e.Value)
			if values {
				v.Value = e.Value
			}
		}
		out[i] = v
	}
	return out
}
