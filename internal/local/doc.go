// Package local holds what is registered on this agent, of which the agent is
// the authority: services, checks with their states, maintenance mode. It keeps
// them on disk, runs the checks through package check, and brings the catalog to
// the same content (anti-entropy).
//
// Writes are made in units: a service with its sidecar and all their checks, or
// one check of the node. A unit is one record on disk, so it changes as a whole.
// Everything handed out (services, checks, definitions) is immutable.
//
// It does not answer questions about other nodes, and it decides nothing about
// permissions: the edges ask before they call, and the catalog refuses what a
// definition's token may not do.
//
// Local.Run owns all goroutines: the check scheduler, the writer of check states,
// the pusher and the calls to the catalog that it starts, and the watches of other
// nodes that aliases follow.
package local
