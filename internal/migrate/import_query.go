package migrate

import (
	"context"
	"fmt"
	"maps"
	"net/http"
)

// Query implements Sink. Queries are few: they are done one after the other.
func (i *Importer) Query(ctx context.Context, q Object) error {
	defer i.done.Add(1)
	if err := i.listQueries(ctx); err != nil {
		return err
	}
	name := queryName(q)
	old := i.queries[name]
	body := maps.Clone(q)
	delete(body, "ID") // the target makes its own
	finding := Finding{Kind: "query", Name: name}
	_, err := i.decide(&i.tally.r.Queries, old == nil, old != nil && sameObject(withoutID(old), body), finding, func() error {
		if old != nil {
			return i.to.send(ctx, http.MethodPut, "/v1/query/", text(old, "ID"), body, nil)
		}
		return i.to.send(ctx, http.MethodPost, "/v1/query", "", body, nil)
	})
	return err
}

// listQueries reads the target's queries, once.
func (i *Importer) listQueries(ctx context.Context) error {
	if i.queries != nil {
		return nil
	}
	var list []Object
	if err := i.to.get(ctx, "/v1/query", "", &list); err != nil {
		return fmt.Errorf("list the target's prepared queries: %w", err)
	}
	i.queries = make(map[string]Object, len(list))
	for _, q := range list {
		i.queries[queryName(q)] = plain(q)
	}
	return nil
}

// queryName is by what a query is known on both sides: ids are each registry's own.
// There is one template without a name at most.
func queryName(q Object) string {
	if name := text(q, "Name"); name != "" {
		return name
	}
	return "(template without a name)"
}

func withoutID(q Object) Object {
	c := maps.Clone(q)
	delete(c, "ID")
	return c
}
