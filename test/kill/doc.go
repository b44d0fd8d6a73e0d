// Package kill holds the tests that decide whether what was acknowledged
// survives: a child process writes, is killed with SIGKILL at a random instant, and
// what it left is compared with what it had acknowledged over a pipe. The child is
// this test binary itself.
//
// CI runs a few kills. A change to the log, the journal or the consensus around
// them is not done before
//
//	go test ./test/kill -kills=500 -timeout=30m
//
// has passed. The seed is printed and can be given with -seed; as the kill comes at
// an instant of real time, it repeats the operations, not the outcome.
package kill
