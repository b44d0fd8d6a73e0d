// Package discoveryv1 holds the generated messages and service of Muster's public
// stream protocol. It holds no logic and starts no goroutine.
package discoveryv1

//go:generate protoc -I ../../.. --go_out=../../.. --go_opt=paths=source_relative --go-grpc_out=../../.. --go-grpc_opt=paths=source_relative muster/discovery/v1/discovery.proto
