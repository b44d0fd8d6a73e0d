package wire

import "time"

// SnapshotComparison is what a restore would replace by what. Muster's own.
type SnapshotComparison struct {
	ID           string
	Index        uint64
	Node         string
	Datacenter   string
	Time         time.Time
	Muster       string
	CurrentIndex uint64
	Kinds        []*SnapshotKind
}

// SnapshotKind is how many things of a kind there are on both sides.
type SnapshotKind struct {
	Kind             string
	Current, Archive uint64
}

// SnapshotMerge is what the restore of a key prefix came to. Muster's own.
type SnapshotMerge struct {
	ID     string
	Index  uint64
	Prefix string
	DryRun bool

	Created, Updated, Unchanged, Deleted int
	Kept                                 int // not in the snapshot, and left
	Transactions                         int
}
