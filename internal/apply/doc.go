// Package apply is the one write path. Every edge hands its writes here: they are
// checked, authorized, encoded as commands and committed, by this server's log if
// it leads, else by the leader's. A write is repeated across an election under
// its request id, which the state machine uses to apply it once.
//
// The package starts no goroutine; every call is bounded by its context and by
// Config.Hold.
package apply
