// Package failover acts on hints: the end of a connection says in a millisecond what
// a timeout says in seconds, but it may be wrong. So a hint decides nothing. It starts
// a question, and the answer of several servers decides.
//
// A lost leader: each server keeps a connection to every other one for this purpose.
// When the one to the leader ends, a guard makes sure that the leader is gone, that
// the others have lost it too, and that this server is the best placed to follow it.
// Then it stands for election at once (guard.go: the decisions, lost.go: the walk
// through them). A host that falls silent gives no hint and is left to Raft's timeout.
//
// A lost agent: when its connection ends, all servers knock at its gossip port. If all
// say that nothing listens there any more, its serfHealth becomes critical before
// gossip has noticed. Who has the last word, gossip or the servers' verdict, is
// decided in verdicts.go and nowhere else.
//
// Both are shown in docs/failover.md. The package knows neither Raft nor the catalog:
// it tells its owner to stand for election, and shows the members as the leader's
// duties are to see them.
//
// Hints owns all goroutines: one for each connection it keeps, one or two for each it
// accepts, and bounded ones for questions under way. Run awaits them. A client agent
// runs a Hold instead, which owns one.
package failover
