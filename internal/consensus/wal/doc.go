// Package wal is the durable log behind consensus: a raft.LogStore in segment
// files that only ever grow at their end, are cut at their end when an
// uncommitted suffix is replaced, and are removed whole at the head once a
// snapshot covers them. It was chosen by the kill test in test/kill; DESIGN.md has
// the figures and the reasons.
//
// It is not a general log: there is one writer (Raft's main goroutine), indexes
// are contiguous, and entries are small enough to be read whole. It starts no
// goroutine. The format is specified in docs/format/log.md.
package wal
