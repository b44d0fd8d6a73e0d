package agent

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/muster-discovery/muster/internal/consensus"
	"github.com/muster-discovery/muster/internal/gossip"
	"github.com/muster-discovery/muster/internal/lookup"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/rpc"
	"github.com/muster-discovery/muster/internal/state"
)

// cluster answers what the read and write paths ask about the leader, on this
// server or, over rpc, on another.
type cluster struct {
	log   *consensus.Log
	store *state.Store
	rpc   *rpc.Pool
	self  string  // this server's id
	reads *gather // questions to the leader
	// established is set while this server leads and its duties have begun.
	established atomic.Bool
}

// Known implements lookup.LeaderInfo.
func (c *cluster) Known() bool {
	id, _ := c.log.Leader()
	return id != ""
}

// IsLeader implements lookup.LeaderInfo.
func (c *cluster) IsLeader() bool { return c.log.LeaseValid() }

// LastContact implements lookup.LeaderInfo.
func (c *cluster) LastContact() time.Duration { return c.log.LastContact() }

// ReadTopic implements lookup.LeaderInfo: here if this server leads, else by
// asking the leader.
func (c *cluster) ReadTopic(ctx context.Context, t model.Topic, have uint64, consistent bool) (lookup.TopicState, error) {
	if id, _ := c.log.Leader(); id == c.self {
		index, err := c.topicIndex(ctx, t, consistent)
		return lookup.TopicState{Index: index}, err
	}
	return c.reads.read(ctx, rpc.TopicQuestion{Topic: t, Have: have}, consistent)
}

// topicIndex is a topic's index, as new as this server's lease or a majority make it.
func (c *cluster) topicIndex(ctx context.Context, t model.Topic, consistent bool) (uint64, error) {
	if err := c.confirm(ctx, consistent); err != nil {
		return 0, err
	}
	return c.store.Snapshot().TopicIndex(t), nil
}

// confirm returns once the state has all that was committed before the call, as far as
// this server leads.
func (c *cluster) confirm(ctx context.Context, consistent bool) error {
	if !consistent && c.log.LeaseValid() {
		return nil
	}
	return c.log.ReadIndex(ctx)
}

// whileLeads ends a call to the leader when another one, or none, is known: the old
// one's answer may never come. It must be called before the leader is asked for.
func (c *cluster) whileLeads(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	changed := c.log.LeaderChanged()
	go func() {
		select {
		case <-changed:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// other is the leader to ask, which is not this server.
func (c *cluster) other() (id string, err error) {
	id, _ = c.log.Leader()
	switch id {
	case "":
		return "", model.Errorf(model.KindNoLeader, "No cluster leader")
	case c.self:
		// Elected between the caller's attempt and this one.
		return "", model.Errorf(model.KindNotLeader, "this server has just become the leader")
	}
	return id, nil
}

// askLeader has the leader answer the questions of this server's readers.
func (c *cluster) askLeader(ctx context.Context, topics []rpc.TopicQuestion, consistent bool) ([]rpc.TopicAnswer, error) {
	ctx, cancel := c.whileLeads(ctx)
	defer cancel()
	id, err := c.other()
	if err != nil {
		return nil, err
	}
	return c.rpc.ReadIndex(ctx, id, topics, consistent)
}

// Forward implements apply.Forwarder.
func (c *cluster) Forward(ctx context.Context, token, _ string, command []byte) (uint64, []byte, error) {
	ctx, cancel := c.whileLeads(ctx)
	defer cancel()
	id, err := c.other()
	if err != nil {
		return 0, nil, err
	}
	return c.rpc.Forward(ctx, id, token, command, false)
}

// leaderAddr is the leader's RPC address, empty if there is none or, on the
// leader itself, while its duties have not begun: whoever waits for a leader may
// then rely on the catalog holding this server and on the mesh having its root.
func (c *cluster) leaderAddr() string {
	id, addr := c.log.Leader()
	if id == c.self && !c.established.Load() {
		return ""
	}
	return addr
}

// byID are members by their node ids. Of two with one id the living one counts: the
// other is what gossip still remembers of its former name.
func byID(members []gossip.Member) map[string]gossip.Member {
	found := make(map[string]gossip.Member, len(members))
	for _, m := range members {
		if _, twice := found[m.ID()]; !twice || m.Status == gossip.StatusAlive {
			found[m.ID()] = m
		}
	}
	return found
}

// addressOf finds a server by its id among the members, so that servers may come
// back under new addresses.
func addressOf(members func() []gossip.Member, dc string) func(id string) (string, error) {
	return func(id string) (string, error) {
		if m, ok := byID(members())[id]; ok && m.Server() && m.Datacenter() == dc {
			return m.ServerAddr(), nil
		}
		return "", fmt.Errorf("server %s is not among the members: check retry_join", id)
	}
}
