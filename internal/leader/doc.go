// Package leader holds the duties of the leading server: bring the members that
// gossip knows into the catalog, with their serfHealth check, see that the mesh has
// a root, and end sessions and lock delays whose time has passed. Each duty is a function of the state and of what gossip says;
// all writes go through the same write path as everyone's.
//
// Run does the work until its context ends, which is when leadership is lost. It
// starts two more goroutines, for what ends by time, and awaits them.
package leader
