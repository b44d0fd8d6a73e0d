// Package acl decides what a token may do. Today one authorizer exists, which
// allows everything; every read and write path already asks it, at one place
// each, so that rules come in without touching the edges.
package acl

// Access is what a caller wants to do with a resource.
type Access uint8

const (
	Read Access = iota + 1
	Write
)

// Resource is a class of things that rules speak about.
type Resource uint8

const (
	Node Resource = iota + 1
	Service
	Agent
	Operator
	Key     // entries of the key/value store, by key
	Session // by the name of their node
	Query   // prepared queries, by name
	UserEvent
	Keyring // gossip keys
)

// Authorizer answers for one token. Calls may overlap.
type Authorizer interface {
	// Allowed reports whether the token may access the named thing of a class.
	Allowed(r Resource, name string, a Access) bool
	// AllowsAll reports whether the token may access everything of a class, so
	// that shared frames need no filtering.
	AllowsAll(r Resource, a Access) bool
}

// AllowAll permits everything.
type AllowAll struct{}

func (AllowAll) Allowed(Resource, string, Access) bool { return true }
func (AllowAll) AllowsAll(Resource, Access) bool       { return true }
