// Package dnsapi answers DNS questions about the catalog on UDP and TCP: service,
// connect, node, addr and instance names, RFC 2782 names, SOA and NS of the zone,
// reverse names, and, where recursors are configured, names of other zones. What is
// answered, and by which RFC, is in docs/dns.md.
//
// There are two ways to an answer. The hot path (hot.go, answer.go) reads header
// and question by hand, finds a prepared lookup for the name and copies records
// that the view's frame holds ready; it allocates nothing. Everything it does not
// know goes the general path (general.go) through a DNS library. Both take their
// permission and their frame from lookup, and share the reading of names
// (name.go) and the records of an instance (frame.go), so that they can't
// disagree about what an instance is.
//
// Goroutines: Run owns one reader for each UDP socket, one acceptor for each TCP
// listener, one goroutine for each TCP connection and each datagram on the
// general path, both bounded; it waits for all of them before it returns.
package dnsapi
