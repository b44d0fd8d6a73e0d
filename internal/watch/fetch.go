package watch

import (
	"github.com/hashicorp/consul/api"
)

// place is how far a watch has come: where it waits for the next change.
type place struct {
	index uint64
	hash  string // where the API tells one content from another by a hash
}

// fetch asks for what a watch looks at. told is the index of what the handler was
// told last.
type fetch func(c *api.Client, s *Spec, q *api.QueryOptions, told uint64) (any, place, error)

// kind is a type of watches.
type kind struct {
	takes []string // its parameters, besides common
	needs string   // the one that must be there
	fetch fetch
	// lists: the result is a list of what is new, and an empty one is no news.
	lists bool
}

// kinds are those of Consul.
var kinds = map[string]kind{
	"key":           {takes: []string{"key", "stale"}, needs: "key", fetch: fetchKey},
	"keyprefix":     {takes: []string{"prefix", "stale"}, needs: "prefix", fetch: fetchPrefix},
	"services":      {takes: []string{"stale", "filter"}, fetch: fetchServices},
	"nodes":         {takes: []string{"stale", "filter"}, fetch: fetchNodes},
	"service":       {takes: []string{"service", "tag", "passingonly", "stale", "filter"}, needs: "service", fetch: fetchService},
	"checks":        {takes: []string{"service", "state", "stale", "filter"}, fetch: fetchChecks},
	"event":         {takes: []string{"name"}, fetch: fetchEvents, lists: true},
	"connect_roots": {fetch: fetchRoots},
	"connect_leaf":  {takes: []string{"service"}, needs: "service", fetch: fetchLeaf},
	"agent_service": {takes: []string{"service_id"}, needs: "service_id", fetch: fetchAgentService},
}

// at is the place that an answer's index is.
func at(m *api.QueryMeta, err error) (place, error) {
	if err != nil {
		return place{}, err
	}
	return place{index: m.LastIndex}, nil
}

func fetchKey(c *api.Client, s *Spec, q *api.QueryOptions, _ uint64) (any, place, error) {
	pair, meta, err := c.KV().Get(s.Key, q)
	p, err := at(meta, err)
	return pair, p, err
}

func fetchPrefix(c *api.Client, s *Spec, q *api.QueryOptions, _ uint64) (any, place, error) {
	pairs, meta, err := c.KV().List(s.Prefix, q)
	p, err := at(meta, err)
	return pairs, p, err
}

func fetchServices(c *api.Client, _ *Spec, q *api.QueryOptions, _ uint64) (any, place, error) {
	services, meta, err := c.Catalog().Services(q)
	p, err := at(meta, err)
	return services, p, err
}

func fetchNodes(c *api.Client, _ *Spec, q *api.QueryOptions, _ uint64) (any, place, error) {
	nodes, meta, err := c.Catalog().Nodes(q)
	p, err := at(meta, err)
	return nodes, p, err
}

func fetchService(c *api.Client, s *Spec, q *api.QueryOptions, _ uint64) (any, place, error) {
	entries, meta, err := c.Health().ServiceMultipleTags(s.Service, s.Tags, s.PassingOnly, q)
	p, err := at(meta, err)
	return entries, p, err
}

func fetchChecks(c *api.Client, s *Spec, q *api.QueryOptions, _ uint64) (any, place, error) {
	if s.Service != "" {
		checks, meta, err := c.Health().Checks(s.Service, q)
		p, err := at(meta, err)
		return checks, p, err
	}
	state := s.State
	if state == "" {
		state = api.HealthAny
	}
	checks, meta, err := c.Health().State(state, q)
	p, err := at(meta, err)
	return checks, p, err
}

// fetchEvents leaves out what the handler was told already.
func fetchEvents(c *api.Client, s *Spec, q *api.QueryOptions, told uint64) (any, place, error) {
	events, meta, err := c.Event().List(s.Name, q)
	p, err := at(meta, err)
	for i, e := range events {
		if c.Event().IDToIndex(e.ID) == told {
			events = events[i+1:]
			break
		}
	}
	return events, p, err
}

func fetchRoots(c *api.Client, _ *Spec, q *api.QueryOptions, _ uint64) (any, place, error) {
	roots, meta, err := c.Agent().ConnectCARoots(q)
	p, err := at(meta, err)
	return roots, p, err
}

func fetchLeaf(c *api.Client, s *Spec, q *api.QueryOptions, _ uint64) (any, place, error) {
	leaf, meta, err := c.Agent().ConnectCALeaf(s.Service, q)
	p, err := at(meta, err)
	return leaf, p, err
}

func fetchAgentService(c *api.Client, s *Spec, q *api.QueryOptions, _ uint64) (any, place, error) {
	service, _, err := c.Agent().Service(s.ServiceID, q)
	if err != nil {
		return nil, place{}, err
	}
	return service, place{hash: service.ContentHash}, nil
}
