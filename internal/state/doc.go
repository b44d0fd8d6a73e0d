// Package state holds the tables of the catalog and is the only owner of truth:
// nodes, services, checks, mesh roots, and for each topic that can be watched the
// index of its last change. It is deterministic: what a command does follows from
// the tables and the command alone.
//
// One goroutine writes, through a Batch: each command is a transaction with an
// index of its own, a batch shares publication. Readers load the published root,
// which never changes, and take no lock. The tables are copy-on-write B-trees, so
// publishing costs the same at any size.
//
// Rows of the published tables are never modified; values handed out by reads are
// shared and must not be modified either. A value whose content did not change
// keeps its address over any number of commands, so readers may compare pointers.
//
// The package starts no goroutine. See DESIGN.md for indexes, topics and
// tombstones.
package state
