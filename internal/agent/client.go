package agent

import (
	"context"
	"strconv"
	"time"

	"google.golang.org/grpc"

	"github.com/muster-discovery/muster/internal/apply"
	"github.com/muster-discovery/muster/internal/config"
	"github.com/muster-discovery/muster/internal/discovery"
	"github.com/muster-discovery/muster/internal/failover"
	"github.com/muster-discovery/muster/internal/fsm"
	"github.com/muster-discovery/muster/internal/gossip"
	"github.com/muster-discovery/muster/internal/lookup"
	"github.com/muster-discovery/muster/internal/mirror"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/rpc"
	"github.com/muster-discovery/muster/internal/storage"
	"github.com/muster-discovery/muster/internal/telemetry"
	"github.com/muster-discovery/muster/internal/version"
	"github.com/muster-discovery/muster/internal/view"
	"github.com/muster-discovery/muster/internal/wire"
)

// client is what an agent in client mode adds: no state, but a mirror of what its
// callers ask for, and a server to ask for the rest.
type client struct {
	*node
	router *router
	hold   *failover.Hold
	stream *discovery.Mux
	mirror *mirror.Mirror
	last   struct { // where the last stream went; the stream's own
		id    string
		stays context.Context
	}
}

var _ lookup.Remote = (*client)(nil)

func newClient(g *group, cfg *config.Config, dir *storage.Dir, nodeID string, tel *telemetry.Telemetry) (_ *client, err error) {
	c := &client{node: &node{cfg: cfg, log: tel.Logger("client"), nodeID: nodeID, limits: newLimits(cfg, tel)}}
	c.router = newRouter(c.members, cfg.Node.Datacenter, c.log)
	if err := c.openPool(g, c.addressOf, tel); err != nil {
		return nil, err
	}
	if err := c.openGossip(g, dir, tel); err != nil {
		return nil, err
	}
	if err := c.openMirror(tel); err != nil {
		return nil, err
	}
	g.start("views", c.hub.Run)
	c.lookup = lookup.New(lookup.Config{
		Hub: c.hub, Remote: c, Resolve: allowAll,
		Datacenter: cfg.Node.Datacenter, Node: cfg.Node.Name, Distance: c.distance,
		DefaultWait: cfg.Queries.DefaultTime, MaxWait: cfg.Queries.MaxTime, Hold: cfg.RPC.HoldTimeout,
	})
	c.apply = apply.New(apply.Config{
		Committer: elsewhere{}, Forwarder: c, Resolve: allowAll,
		Datacenter: cfg.Node.Datacenter, Hold: cfg.RPC.HoldTimeout, SessionTTLMin: cfg.Queries.SessionTTLMin,
	})
	g.start("router", c.router.run)
	g.start("stream", c.stream.Run)
	g.start("mirror", c.mirror.Run)
	g.start("members", c.followMembers)
	c.hold = c.newHold(tel)
	g.start("hold", c.hold.Run)
	g.start("join", c.join)
	g.start("memory", thrift)
	return c, nil
}

// openMirror joins the stream, the mirror that it feeds, and the views of that.
func (c *client) openMirror(tel *telemetry.Telemetry) (err error) {
	dc := discovery.DefaultConfig()
	dc.Dial = c.dialStream
	dc.Node, dc.Agent = c.cfg.Node.Name, "muster/"+version.Muster
	dc.Logger, dc.Registry = tel.Logger("stream"), tel.Registry()
	if c.stream, err = discovery.NewMux(dc); err != nil {
		return err
	}
	mc := mirror.DefaultConfig()
	mc.Watch = func(q discovery.Query, onChange func(discovery.Update)) (mirror.Watch, error) {
		return c.stream.Watch(q, onChange)
	}
	mc.Connected = func() bool { return c.stream.Server() != "" }
	mc.Heard = c.stream.LastHeard
	mc.Publish = func(topics []model.Topic) { c.hub.Publish(topics) }
	mc.Idle = max(mc.Idle, c.cfg.Queries.MaxTime+c.cfg.Queries.MaxTime/8)
	mc.Registry = tel.Registry()
	if c.mirror, err = mirror.New(mc); err != nil {
		return err
	}
	vc := view.DefaultConfig()
	vc.Idle = viewIdle
	c.hub = view.NewHub(c.mirror, vc)
	return nil
}

// viewIdle is how long a client agent keeps encoded answers that nobody asks for: they
// can be made again from the mirror.
const viewIdle = 10 * time.Second

