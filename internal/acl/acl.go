// Package acl decides what a token may do. It has the policy language (Parse), the
// compiled decisions (Compile), their explanation (Why), the rules that identities
// and templates stand for (Expand), and what a valid policy, role and token is.
//
// Everything is a pure function of its arguments: no state, no clock, no network.
// Who a secret belongs to is decided elsewhere. What was compiled is immutable and
// may be asked by any number of goroutines.
package acl

// Access is what a caller wants to do with a resource.
type Access uint8

const (
	Read Access = iota + 1
	Write
	List // read all keys of a tree at once; asked only where the operator wants it
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
	ACL     // tokens, policies, roles and what belongs to them
	Mesh
	Peering
	// Intention is asked by the name of the destination. Its rules are a part of
	// those of services. A destination of * is every service: ask AllowsAll.
	Intention

	resources = iota + 1
)

// Authorizer answers for one token. Calls may overlap.
type Authorizer interface {
	// Allowed reports whether the token may access the named thing of a class.
	Allowed(r Resource, name string, a Access) bool
	// AllowsAll reports whether the token may access everything of a class, so
	// that shared frames need no filtering.
	AllowsAll(r Resource, a Access) bool
}

// PrefixAuthorizer is an Authorizer that can answer for a part of a class.
type PrefixAuthorizer interface {
	Authorizer
	// AllowsPrefix reports whether the token may access everything whose name
	// begins with prefix, whether it exists yet or not.
	AllowsPrefix(r Resource, prefix string, a Access) bool
}

// AllowsPrefix asks auth for everything below a prefix. An authorizer that can't
// tell has to allow the whole class.
func AllowsPrefix(auth Authorizer, r Resource, prefix string, a Access) bool {
	if p, ok := auth.(PrefixAuthorizer); ok {
		return p.AllowsPrefix(r, prefix, a)
	}
	return auth.AllowsAll(r, a)
}

// AllowAll permits everything.
type AllowAll struct{}

func (AllowAll) Allowed(Resource, string, Access) bool { return true }
func (AllowAll) AllowsAll(Resource, Access) bool       { return true }
