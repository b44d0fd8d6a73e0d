// Package discovery is the side of the stream protocol that both ends have in
// common, and the client's: instances to and from the messages of
// muster.discovery.v1, without loss, and Mux, which keeps any number of watches up
// to date over one stream and finds another server when that ends.
//
// It is not the server's side, which is streamapi, and it decides nothing about
// which server to ask: the caller's Dial does.
//
// Mux.Run owns the goroutines: it reads in its own and sends in one more for each
// stream, and ends both before it returns.
package discovery
