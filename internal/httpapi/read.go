package httpapi

import (
	"fmt"

	"github.com/muster-discovery/muster/internal/lookup"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/view"
	"github.com/muster-discovery/muster/internal/wire"
)

// question is what narrows a list: the parameters that all lists have.
func (c *call) question() lookup.Question {
	return lookup.Question{NodeMeta: c.nodeMeta, Filter: c.filter, Near: c.near}
}

// read answers with a topic's items, narrowed by a question: the way of every GET
// on the catalog.
func (c *call) read(t model.Topic, e *view.Encoder, q lookup.Question) error {
	if err := c.lookup(t, e, q); err != nil {
		return err
	}
	return c.sendConsistent()
}

// sendConsistent sends the answer and says how consistent it is.
func (c *call) sendConsistent() error {
	c.w.Header()["X-Consul-Effective-Consistency"] = consistencyHeader(c.req.Mode)
	return c.sendAnswer()
}

func (c *call) sendAnswer() error {
	f, err := c.answerFrame()
	if err != nil {
		return err
	}
	c.answerHeaders(f)
	c.frame(f)
	return nil
}

func (c *call) answerFrame() (*wire.Frame, error) {
	f, ok := c.answer.Frame.(*wire.Frame)
	if !ok {
		return nil, fmt.Errorf("lookup made a %T, not a JSON frame", c.answer.Frame)
	}
	return f, nil
}

// lookup asks for a topic with the request's parameters.
func (c *call) lookup(t model.Topic, e *view.Encoder, q lookup.Question) error {
	if err := c.request(t, e); err != nil {
		return err
	}
	var err error
	if c.req.Variant, err = c.variant(e, q); err != nil {
		return rpc(err)
	}
	return c.find()
}

// find answers the prepared request.
func (c *call) find() error {
	if err := c.s.cfg.Lookup.Find(c.r.Context(), &c.req, &c.answer); err != nil {
		return rpc(err)
	}
	if c.cached && c.route.options&caches != 0 {
		c.cacheHeaders(cacheKey(&c.req), c.answer.LastContact)
	}
	return nil
}

// request takes what the parameters say about any lookup.
func (c *call) request(t model.Topic, e *view.Encoder) error {
	mode, maxStale, err := c.consistency()
	if err != nil {
		return err
	}
	index, wait, err := c.blocking()
	if err != nil {
		return err
	}
	if err := checkCacheControl(c.r.Header); err != nil {
		return err
	}
	c.req = lookup.Request{
		Topic: t, Encoder: e,
		Datacenter: c.dc,
		Token:      c.tokenOf(c.r.Header),
		Mode:       mode, MaxStale: maxStale,
		MinIndex: index, Wait: wait,
	}
	return nil
}

// variant prepares a question; nil for one that narrows nothing.
func (c *call) variant(e *view.Encoder, q lookup.Question) (*view.Variant, error) {
	if q.Filter == "" && q.Near == "" && len(q.NodeMeta) == 0 && len(q.Tags) == 0 {
		switch {
		case !q.Passing && !q.Healthy:
			return nil, nil
		case q.Passing && e == wire.HealthServiceJSON:
			return c.s.passing, nil
		}
	}
	return c.s.cfg.Lookup.Prepare(e, q)
}

// cacheKey tells questions apart that an agent with a cache would keep apart.
func cacheKey(r *lookup.Request) string {
	key := fmt.Sprintf("%s %d %s %s ", r.Encoder.Name, r.Topic.Kind, r.Datacenter, r.Topic.Name)
	if r.Variant != nil {
		key += r.Variant.Key
	}
	return key
}
