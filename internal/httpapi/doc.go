// Package httpapi is the HTTP edge: Consul's API under /v1. It turns requests into
// lookups, catalog writes and calls of the local agent, and their answers and
// errors into HTTP, with the headers and texts that Consul's clients know. It
// decides nothing itself: permissions, consistency and validation belong to
// lookup, apply and local. All routes are in routes.go. The package starts no
// goroutine beyond those of net/http.
package httpapi
