package wire

import (
	"encoding/json"

	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/view"
)

// queryJSON is a prepared query, in bodies as in answers.
type queryJSON struct {
	ID       string
	Name     string
	Session  string
	Token    string
	Template struct {
		Type            string
		Regexp          string
		RemoveEmptyTags bool
	}
	Service     queryServiceJSON
	DNS         queryDNSJSON
	CreateIndex uint64
	ModifyIndex uint64
}

type queryServiceJSON struct {
	Service        string
	SamenessGroup  string
	Failover       queryFailoverJSON
	OnlyPassing    bool
	IgnoreCheckIDs []string
	Near           string
	Tags           []string
	NodeMeta       map[string]string
	ServiceMeta    map[string]string
	Connect        bool
	Peer           string
}

type queryFailoverJSON struct {
	NearestN    int
	Datacenters []string
	Targets     []queryTargetJSON
}

type queryTargetJSON struct {
	Datacenter string
	Peer       string
}

type queryDNSJSON struct {
	TTL string
}

func queryOf(q *model.Query) *queryJSON {
	s, f := &q.Service, &q.Service.Failover
	j := &queryJSON{ID: q.ID, Name: q.Name, Session: q.Session, Token: q.Token, DNS: queryDNSJSON{q.DNSTTL},
		CreateIndex: q.Create, ModifyIndex: q.Modify,
		Service: queryServiceJSON{Service: s.Service, SamenessGroup: s.SamenessGroup, OnlyPassing: s.OnlyPassing,
			IgnoreCheckIDs: s.IgnoreCheckIDs, Near: s.Near, Tags: s.Tags, NodeMeta: s.NodeMeta, ServiceMeta: s.ServiceMeta,
			Connect: s.Connect, Peer: s.Peer, Failover: queryFailoverJSON{NearestN: f.NearestN, Datacenters: f.Datacenters}}}
	j.Template.Type, j.Template.Regexp, j.Template.RemoveEmptyTags = q.Template.Type, q.Template.Regexp, q.Template.RemoveEmptyTags
	if f.Targets != nil {
		j.Service.Failover.Targets = make([]queryTargetJSON, len(f.Targets))
		for i, t := range f.Targets {
			j.Service.Failover.Targets[i] = queryTargetJSON(t)
		}
	}
	return j
}

// QueriesJSON lists prepared queries.
var QueriesJSON = joined('[', ']', view.Encoder{
	Name:     "queries",
	Fragment: func(value any) any { return encode(queryOf(value.(*model.Query))) },
})

// QueryWithID is the variant of QueriesJSON that holds one query at most.
func QueryWithID(id string) *view.Variant {
	id = model.Fold(id)
	return &view.Variant{Private: true, Select: func(items []*view.Item) ([]*view.Item, error) {
		for _, item := range items {
			if item.Value.(*model.Query).ID == id {
				return []*view.Item{item}, nil
			}
		}
		return nil, nil
	}}
}

// DecodeQuery reads the body of a prepared query's creation or update.
func DecodeQuery(data []byte) (*model.Query, error) {
	type target struct{ Datacenter, Peer, Partition, Namespace string }
	in := struct {
		ID, Name, Session, Token string
		Template                 struct {
			Type, Regexp    string
			RemoveEmptyTags bool
		}
		Service struct {
			Service, SamenessGroup, Near, Peer, Namespace, Partition string
			Failover                                                 struct {
				NearestN    int
				Datacenters []string
				Targets     []target
			}
			OnlyPassing, Connect  bool
			IgnoreCheckIDs, Tags  []string
			NodeMeta, ServiceMeta map[string]string
		}
		DNS                      struct{ TTL string }
		CreateIndex, ModifyIndex any
	}{}
	if err := decode(data, &in, catalogBody); err != nil {
		return nil, decodeFailed(err)
	}
	s, f := &in.Service, &in.Service.Failover
	if err := (enterprise{s.Namespace, s.Partition}).refuse(); err != nil {
		return nil, err
	}
	q := &model.Query{ID: in.ID, Name: in.Name, Session: in.Session, Token: in.Token, DNSTTL: in.DNS.TTL,
		Template: model.QueryTemplate(in.Template),
		Service: model.QueryService{Service: s.Service, SamenessGroup: s.SamenessGroup, Peer: s.Peer, Near: s.Near,
			OnlyPassing: s.OnlyPassing, Connect: s.Connect, IgnoreCheckIDs: s.IgnoreCheckIDs, Tags: s.Tags,
			NodeMeta: s.NodeMeta, ServiceMeta: s.ServiceMeta,
			Failover: model.QueryFailover{NearestN: f.NearestN, Datacenters: f.Datacenters}}}
	if f.Targets != nil {
		q.Service.Failover.Targets = make([]model.QueryTarget, len(f.Targets))
	}
	for i, t := range f.Targets {
		if err := (enterprise{t.Namespace, t.Partition}).refuse(); err != nil {
			return nil, err
		}
		q.Service.Failover.Targets[i] = model.QueryTarget{Datacenter: t.Datacenter, Peer: t.Peer}
	}
	return q, nil
}

// QueryMeta is what answers about one query say of themselves.
type QueryMeta struct {
	Index                 uint64
	LastContact           int64 // nanoseconds
	KnownLeader           bool
	ConsistencyLevel      string
	NotModified           bool
	Backend               int
	ResultsFilteredByACLs bool
}

// QueryExplanation is what a name means.
func QueryExplanation(q *model.Query, m QueryMeta) any {
	return struct {
		Query *queryJSON
		QueryMeta
	}{queryOf(q), m}
}

// queryNode is an instance that a query chose: as in health answers, but what was not
// registered is null.
var queryNode = view.NewEncoder(view.Encoder{
	Name: "query node",
	Fragment: func(value any) any {
		i := value.(*model.Instance)
		h := healthServiceOf(i)
		h.Service.Tags = i.Service.Tags
		if len(h.Checks) == 0 {
			h.Checks = nil
		}
		return json.RawMessage(encode(h))
	},
	Assemble: func([]*view.Item) any { return nil }, // lists are made for each caller, in an order of their own
})

// QueryResult is what a query chose.
func QueryResult(q *model.Query, items []*view.Item, datacenter string, m QueryMeta) any {
	nodes := make([]json.RawMessage, len(items))
	for i, item := range items {
		nodes[i] = item.Fragment(queryNode).(json.RawMessage)
	}
	return struct {
		Service    string
		Nodes      []json.RawMessage
		DNS        queryDNSJSON
		Datacenter string
		PeerName   string
		Failovers  int
		QueryMeta
	}{q.Service.Service, nodes, queryDNSJSON{q.DNSTTL}, datacenter, "", 0, m}
}
