// Package gossip knows which agents exist and which of them are alive. It runs
// hashicorp/serf pools: the LAN pool of all agents of a datacenter and, on
// servers, the WAN pool of the servers of all datacenters. It turns serf's events
// into a bounded stream of the latest status per member, keeps trying to join,
// and refuses pools that are not Muster's, in both directions, by memberlist's
// label.
//
// It does not decide what a death means for the catalog (package leader does),
// and it carries no user data.
//
// Each pool owns the goroutines of its serf instance and one pump that moves
// events; Close ends and awaits the pump. RetryJoin works in its caller's
// goroutine.
package gossip
