package lookup

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/query"
	"github.com/muster-discovery/muster/internal/trace"
	"github.com/muster-discovery/muster/internal/view"
)

// Execution asks for what a prepared query chooses. Of the request, Topic, Variant
// and Encoder don't count; MinIndex waits for a change of the queries or of the
// service's instances.
type Execution struct {
	Request
	Name    string // or id
	Near    string // in place of the query's; "_agent" is the own node
	Limit   int    // of instances; 0 and below: none
	Connect bool   // instances of the mesh, whatever the query says
}

// Executed is what a prepared query chose.
type Executed struct {
	Query       *model.Query // a template's is rendered
	Items       []*view.Item // with *model.Instance values, the one to use first at the front
	Index       uint64
	KnownLeader bool
	LastContact time.Duration
}

// ErrNoQuery is for a name that no query has.
var ErrNoQuery error = &model.Error{Kind: model.KindNotFound, Text: "Query not found"}

// queryIndex makes the frame that queries are found with. Templates stay compiled as
// long as they don't change.
var queryIndex = newQueryIndex()

func newQueryIndex() *view.Encoder {
	var e *view.Encoder
	e = view.NewEncoder(view.Encoder{
		Name:     "query index",
		Fragment: func(v any) any { return query.NewEntry(v.(*model.Query)) },
		Assemble: func(items []*view.Item) any {
			entries := make([]*query.Entry, len(items))
			for i, item := range items {
				entries[i] = item.Fragment(e).(*query.Entry)
			}
			return query.NewIndex(entries)
		},
	})
	return e
}

// instances makes a frame of the items themselves.
var instances = view.NewEncoder(view.Encoder{
	Name:     "instances",
	Assemble: func(items []*view.Item) any { return slices.Clone(items) },
})

// Execute runs a prepared query. Whoever knows its name may do so: permissions are
// asked for the instances, with the query's token if it has one.
func (l *Lookup) Execute(ctx context.Context, x *Execution) (*Executed, error) {
	deadline := time.Now().Add(l.waitTime(x.Wait))
	for {
		out, topic, err := l.execute(ctx, x)
		if out == nil || x.MinIndex == 0 || out.Index > x.MinIndex {
			return out, err
		}
		left := time.Until(deadline)
		if left <= 0 || ctx.Err() != nil {
			return out, nil
		}
		l.waitEither(ctx, topicQueries, topic, x.MinIndex, left)
	}
}

var topicQueries = model.Topic{Kind: model.TopicQueries}

// waitEither waits until one of two topics has passed an index.
func (l *Lookup) waitEither(ctx context.Context, a, b model.Topic, index uint64, d time.Duration) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.config.Hub.WaitFor(ctx, a, index, d)
		cancel()
	}()
	l.config.Hub.WaitFor(ctx, b, index, d)
	cancel()
	<-done
}

// execute runs the query once, and tells which topic it asked.
func (l *Lookup) execute(ctx context.Context, x *Execution) (*Executed, model.Topic, error) {
	out, err := l.FindQuery(ctx, &x.Request, x.Name)
	if err != nil {
		return nil, model.Topic{}, err
	}
	s := &out.Query.Service
	topic := model.NewTopic(model.TopicService, s.Service)
	if s.Connect || x.Connect {
		topic = model.NewTopic(model.TopicConnect, s.Service)
	}
	r := x.Request
	r.Topic, r.Encoder, r.Variant, r.MinIndex = topic, instances, nil, 0
	if out.Query.Token != "" {
		r.Token = out.Query.Token
	}
	var a Answer
	if err := l.Find(ctx, &r, &a); err != nil {
		return nil, model.Topic{}, err
	}
	for _, item := range a.Frame.([]*view.Item) {
		if query.Fits(s, item.Value.(*model.Instance)) {
			out.Items = append(out.Items, item)
		}
	}
	l.order(out, x)
	if x.Limit > 0 && len(out.Items) > x.Limit {
		out.Items = out.Items[:x.Limit]
	}
	out.Index, out.KnownLeader = max(out.Index, a.Index), a.KnownLeader
	out.LastContact = max(out.LastContact, a.LastContact)
	if rec := trace.From(ctx); rec != nil {
		rec.Addf("query", "%q asks for %q, chose %d", x.Name, s.Service, len(out.Items))
	}
	// Failover goes to other datacenters only, none of which can be reached yet.
	return out, topic, nil
}

// order shuffles, so that callers spread over instances that are equally far away,
// then sorts by distance if that is wanted.
func (l *Lookup) order(out *Executed, x *Execution) {
	rand.Shuffle(len(out.Items), func(i, j int) { out.Items[i], out.Items[j] = out.Items[j], out.Items[i] })
	near := x.Near
	if near == "" {
		near = out.Query.Service.Near
	}
	if near == "" {
		return
	}
	l.nearest(near)(out.Items)
	if near == "_agent" {
		near = l.config.Node
	}
	// The node itself is nearest, also where no distances are known.
	own := slices.IndexFunc(out.Items, func(i *view.Item) bool {
		return model.Fold(nodeOf(i.Value)) == model.Fold(near)
	})
	if own > 0 {
		item := out.Items[own]
		copy(out.Items[1:], out.Items[:own])
		out.Items[0] = item
	}
}

// FindQuery is the prepared query that a name or id means, rendered if it is a
// template: what execution would ask. Of the request, Datacenter, Token, Mode and
// MaxStale count.
func (l *Lookup) FindQuery(ctx context.Context, r *Request, name string) (*Executed, error) {
	find := *r
	find.Topic, find.Encoder, find.Variant, find.MinIndex = topicQueries, queryIndex, nil, 0
	find.all = true
	var a Answer
	if err := l.Find(ctx, &find, &a); err != nil {
		return nil, err
	}
	q, err := a.Frame.(*query.Index).Find(name)
	if err != nil {
		return nil, model.Errorf(model.KindInvalid, "%v", err)
	}
	if q == nil {
		return nil, ErrNoQuery
	}
	return &Executed{Query: q, Index: a.Index, KnownLeader: a.KnownLeader, LastContact: a.LastContact}, nil
}
