// Package faults holds the tests that run a cluster on a network of its own and break
// things: see docs/testing.md for how to run them for long and how to repeat a seed.
package faults
