package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/muster-discovery/muster/internal/apply"
	"github.com/muster-discovery/muster/internal/lookup"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/query"
	"github.com/muster-discovery/muster/internal/wire"
)

// Queries are the prepared queries. Calls may overlap.
type Queries interface {
	CreateQuery(ctx context.Context, c apply.Caller, dc string, q *model.Query) (id string, err error)
	UpdateQuery(ctx context.Context, c apply.Caller, dc string, q *model.Query) error
	DeleteQuery(ctx context.Context, c apply.Caller, dc, id string) error
	Execute(ctx context.Context, x *lookup.Execution) (*lookup.Executed, error)
	FindQuery(ctx context.Context, r *lookup.Request, name string) (*lookup.Executed, error)
}

var topicQueries = model.Topic{Kind: model.TopicQueries}

func queryCreate(c *call) error {
	q, err := c.queryBody()
	if err != nil {
		return err
	}
	id, err := c.s.cfg.Queries.CreateQuery(c.r.Context(), c.caller(), c.dc, q)
	if err != nil {
		return queryRefused(err)
	}
	return c.json(struct{ ID string }{id})
}

func (c *call) queryBody() (*model.Query, error) {
	body, err := c.body()
	if err != nil {
		return nil, err
	}
	return wire.DecodeQuery(body)
}

// queryRefused gives what the state found the text that clients know.
func queryRefused(err error) error {
	var e *model.Error
	if errors.As(err, &e) && e.Kind == model.KindConflict {
		return &statusError{http.StatusInternalServerError, "raft apply failed: " + e.Text}
	}
	return rpc(err)
}

func queryList(c *call) error {
	return c.read(topicQueries, wire.QueriesJSON, lookup.Question{})
}

// Paths below a query's name end in what is asked of it.
const (
	querySpecific = "/v1/query/"
	queryExecute  = "/execute"
	queryExplain  = "/explain"
)

func queryGet(c *call) error {
	if name, ok := strings.CutSuffix(c.id, queryExecute); ok {
		return c.executeQuery(name)
	}
	if name, ok := strings.CutSuffix(c.id, queryExplain); ok {
		return c.explainQuery(name)
	}
	if err := query.CheckID(c.id); err != nil {
		return rpc(model.Errorf(model.KindInvalid, "failed prepared query lookup: index error: %v", err))
	}
	if err := c.lookupVariant(topicQueries, wire.QueriesJSON, wire.QueryWithID(c.id)); err != nil {
		return err
	}
	if c.answer.Count == 0 {
		return rpc(lookup.ErrNoQuery)
	}
	return c.sendConsistent()
}

func queryPut(c *call) error {
	if c.queryVerb() {
		return c.queryMethod()
	}
	q, err := c.queryBody()
	if err != nil {
		return err
	}
	q.ID = c.id
	if err := c.s.cfg.Queries.UpdateQuery(c.r.Context(), c.caller(), c.dc, q); err != nil {
		return queryRefused(err)
	}
	return c.nothing()
}

func queryDelete(c *call) error {
	if c.queryVerb() {
		return c.queryMethod()
	}
	if err := c.s.cfg.Queries.DeleteQuery(c.r.Context(), c.caller(), c.dc, c.id); err != nil {
		return queryRefused(err)
	}
	return c.nothing()
}

// queryVerb reports whether the path asks for something that can only be read.
func (c *call) queryVerb() bool {
	return strings.HasSuffix(c.id, queryExecute) || strings.HasSuffix(c.id, queryExplain)
}

// queryMethod refuses a method. The methods go by the end of the path, which the
// table of routes does not look at.
func (c *call) queryMethod() error {
	allow := "GET,PUT,DELETE"
	if c.queryVerb() {
		allow = get
	}
	c.w.Header()["Allow"] = []string{allow}
	c.text(http.StatusMethodNotAllowed, "method "+c.r.Method+" not allowed")
	return nil
}

func (c *call) executeQuery(name string) error {
	if err := c.request(topicQueries, wire.QueriesJSON); err != nil {
		return err
	}
	x := &lookup.Execution{Request: c.req, Name: name, Near: c.near}
	if s, ok := c.get("limit"); ok && s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			return &statusError{http.StatusInternalServerError, "Bad limit: " + err.Error()}
		}
		x.Limit = n
	}
	if s, ok := c.get("connect"); ok {
		on, err := strconv.ParseBool(s)
		if err != nil {
			return &statusError{http.StatusInternalServerError, "Error parsing 'connect' value: " + err.Error()}
		}
		x.Connect = on
	}
	out, err := c.s.cfg.Queries.Execute(c.r.Context(), x)
	if err != nil {
		return rpc(err)
	}
	if c.cached {
		c.cacheHeaders("query "+c.r.URL.RawQuery+" "+name, out.LastContact)
	}
	return c.queryAnswer(out, func(m wire.QueryMeta) any {
		return wire.QueryResult(out.Query, out.Items, c.s.cfg.Datacenter, m)
	})
}

func (c *call) explainQuery(name string) error {
	if err := c.request(topicQueries, wire.QueriesJSON); err != nil {
		return err
	}
	out, err := c.s.cfg.Queries.FindQuery(c.r.Context(), &c.req, name)
	if err != nil {
		return rpc(err)
	}
	return c.queryAnswer(out, func(m wire.QueryMeta) any { return wire.QueryExplanation(out.Query, m) })
}

func (c *call) queryAnswer(out *lookup.Executed, body func(wire.QueryMeta) any) error {
	c.answer = lookup.Answer{Index: out.Index, KnownLeader: out.KnownLeader, LastContact: out.LastContact}
	level := consistencyHeader(c.req.Mode)
	h := c.w.Header()
	h["X-Consul-Effective-Consistency"] = level
	c.answerHeaders(wire.NewFrame(nil))
	return c.json(body(wire.QueryMeta{Index: out.Index, LastContact: int64(out.LastContact),
		KnownLeader: out.KnownLeader, ConsistencyLevel: level[0]}))
}
