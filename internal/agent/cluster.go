package agent

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/muster-discovery/muster/internal/consensus"
	"github.com/muster-discovery/muster/internal/gossip"
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
	self  string // this server's id
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

// ReadIndex implements lookup.LeaderInfo: here if this server leads, else by
// asking the leader.
func (c *cluster) ReadIndex(ctx context.Context, t model.Topic, consistent bool) (uint64, error) {
	id, _ := c.log.Leader()
	switch id {
	case "":
		return 0, model.Errorf(model.KindNoLeader, "No cluster leader")
	case c.self:
		return leaderReads{c}.ReadIndex(ctx, t, consistent)
	}
	return c.rpc.ReadIndex(ctx, id, t, consistent)
}

// Forward implements apply.Forwarder.
func (c *cluster) Forward(ctx context.Context, token, _ string, command []byte) (uint64, []byte, error) {
	id, _ := c.log.Leader()
	switch id {
	case "":
		return 0, nil, model.Errorf(model.KindNoLeader, "No cluster leader")
	case c.self:
		// Elected between the caller's attempt and this one.
		return 0, nil, model.Errorf(model.KindNotLeader, "this server has just become the leader")
	}
	return c.rpc.Forward(ctx, id, token, command)
}

// leaderReads implements rpcapi.Reader: it answers only as the leader.
type leaderReads struct{ *cluster }

func (l leaderReads) ReadIndex(ctx context.Context, t model.Topic, consistent bool) (uint64, error) {
	if !consistent && l.log.LeaseValid() {
		return l.store.Snapshot().TopicIndex(t), nil
	}
	if err := l.log.ReadIndex(ctx); err != nil {
		return 0, err
	}
	return l.store.Snapshot().TopicIndex(t), nil
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

// addressOf finds a server by its id among the members, so that servers may come
// back under new addresses.
func addressOf(members func() []gossip.Member, dc string) func(id string) (string, error) {
	return func(id string) (string, error) {
		for _, m := range members() {
			if m.ID() == id && m.Server() && m.Datacenter() == dc {
				return m.ServerAddr(), nil
			}
		}
		return "", fmt.Errorf("server %s is not among the members: check retry_join", id)
	}
}
