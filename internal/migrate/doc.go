// Package migrate carries what is in a registry that speaks Consul's HTTP API into
// another one, or into a file and back: nodes that no agent owns with their services
// and checks, prepared queries, and keys.
//
// A Source walks through what there is and gives it to a Sink: the Importer compares
// with what the target has and writes what is missing, the FileWriter writes lines of
// JSON. It is not for snapshots, which copy a whole state (package snapshot).
//
// The only goroutines are the Importer's workers: their number is bounded, and Wait
// returns after the last one.
package migrate
