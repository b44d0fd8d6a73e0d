// Package rpc connects Muster's servers. One TCP port carries two kinds of
// streams, told apart by a preamble of four bytes: Raft's and gRPC's. Mux accepts
// them and refuses everything else (a Consul server's first byte, a web browser);
// Pool keeps one gRPC connection to each server that this one talks to, found by
// its id at dial time, and speaks the service of rpcpb over it with errors that
// keep their kind.
//
// The handlers behind the service are in package rpcapi. Authorization is not
// done here.
//
// A Mux owns its accept loop and one short-lived goroutine per connection whose
// preamble is still outstanding; Close ends and awaits them. gRPC's own
// goroutines end with Pool.Close and Server.Stop.
package rpc
