// Package rpcpb holds the generated messages of Muster's internal gRPC service,
// and the translation of errors to and from them. It holds no logic and starts
// no goroutine.
package rpcpb

//go:generate protoc --go_out=. --go_opt=paths=source_relative --go-grpc_out=. --go-grpc_opt=paths=source_relative server.proto
