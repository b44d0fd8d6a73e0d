// Package leader holds the duties of the leading server: bring the members that
// gossip knows into the catalog, with their serfHealth check, and see that the
// mesh has a root. Each duty is a function of the state and of what gossip says;
// all writes go through the same write path as everyone's.
//
// Run does the work until its context ends, which is when leadership is lost; it
// starts no other goroutine.
package leader
