// Package limit is admission: how many requests a second, connections of one client
// and snapshots at once this agent lets in. Every refusal is a model.Error of kind
// Limit whose text names the setting, its value and what can be done, and is counted
// by limit.
//
// It is not where requests are read: edges and package rpc ask it, and turn a refusal
// into their protocol. Sizes of single requests are bounded where those are read.
//
// It starts no goroutine: those that wait at a Gate are the callers' own.
package limit
