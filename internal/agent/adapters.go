package agent

import (
	"context"
	"strings"

	"github.com/muster-discovery/muster/internal/apply"
	"github.com/muster-discovery/muster/internal/consensus"
	"github.com/muster-discovery/muster/internal/leader"
	"github.com/muster-discovery/muster/internal/local"
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

var (
	_ local.NodeReader  = localCatalog{}
	_ local.NodeWatcher = localCatalog{}
)

// localCatalog is the catalog as the agent's anti-entropy uses it: through the
// same paths as everyone.
type localCatalog struct {
	lookup *lookup.Lookup
	apply  *apply.Apply
}

func (c localCatalog) Register(ctx context.Context, token string, r *model.Registration) error {
	_, err := c.apply.Register(ctx, apply.Caller{Token: token, Source: model.SourceAgent}, r)
	return err
}

func (c localCatalog) Deregister(ctx context.Context, token string, d *model.Deregistration) error {
	_, err := c.apply.Deregister(ctx, apply.Caller{Token: token, Source: model.SourceAgent}, d)
	return err
}

func (c localCatalog) NodeState(ctx context.Context, node string) ([]*model.Service, []*model.Check, error) {
	ns, _, err := c.WatchNodeServices(ctx, node, 0)
	if err != nil || ns == nil {
		return nil, nil, err
	}
	checks, _, err := c.WatchNodeChecks(ctx, node, 0)
	return ns.Services, checks, err
}

func (c localCatalog) Node(ctx context.Context, name string) (*model.Node, error) {
	ns, _, err := c.WatchNodeServices(ctx, name, 0)
	if err != nil || ns == nil {
		return nil, err
	}
	return ns.Node, nil
}

func (c localCatalog) WatchNodeServices(ctx context.Context, node string, index uint64) (*model.NodeServices, uint64, error) {
	list, index, err := c.values(ctx, model.NewTopic(model.TopicNode, node), index)
	if err != nil || len(list) == 0 {
		return nil, index, err
	}
	return list[0].(*model.NodeServices), index, nil
}

func (c localCatalog) WatchNodeChecks(ctx context.Context, node string, index uint64) ([]*model.Check, uint64, error) {
	list, index, err := c.values(ctx, model.NewTopic(model.TopicNodeChecks, node), index)
	if err != nil {
		return nil, 0, err
	}
	checks := make([]*model.Check, len(list))
	for i, v := range list {
		checks[i] = v.(*model.Check)
	}
	return checks, index, nil
}

// values are a topic's items, once its index has passed after.
func (c localCatalog) values(ctx context.Context, t model.Topic, after uint64) ([]any, uint64, error) {
	a, err := c.lookup.Do(ctx, &lookup.Request{Topic: t, Encoder: allItems, MinIndex: after})
	if err != nil {
		return nil, 0, err
	}
	return a.Frame.([]any), a.Index, nil
}

// leaderWriter is the write path as the leader's duties use it.
type leaderWriter struct{ apply *apply.Apply }

var asLeader = apply.Caller{Source: model.SourceLeader}

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

func (w leaderWriter) SetAutopilot(ctx context.Context, s *model.AutopilotSet) error {
	return w.apply.SetAutopilot(ctx, asLeader, s)
}

func (w leaderWriter) SetHistory(ctx context.Context, s *model.KVHistorySet) error {
	return w.apply.SetHistory(ctx, asLeader, s)
}

// leaderClock is what the leader ends by time, and how it does. It waits on a view,
// as everyone does who waits for a change.
type leaderClock struct {
	store *state.Store
	hub   *view.Hub
	log   *consensus.Log
	apply *apply.Apply
}

var _ leader.Clocked = leaderClock{}

func (c leaderClock) Timers(ctx context.Context, after uint64) ([]any, uint64) {
	t := model.Topic{Kind: model.TopicTimers}
	content := c.hub.Content(t)
	if content.Index <= after {
		content = c.hub.Wait(ctx, t, after)
	}
	items := make([]any, len(content.Items))
	for i, it := range content.Items {
		items[i] = it.Value
	}
	return items, content.Index
}

func (c leaderClock) Session(id string) *model.Session  { return c.store.Snapshot().Session(id) }
func (c leaderClock) Confirm(ctx context.Context) error { return c.log.ReadIndex(ctx) }
func (c leaderClock) Expire(ctx context.Context, e *model.Expiry) error {
	return c.apply.Expire(ctx, asLeader, e)
}

// stateReader answers single questions from the newest state. It is what the
// leader's duties and lookup's node metadata read.
type stateReader struct{ store *state.Store }

var (
	_ leader.Catalog = stateReader{}
	_ lookup.Catalog = stateReader{}
	_ lookup.Reader  = stateReader{}
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

// Index and ReadTxn implement lookup.Reader.
func (r stateReader) Index() uint64 { return r.store.Index() }

func (r stateReader) ReadTxn(txn *model.Txn) (*model.Outcome, uint64, error) {
	s := r.store.Snapshot()
	out, err := s.ReadTxn(txn)
	return out, s.Index(), err
}

// KeyHistory implements lookup.Reader.
func (r stateReader) KeyHistory(key string, limit int) ([]*model.Revision, uint64) {
	return r.store.Snapshot().KeyHistory(key, limit)
}

// SessionNode names the node of a session for apply's permissions.
func (r stateReader) SessionNode(id string) (string, bool) {
	if s := r.store.Snapshot().Session(id); s != nil {
		return s.Node, true
	}
	return "", false
}

// QueryName is the name of a prepared query for apply's permissions.
func (r stateReader) QueryName(id string) (string, bool) {
	if q := r.store.Snapshot().Query(id); q != nil {
		return q.Name, true
	}
	return "", false
}

// queries are the prepared queries as HTTP has them.
type queries struct {
	*apply.Apply
	*lookup.Lookup
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

func (r stateReader) HasAutopilot() bool { return r.store.Snapshot().Autopilot() != nil }

// History implements leader.Catalog.
func (r stateReader) History() *model.KVHistory { return r.store.Snapshot().History() }

func sameNode(a, b string) bool { return strings.EqualFold(a, b) }
