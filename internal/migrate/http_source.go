package migrate

import (
	"context"
	"fmt"
	"maps"
	"slices"
)

// HTTPSource is a running registry. What is not carried over goes to the sink, too, with
// its reason.
type HTTPSource struct {
	From *Endpoint
	Temp string // folder for the list of keys; empty: the system's
	// Batch is how many keys are read at once. 0: 64, the most that a transaction of
	// Consul takes.
	Batch int
}

// defaultBatch is within the bound of operations in a transaction of Consul (64 before
// it was raised to 128).
const defaultBatch = 64

const (
	reasonAgent   = "an agent owns it: it comes along when that agent joins"
	reasonSession = "sessions are not carried over: their holders make new ones"
	reasonOdd     = "its name is not UTF-8 text, so the source can't tell it"
)

// Walk implements Source.
func (s *HTTPSource) Walk(ctx context.Context, from Position, to Sink) error {
	if !from.Catalog {
		if err := s.catalog(ctx, to); err != nil {
			return err
		}
	}
	if !from.Queries {
		if err := s.queries(ctx, to); err != nil {
			return err
		}
	}
	if err := s.leftovers(ctx, to); err != nil {
		return err
	}
	return s.keys(ctx, from.After, to)
}

func (s *HTTPSource) catalog(ctx context.Context, to Sink) error {
	var nodes []Object
	if err := s.From.get(ctx, "/v1/catalog/nodes", "", &nodes); err != nil {
		return fmt.Errorf("list the nodes: %w", err)
	}
	to.Begin(StageCatalog, len(nodes))
	for _, n := range nodes {
		if err := s.node(ctx, text(n, "Node"), to); err != nil {
			return err
		}
	}
	return to.End(ctx, StageCatalog)
}

func (s *HTTPSource) node(ctx context.Context, name string, to Sink) error {
	n, err := readNode(ctx, s.From, name)
	if err != nil {
		return fmt.Errorf("read node %q: %w", name, err)
	}
	if n == nil {
		return nil // it has gone since the nodes were listed
	}
	if !n.ownedByAgent() {
		return to.Node(ctx, n)
	}
	if err := to.Left(Left{Kind: "node", Name: name, Reason: reasonAgent}); err != nil {
		return err
	}
	for _, svc := range n.Services {
		if err := to.Left(Left{Kind: "service", Name: text(svc, "ID"), Node: name, Reason: reasonAgent}); err != nil {
			return err
		}
	}
	return nil
}

// ownedByAgent goes by the check that gossip keeps: external nodes have none.
func (n *Node) ownedByAgent() bool {
	return slices.ContainsFunc(n.Checks, func(c Object) bool { return text(c, "CheckID") == "serfHealth" })
}

// readNode reads a node with all that is on it, in a stable order, without
// bookkeeping; nil if there is none.
func readNode(ctx context.Context, e *Endpoint, name string) (*Node, error) {
	var found *struct {
		Node     Object
		Services map[string]Object
	}
	if err := e.get(ctx, "/v1/catalog/node/", name, &found); err != nil && statusOf(err) != 404 {
		return nil, err
	}
	if found == nil || found.Node == nil {
		return nil, nil
	}
	n := &Node{Node: plain(found.Node)}
	for _, id := range slices.Sorted(maps.Keys(found.Services)) {
		n.Services = append(n.Services, plain(found.Services[id]))
	}
	if err := e.get(ctx, "/v1/health/node/", name, &n.Checks); err != nil {
		return nil, err
	}
	for _, c := range n.Checks {
		plainCheck(c)
	}
	slices.SortFunc(n.Checks, func(a, b Object) int { return compareText(a, b, "CheckID") })
	return n, nil
}

func (s *HTTPSource) queries(ctx context.Context, to Sink) error {
	var list []Object
	if err := s.From.get(ctx, "/v1/query", "", &list); err != nil {
		if !unavailable(err) {
			return fmt.Errorf("list the prepared queries: %w", err)
		}
		if err := to.Left(Left{Kind: "query", Reason: "they can't be listed: " + err.Error()}); err != nil {
			return err
		}
	}
	to.Begin(StageQueries, len(list))
	slices.SortFunc(list, func(a, b Object) int { return compareText(a, b, "Name", "ID") })
	for _, q := range list {
		if err := s.query(ctx, plain(q), to); err != nil {
			return err
		}
	}
	return to.End(ctx, StageQueries)
}

func (s *HTTPSource) query(ctx context.Context, q Object, to Sink) error {
	name := text(q, "Name")
	if name == "" {
		name = text(q, "ID")
	}
	switch {
	case text(q, "Session") != "":
		return to.Left(Left{Kind: "query", Name: name, Reason: "it belongs to a session, which is not carried over"})
	case text(q, "Token") == hiddenToken:
		return to.Left(Left{Kind: "query", Name: name, Reason: "its token is hidden from the token that is used here: give one with acl:write"})
	}
	return to.Query(ctx, q)
}

// hiddenToken stands for a query's token where the caller may not see it.
const hiddenToken = "<hidden>"

// unavailable tells answers that say that there is no such thing, or none for us.
func unavailable(err error) bool {
	switch statusOf(err) {
	case 401, 403, 404, 405:
		return true
	}
	return false
}

func compareText(a, b Object, fields ...string) int {
	for _, f := range fields {
		if x, y := text(a, f), text(b, f); x != y {
			if x < y {
				return -1
			}
			return 1
		}
	}
	return 0
}
