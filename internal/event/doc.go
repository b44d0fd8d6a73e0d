// Package event holds user events: small messages that an operator fires and every
// agent of the datacenter hears through gossip. It knows their form in a gossip
// message, which agents they are for, and keeps the recent ones. Delivery is gossip's
// business; the package starts no goroutines.
package event
