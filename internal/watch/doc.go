// Package watch waits for changes over the HTTP API and tells a handler, a program
// or an HTTP address, what is there now. A handler is told when the result is not
// the one that it was told last: not because of a wake-up without news, a new
// connection or a reload of the configuration.
//
// It runs the watches of configuration files in the agent, which lends it the API
// without a port, and the command watch. It keeps nothing on disk: after a restart
// each handler is told once what there is.
//
// A Watch runs in its caller's goroutine. A Set owns one goroutine a watch, from the
// Apply that brings it to the Apply or Close that ends it.
package watch
