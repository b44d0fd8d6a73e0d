package agent

import (
	"context"

	"github.com/muster-discovery/muster/internal/fsm"
	"github.com/muster-discovery/muster/internal/lookup"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/rpc"
	"github.com/muster-discovery/muster/internal/rpcapi"
	"github.com/muster-discovery/muster/internal/wire"
)

var _ rpcapi.Reader = serveReads{}

// serveReads is the read path as other agents use it.
type serveReads struct {
	*cluster
	lookup *lookup.Lookup
}

// ReadIndex implements rpcapi.Reader: it answers only as the leader.
func (r serveReads) ReadIndex(ctx context.Context, topics []rpc.TopicQuestion, consistent bool) ([]rpc.TopicAnswer, error) {
	if err := r.confirm(ctx, consistent); err != nil {
		return nil, err
	}
	state := r.store.Snapshot()
	answers := make([]rpc.TopicAnswer, len(topics))
	room := maxSent
	for i, t := range topics {
		answers[i].Index = state.TopicIndex(t.Topic)
		if answers[i].Index <= t.Have || t.Topic.Kind == model.TopicState {
			continue
		}
		items, index := state.Items(t.Topic)
		answers[i].Index = index
		b := []byte{}
		for _, v := range items {
			var err error
			if b, err = fsm.AppendItem(b, v); err != nil || len(b) > room {
				b = nil // the follower has to wait for its own
				break
			}
		}
		room -= len(b)
		answers[i].Items = b
	}
	return answers, nil
}

const (
	// maxSent is how much a leader sends to followers that lag by a moment in one
	// answer: with more it is quicker for them to wait for the log.
	maxSent = 256 << 10
	// partSize is how much of an answer to a client agent goes into one message.
	partSize = 1 << 20
)

// Read implements rpcapi.Reader.
func (r serveReads) Read(ctx context.Context, q *rpc.Question) (*rpc.Answer, [][]byte, error) {
	encoder := wire.Filtered[q.Encoder]
	if encoder == nil {
		encoder = allItems
	}
	v, err := r.lookup.Prepare(encoder, lookup.Question{
		Passing: q.Passing, Healthy: q.Healthy, Tags: q.Tags, NodeMeta: q.NodeMeta, Filter: q.Filter,
	})
	if err != nil {
		return nil, nil, err
	}
	a, err := r.lookup.Do(ctx, &lookup.Request{
		Topic: q.Topic, Variant: v, Encoder: allItems, Token: q.Token,
		Mode: lookup.Mode(q.Mode), MaxStale: q.MaxStale, MinIndex: q.MinIndex, Wait: q.Wait,
	})
	if err != nil {
		return nil, nil, err
	}
	parts, err := encodeParts(a.Frame.([]any), q.Encoder == wire.KeysJSON.Name)
	return &rpc.Answer{Index: a.Index, KnownLeader: a.KnownLeader, LastContact: a.LastContact}, parts, err
}

// encodeParts encodes items in parts that fit a message each. A list of keys goes
// without their values.
func encodeParts(items []any, onlyKeys bool) (parts [][]byte, err error) {
	var part []byte
	for _, v := range items {
		if e, ok := v.(*model.KVEntry); ok && onlyKeys {
			v = &model.KVEntry{Key: e.Key, Session: e.Session, Indexes: e.Indexes}
		}
		if part, err = fsm.AppendItem(part, v); err != nil {
			return nil, model.Errorf(model.KindInternal, "%v", err)
		}
		if len(part) >= partSize {
			parts, part = append(parts, part), nil
		}
	}
	if len(part) > 0 {
		parts = append(parts, part)
	}
	return parts, nil
}
