package model

// Query is a prepared query: a stored question for the instances of a service,
// asked by its name or id. Immutable once in the state.
type Query struct {
	ID       string
	Name     string // empty only with a session or a template
	Session  string // the query goes with it; empty: it stays
	Token    string // used in place of the caller's; empty: the caller's is
	Template QueryTemplate
	Service  QueryService
	DNSTTL   string // a duration; empty: as for the service
	Indexes
}

// QueryPrefixMatch is the one type of template: the query answers for all names
// that begin with its own.
const QueryPrefixMatch = "name_prefix_match"

// QueryTemplate makes a query answer for many names. An empty Type is none.
type QueryTemplate struct {
	Type            string
	Regexp          string
	RemoveEmptyTags bool
}

// QueryService is what a query asks for. In a template all texts may hold
// interpolations. Nil and empty are told apart: clients see null or [].
type QueryService struct {
	Service        string
	SamenessGroup  string // kept for clients, without effect
	Peer           string // the same
	Failover       QueryFailover
	OnlyPassing    bool
	IgnoreCheckIDs []string
	Near           string
	Tags           []string // "!tag" excludes
	NodeMeta       map[string]string
	ServiceMeta    map[string]string
	Connect        bool
}

// QueryFailover says where else to ask when nothing was found here.
type QueryFailover struct {
	NearestN    int
	Datacenters []string
	Targets     []QueryTarget
}

// QueryTarget is one place to ask.
type QueryTarget struct {
	Datacenter string
	Peer       string
}

// QuerySet creates a query, or replaces one if Update is set.
type QuerySet struct {
	Query  Query
	Update bool
}

// QueryDeletion removes a query.
type QueryDeletion struct {
	ID string
}
