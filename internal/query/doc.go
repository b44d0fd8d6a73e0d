// Package query is the pure half of prepared queries: which definitions are valid,
// which query a name means, what a template makes of the name, and which instances a
// query chooses in which order. It reads no state, asks no clock and starts no
// goroutines: lookup runs queries, apply stores them.
package query
