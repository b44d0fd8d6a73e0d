// Package mirror keeps on a client agent the services that its callers ask for: one
// watch a service at a server, however many callers, current until nobody has asked
// for a while, and kept as it was last known when no server answers. It is the
// source of the agent's views.
//
// It does not choose servers and does not decide who may be answered from it:
// package lookup does. Run ends what is not used; it owns the only goroutine.
package mirror
