package model

import "time"

// Revision is one recorded write of a key: an entry of its history.
type Revision struct {
	Key      string
	Index    uint64    // of the command that wrote it
	Time     time.Time // the proposer's clock; zero: not recorded
	Accessor string    // id of the token used
	Source   string    // what the write came through
	Kind     RevisionKind
	Txn      bool     // part of a transaction
	Entry    *KVEntry // nil: the key was deleted
}

// RevisionKind is what was done to a key. Those below RevisionSessionEnd are verbs.
type RevisionKind uint8

// The values are part of snapshot format 1: never renumber, only append.
const (
	RevisionUnknown    RevisionKind = 0  // written before history was kept
	RevisionSessionEnd RevisionKind = 32 // the session that held the key as a lock has ended
)

func (k RevisionKind) String() string {
	switch k {
	case RevisionUnknown:
		return "unknown"
	case RevisionSessionEnd:
		return "session-end"
	}
	return KVVerb(k).String()
}

// KVHistory says how much of the past of keys is kept: a replicated setting, since all
// servers must keep the same.
type KVHistory struct {
	Revisions uint64 // most of one key, its present one included; 0: no history is kept
	MaxBytes  uint64 // most that all past ones may take
	Indexes
}

// Same compares what is set.
func (h *KVHistory) Same(o *KVHistory) bool {
	return h.Revisions == o.Revisions && h.MaxBytes == o.MaxBytes
}

// KVHistorySet replaces the setting.
type KVHistorySet struct {
	Config KVHistory
}
