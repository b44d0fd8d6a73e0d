// Package fsm is the deterministic state machine behind the log: it decodes
// entries, turns each command into one transaction of the state, answers
// repeated commands from the table of recent request ids, and writes and restores
// snapshots. It reads no clock, asks no one and starts no goroutine; consensus
// calls it from one goroutine at a time.
package fsm