// dialStream is where the next stream goes: to another server than the last one, unless
// that ended because the agent moved on.
func (c *client) dialStream(context.Context) (grpc.ClientConnInterface, error) {
	if c.last.id != "" && c.last.stays.Err() == nil {
		c.router.fail(c.last.id)
	}
	id, stays, err := c.router.server()
	if err != nil {
		return nil, err
	}
	c.last.id, c.last.stays = id, stays
	conn, err := c.pool.Conn(id)
	if err != nil {
		return nil, err
	}
	return movable{conn, stays}, nil
}

// Follow implements lookup.Remote.
func (c *client) Follow(ctx context.Context, t model.Topic) bool { return c.mirror.Follow(ctx, t) }

// Age implements lookup.Remote.
func (c *client) Age(t model.Topic) (time.Duration, bool) { return c.mirror.Age(t) }

// Read implements lookup.Remote.
func (c *client) Read(ctx context.Context, r *lookup.Request, wait time.Duration) (*lookup.RemoteAnswer, error) {
	id, stays, err := c.router.server()
	if err != nil {
		return nil, err
	}
	// Who waits for a change has it from the next server when the agent moves on.
	if r.MinIndex > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(stays, cancel)()
	}
	answer, err := c.pool.Read(ctx, id, question(r, wait))
	if err != nil {
		return nil, c.blame(id, err)
	}
	items, err := fsm.DecodeItems(answer.Items)
	if err != nil {
		return nil, model.Errorf(model.KindInternal, "the server's answer: %v", err)
	}
	return &lookup.RemoteAnswer{
		Items: items, Index: answer.Index, KnownLeader: answer.KnownLeader, LastContact: answer.LastContact,
	}, nil
}

func question(r *lookup.Request, wait time.Duration) *rpc.Question {
	q := &rpc.Question{
		Token: r.Token, Topic: r.Topic, Encoder: r.Encoder.Name,
		Mode: uint8(r.Mode), MaxStale: r.MaxStale, MinIndex: r.MinIndex, Wait: wait,
	}
	if r.Variant != nil {
		if v, ok := r.Variant.Question.(*lookup.Question); ok {
			q.Passing, q.Healthy, q.Tags, q.NodeMeta, q.Filter = v.Passing, v.Healthy, v.Tags, v.NodeMeta, v.Filter
		}
	}
	return q
}

// blame has the next call go to another server if this one could not be reached or its
// answer was lost; what a server answered is not its fault.
func (c *client) blame(id string, err error) error {
	if rpc.Unanswered(err) {
		c.router.fail(id)
	}
	return err
}

// Forward implements apply.Forwarder: any server hands a write on to the leader.
func (c *client) Forward(ctx context.Context, token, _ string, command []byte) (uint64, []byte, error) {
	id, _, err := c.router.server()
	if err != nil {
		return 0, nil, err
	}
	index, data, err := c.pool.Forward(ctx, id, token, command, true)
	return index, data, c.blame(id, err)
}

// elsewhere is the log of an agent that has none.
type elsewhere struct{}

// Commit implements apply.Committer.
func (elsewhere) Commit(context.Context, []byte) (fsm.Result, error) {
	return fsm.Result{}, model.Errorf(model.KindNotLeader, "a client agent has no log")
}

// followMembers has calls try a server again at once that came back.
func (c *client) followMembers(ctx context.Context) error {
	for {
		select {
		case e, ok := <-c.pools.Events():
			if !ok {
				<-ctx.Done()
				return nil
			}
			if e.Type == gossip.EventJoined && e.Member.Server() {
				c.pool.Hint(e.Member.ID())
			}
		case <-ctx.Done():
			return nil
		}
	}
}

var _ role = (*client)(nil)

// writesTo implements role: the server whose stream is open.
func (c *client) writesTo() string { return c.stream.Server() }

// leaderAddr, peers and raftServers implement role: servers are asked for these.
func (c *client) leaderAddr() string             { return "" }
func (c *client) peers() []string                { return nil }
func (c *client) raftServers() []wire.RaftServer { return nil }

// answers implements role.
func (c *client) answers(bool) (string, error) {
	id, _, err := c.router.server()
	return id, err
}

// unreachable implements role.
func (c *client) unreachable(id string) { c.router.fail(id) }

// figures implements role.
func (c *client) figures() map[string]map[string]string {
	return map[string]map[string]string{
		"consul": {"server": "false", "known_servers": strconv.Itoa(c.router.count()), "current_server": c.stream.Server()},
	}
}

// leave implements role.
func (c *client) leave(ctx context.Context) error {
	if err := c.hold.Leave(ctx); err != nil {
		c.log.Debug("cannot tell a server of the leave", "err", err) // gossip does
	} else {
		c.withdraw(ctx)
	}
	return c.leaveGossip(ctx)
}
