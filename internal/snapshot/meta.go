package snapshot

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/muster-discovery/muster/internal/fsm"
)

// Format marks our archives: Consul's have files of the same names.
const Format = "muster-snapshot"

// Version is that of the archive. The state has one of its own.
const Version = 1

// Meta is meta.json: what is known of a snapshot without reading its state.
type Meta struct {
	Format     string
	Version    int
	ID         string    // tells snapshots apart: term, index and milliseconds
	Index      uint64    // of the state
	Term       uint64    // of the leader, 0 if it was not known
	Node       string    // that wrote it
	Datacenter string    // that the state is of
	Time       time.Time // by the clock of that node
	Muster     string    // version that wrote it
	StateBytes int64
	Kinds      []fsm.Kind // what the state holds
}

// complete fills in what follows from the state.
func (m *Meta) complete(s fsm.Summary) {
	m.Format, m.Version = Format, Version
	m.Index, m.StateBytes, m.Kinds = s.Header.Index, s.Bytes, s.Kinds
	m.ID = fmt.Sprintf("%d-%d-%d", m.Term, m.Index, m.Time.UnixMilli())
}

func parseMeta(data []byte) (m Meta, err error) {
	// Consul's has fields of these names, too, among others.
	var shape map[string]json.RawMessage
	if err := json.Unmarshal(data, &shape); err != nil {
		return m, refuse("%s is not JSON: %v", metaFile, err)
	}
	if _, ours := shape["Format"]; !ours {
		for _, theirs := range []string{"Configuration", "ConfigurationIndex", "Peers"} {
			if _, ok := shape[theirs]; ok {
				return m, &Error{"this is a snapshot of Consul: restore it with Consul, and bring its contents over from there"}
			}
		}
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return m, refuse("%s: %v", metaFile, err)
	}
	if m.Format != Format {
		return m, refuse("%s does not say that it belongs to a snapshot of Muster", metaFile)
	}
	if m.Version != Version {
		return m, &Error{fmt.Sprintf("the snapshot has archive version %d, this version of Muster knows %d: use the version that wrote it (%s) or a later one", m.Version, Version, m.Muster)}
	}
	return m, nil
}

// agrees compares with what the state itself says.
func (m *Meta) agrees(s fsm.Summary) error {
	if m.Index != s.Header.Index || m.StateBytes != s.Bytes || len(m.Kinds) != len(s.Kinds) {
		return refuse("%s is not about this state", metaFile)
	}
	for i, k := range m.Kinds {
		if k != s.Kinds[i] {
			return refuse("%s is not about this state", metaFile)
		}
	}
	return nil
}

// Error says why an archive is refused. The fault is the archive's, nothing was done
// with it.
type Error struct{ text string }

func (e *Error) Error() string { return e.text }

// refuse is for files that are damaged or no snapshots at all.
func refuse(format string, args ...any) error {
	return &Error{"not a whole snapshot of Muster: " + fmt.Sprintf(format, args...) +
		"; give the file that \"muster snapshot save\" wrote, or an older one"}
}
