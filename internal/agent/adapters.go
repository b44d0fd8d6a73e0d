package agent

import (
	"context"
	"strings"

	"github.com/muster-discovery/muster/internal/apply"
	"github.com/muster-discovery/muster/internal/leader"
	"github.com/muster-discovery/muster/internal/lookup"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/state"
	"github.com/muster-discovery/muster/internal/view"
)

// allItems is the encoder for callers within the process that want values.
var allItems = view.NewEncoder(view.Encoder{
	Name: "values",
	Assemble: func(items []*view.Item) any {
		values := make([]any, len(items))
		for i, it := range items {
			values[i] = it.Value
		}
		return values
	},
})

// localCatalog is the catalog as the agent's anti-entropy uses it: through the
// same paths as everyone.
type localCatalog struct {
	lookup *lookup.Lookup
	apply  *apply.Apply
}

func (c localCatalog) Register(ctx context.Context, token string, r *model.Registration) error {
	_, err := c.apply.Register(ctx, apply.Caller{Token: token, Source: "anti-entropy"}, r)
	return err
}

func (c localCatalog) Deregister(ctx context.Context, token string, d *model.Deregistration) error {
	_, err := c.apply.Deregister(ctx, apply.Caller{Token: token, Source: "anti-entropy"}, d)
	return err
}

func (c localCatalog) NodeState(ctx context.Context, node string) ([]*model.Service, []*model.Check, error) {
	ns, err := c.values(ctx, model.NewTopic(model.TopicNode, node))
	if err != nil || len(ns) == 0 {
		return nil, nil, err
	}
	list, err := c.values(ctx, model.NewTopic(model.TopicNodeChecks, node))
	if err != nil {
		return nil, nil, err
	}
	checks := make([]*model.Check, len(list))
	for i, v := range list {
		checks[i] = v.(*model.Check)
	}
	return ns[0].(*model.NodeServices).Services, checks, nil
}

func (c localCatalog) Node(ctx context.Context, name string) (*model.Node, error) {
	ns, err := c.values(ctx, model.NewTopic(model.TopicNode, name))
	if err != nil || len(ns) == 0 {
		return nil, err
	}
	return ns[0].(*model.NodeServices).Node, nil
}

func (c localCatalog) values(ctx context.Context, t model.Topic) ([]any, error) {
	a, err := c.lookup.Do(ctx, &lookup.Request{Topic: t, Encoder: allItems})
	if err != nil {
		return nil, err
	}
	return a.Frame.([]any), nil
}

// leaderWriter is the write path as the leader's duties use it.
type leaderWriter struct{ apply *apply.Apply }

var asLeader = apply.Caller{Source: "leader"}

func (w leaderWriter) Register(ctx context.Context, r *model.Registration) error {
	_, err := w.apply.Register(ctx, asLeader, r)
	return err
}

func (w leaderWriter) Deregister(ctx context.Context, d *model.Deregistration) error {
	_, err := w.apply.Deregister(ctx, asLeader, d)
	return err
}

func (w leaderWriter) SetCARoots(ctx context.Context, s *model.CARootSet) error {
	_, err := w.apply.SetCARoots(ctx, asLeader, s)
	return err
}

// stateReader answers single questions from the newest state. It is what the
// leader's duties and lookup's node metadata read.
type stateReader struct{ store *state.Store }

var (
	_ leader.Catalog = stateReader{}
	_ lookup.Catalog = stateReader{}
)

func (r stateReader) Node(name string) *model.Node { return r.store.Snapshot().Node(name) }
func (r stateReader) Nodes() []*model.Node         { return r.store.Snapshot().Nodes() }
func (r stateReader) NodeServices(name string) *model.NodeServices {
	return r.store.Snapshot().NodeServices(name)
}
func (r stateReader) NodeChecks(name string) []*model.Check {
	return r.store.Snapshot().NodeChecks(name)
}
func (r stateReader) Instances(service string) []*model.Instance {
	return r.store.Snapshot().Instances(service)
}

func (r stateReader) NodeMeta(name string) map[string]string {
	if n := r.store.Snapshot().Node(name); n != nil {
		return n.Meta
	}
	return nil
}

func (r stateReader) HasCARoots() bool {
	roots, _ := r.store.Snapshot().CARoots()
	return len(roots) > 0
}

func sameNode(a, b string) bool { return strings.EqualFold(a, b) }
