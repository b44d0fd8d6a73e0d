// Package snapshot reads and writes the archives that operators keep: a gzip'd tar
// with what is known of the snapshot, the state as fsm writes it, and checksums of
// both. It is specified in docs/format/snapshot-archive.md.
//
// Archives are streamed; nothing here holds a whole state, asks for the time or
// starts a goroutine. What an archive's state means, and how it comes into a cluster,
// is for fsm and consensus.
package snapshot
