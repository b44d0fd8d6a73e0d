// Package e2e tests the real binary: processes, ports, files, signals. Where a
// process is involved the tests wait for a condition with a deadline, never for a
// time.
package e2e
