// Package consensus replicates commands: a batched, durable log over
// hashicorp/raft, the signal of leadership, and read indexes. It hands committed
// entries to a Machine in the same order on every server, and every proposer the
// result of its own command.
//
// It does not know what a command means, nor forward one to the leader: Commit on
// another server says who leads, and rpc carries the command there.
//
// A Log owns Raft's goroutines and a few of its own: one for each entry in flight
// (see batcher), one that answers read indexes, one that takes snapshots by the log's
// size, one that follows leadership and one that follows who leads, and one that tells
// followers what is committed, with one for each of them meanwhile. All of them end with
// Close.
package consensus
