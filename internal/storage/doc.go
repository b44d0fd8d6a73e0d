// Package storage is the agent's data directory: its format version, its lock
// against a second process, the node's id, and the Journal, a small keyed store
// with group commit for what the agent itself must remember. The replicated log
// and its snapshots live in the directory too, but belong to consensus. Space watches
// what the directory has left, holds a reserve, and says when writes must be refused.
//
// Nothing here starts a goroutine: writers of a Journal take turns in doing the
// disk's work for everyone who waits.
package storage
