package model

// TopicKind is a class of things that can be watched.
type TopicKind uint8

// The values are part of log and snapshot format 1: never renumber, only append.
const (
	TopicNodes        TopicKind = 1 // the list of nodes; Name is empty
	TopicNode         TopicKind = 2 // one node, its services and its checks; Name is the folded node name
	TopicServices     TopicKind = 3 // the list of services with their tags; Name is empty
	TopicService      TopicKind = 4 // the instances of one service with node and checks; Name is the service name
	TopicConnect      TopicKind = 5 // mesh-capable instances for one destination service
	TopicChecks       TopicKind = 6 // all checks, for /v1/health/state/any; Name is empty
	TopicChecksState  TopicKind = 7 // all checks in one state; Name is the state
	TopicServiceCheck TopicKind = 8 // the checks of one service, for /v1/health/checks/:service
	TopicNodeChecks   TopicKind = 9 // the checks of one node, for /v1/health/node/:node
	TopicCARoots      TopicKind = 10
	TopicKVKey        TopicKind = 11 // one key; Name is the key, any bytes
	TopicKVPrefix     TopicKind = 12 // all keys that begin with Name; the state reports keys only
	TopicSessions     TopicKind = 13 // all sessions; Name is empty
	TopicSession      TopicKind = 14 // one session; Name is its id
	TopicNodeSessions TopicKind = 15 // the sessions of one node; Name is the folded node name
	TopicTimers       TopicKind = 16 // sessions and lock delays that the leader ends; Name is empty
	TopicState        TopicKind = 17 // everything: has an index, no items, and is never reported
	TopicQueries      TopicKind = 18 // all prepared queries; Name is empty
	TopicCoordinates  TopicKind = 19 // where nodes are in the network; Name is empty
)

// Topic names one thing that can be watched. It has an index also while the
// thing does not exist.
type Topic struct {
	Kind TopicKind
	Name string
}

// Fold is the form in which names of nodes and services are matched: clients see
// them as they were registered, lookups don't mind their case. Only ASCII is
// folded, so that the result does not hang on a Unicode version: servers of
// different builds must agree on it.
func Fold(name string) string {
	for i := 0; i < len(name); i++ {
		if c := name[i]; 'A' <= c && c <= 'Z' {
			b := []byte(name)
			for ; i < len(b); i++ {
				if c := b[i]; 'A' <= c && c <= 'Z' {
					b[i] = c + ('a' - 'A')
				}
			}
			return string(b)
		}
	}
	return name
}

// NewTopic is the topic for a name as a client spelled it. Topics that the state
// reports are in this form, so everyone who keys by topic must make it here.
func NewTopic(kind TopicKind, name string) Topic {
	switch kind {
	case TopicNode, TopicNodeChecks, TopicService, TopicConnect, TopicServiceCheck, TopicNodeSessions:
		return Topic{Kind: kind, Name: Fold(name)}
	}
	return Topic{Kind: kind, Name: name}
}
