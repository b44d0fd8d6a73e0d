// Package rpcapi is what servers answer each other on the gRPC side of the server
// port: it translates rpcpb's messages to calls of the write path, the read path
// and the agent, and their errors back. It decides nothing and starts no
// goroutine.
package rpcapi
