package streamapi

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/muster-discovery/muster/internal/lookup"
	"github.com/muster-discovery/muster/internal/model"
	v1 "github.com/muster-discovery/muster/proto/muster/discovery/v1"
)

// Bounds of what a subscription is kept with.
const (
	maxName = 1024
	maxTags = 64
)

// subscribe begins a watch, or refuses it.
func (c *session) subscribe(ctx context.Context, q *v1.Subscribe) error {
	id := q.GetWatch()
	if id == 0 || c.marks[id] != nil {
		// An error for the watch would end the one that has the id.
		return status.Errorf(codes.InvalidArgument, "watch %d: want an id above 0 that is not in use", id)
	}
	if err := c.watch(ctx, id, q); err != nil {
		return c.refuse(id, err)
	}
	return nil
}

func (c *session) watch(ctx context.Context, id uint64, q *v1.Subscribe) error {
	r, err := c.request(q)
	if err != nil {
		return err
	}
	mark, err := c.consumer.Add(id, r.Topic)
	if err != nil {
		return err
	}
	c.marks[id] = mark
	return c.look.Watch(ctx, id, r)
}

// request translates a subscription.
func (c *session) request(q *v1.Subscribe) (r lookup.StreamRequest, err error) {
	kinds := map[v1.Kind]model.TopicKind{v1.Kind_KIND_SERVICE: model.TopicService, v1.Kind_KIND_CONNECT: model.TopicConnect}
	kind, known := kinds[q.GetKind()]
	switch {
	case q.GetService() == "":
		return r, model.Errorf(model.KindInvalid, "Missing service name")
	case len(q.GetService()) > maxName || len(q.GetDatacenter()) > maxName:
		return r, model.Errorf(model.KindInvalid, "A name is longer than %d bytes", maxName)
	case !known:
		return r, model.Errorf(model.KindInvalid, "This server does not know kind %d: upgrade it", q.GetKind())
	case len(q.GetTags()) > maxTags:
		return r, model.Errorf(model.KindInvalid, "More than %d tags", maxTags)
	}
	r = lookup.StreamRequest{
		Topic: model.NewTopic(kind, q.GetService()), Encoder: instances, Datacenter: q.GetDatacenter(), Resume: q.GetResume(),
	}
	if q.GetStale() {
		r.Mode = lookup.ModeStale
	}
	question := lookup.Question{Passing: q.GetPassing(), Tags: q.GetTags(), Filter: q.GetFilter()}
	if kind == model.TopicConnect {
		question.Tags = nil // as in lookups
	}
	r.Variant, err = c.service.cfg.Lookup.Prepare(instances, question)
	return r, err
}
