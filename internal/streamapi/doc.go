// Package streamapi is the server's side of the public stream protocol,
// muster.discovery.v1: it translates its messages to streams of the read path and
// their events back. It decides nothing. Frames are encoded once for all streams.
//
// Each stream has two goroutines besides gRPC's own: one reads requests, one writes
// events. Both end with the stream; Wait waits for those of all streams.
package streamapi
