// Package testbed is the kit of tests with real processes on a network that can fail:
// each host is a network namespace of its own, and all hang on one bridge in another.
// Tests cut, delay and mend the network between hosts, kill, stop and continue
// processes, and fill their disks. Addresses are the same in every bed, since nothing
// leaves its namespaces; the test itself asks through a host's loopback, which no fault
// reaches.
//
// It needs root, ip and tc. Where a bed can't be made New skips the test and says why.
// Everything is removed when the test ends, also by a signal; what a test left that was
// killed is removed when the next one starts.
//
// A process's output is copied by os/exec, and one goroutine a process waits for its
// end; kill waits for both.
package testbed
