// Package model holds the plain values that the rest of Muster speaks about:
// nodes, services, checks, commands, topics, error kinds. It has no behaviour
// beyond what follows from the values themselves, imports nothing from Muster and
// starts no goroutine. JSON shapes are in wire, binary ones in pb.
package model
