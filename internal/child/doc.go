// Package child runs a program as a process group of its own and ends it in order:
// SIGTERM, a time of grace, SIGKILL. Watches run their handlers with it, and the
// command lock what it guards.
//
// It decides nothing: who starts a Child waits for its end or stops it. Each Child
// has one goroutine, which ends with the program.
package child
