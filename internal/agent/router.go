package agent

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/muster-discovery/muster/internal/gossip"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/retry"
)

// router chooses the server that a client agent works with: one at a time, another one
// as soon as a call to it fails, and now and then another one anyway, so that servers
// which came back get their share of the agents.
type router struct {
	members func() []gossip.Member
	dc      string
	log     *slog.Logger

	mu      sync.Mutex
	current string
	failed  map[string]time.Time // servers that did not answer, and when
	moved   context.CancelFunc   // ends what is to move when the current server changes
	epoch   context.Context      // ended by moved
}

const (
	// avoid is how long a server that did not answer is the last choice.
	avoid = 10 * time.Second
	// rebalance is how long an agent stays with a server, with jitter: a restarted
	// server has its share after a few minutes, and nobody notices a move.
	rebalance = 3 * time.Minute
)

func newRouter(members func() []gossip.Member, dc string, log *slog.Logger) *router {
	return &router{members: members, dc: dc, log: log, failed: make(map[string]time.Time)}
}

// errNoServers tells what to do about it.
var errNoServers error = &model.Error{Kind: model.KindUnavailable,
	Text: "No known servers: this client agent has not found a server yet; check retry_join, and that servers of this datacenter run"}

// server is the server to ask, and a context that ends when the agent moves on to
// another one.
func (r *router) server() (id string, stays context.Context, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	alive := r.alive()
	if len(alive) == 0 {
		return "", nil, errNoServers
	}
	if _, ok := alive[r.current]; !ok || !r.failed[r.current].IsZero() {
		r.choose(alive, time.Now())
	}
	return r.current, r.epoch, nil
}

// alive are the servers of the datacenter that gossip does not know to be gone. If it
// thinks so of all of them, it is more likely cut off itself: any of them is worth a try.
func (r *router) alive() map[string]bool {
	alive, known := make(map[string]bool), make(map[string]bool)
	for _, m := range r.members() {
		if !m.Server() || m.Datacenter() != r.dc || m.Status == gossip.StatusLeft {
			continue
		}
		known[m.ID()] = true
		if m.Status == gossip.StatusAlive {
			alive[m.ID()] = true
		}
	}
	if len(alive) == 0 {
		return known
	}
	return alive
}

// choose takes any of the servers, one that failed lately only if there is no other.
func (r *router) choose(from map[string]bool, now time.Time) {
	for id, at := range r.failed {
		if now.Sub(at) > avoid || !from[id] {
			delete(r.failed, id)
		}
	}
	best, good := "", 0
	oldest := now
	for id := range from {
		if id == r.current && len(from) > 1 {
			continue
		}
		at, bad := r.failed[id]
		if !bad {
			if good++; rand.N(good) == 0 {
				best = id
			}
			continue
		}
		if good == 0 && (best == "" || at.Before(oldest)) {
			best, oldest = id, at
		}
	}
	if best == "" {
		best = r.current
	}
	delete(r.failed, best)
	if r.moved != nil {
		r.moved()
	}
	r.epoch, r.moved = context.WithCancel(context.Background())
	if r.current != best {
		r.log.Info("working with another server", "peer", best, "before", r.current)
	}
	r.current = best
}

// fail says that a server did not answer.
func (r *router) fail(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed[id] = time.Now()
}

// count is how many servers are known to be alive.
func (r *router) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.alive())
}

// run moves on now and then, until ctx ends.
func (r *router) run(ctx context.Context) error {
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.moved != nil {
			r.moved()
		}
	}()
	for {
		timer := time.NewTimer(retry.Spread(rebalance, 0.5, nil))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil
		}
		r.mu.Lock()
		if alive := r.alive(); len(alive) > 1 {
			r.choose(alive, time.Now())
		}
		r.mu.Unlock()
	}
}

// movable is a connection whose streams end when the agent moves on to another server:
// they are opened again there.
type movable struct {
	grpc.ClientConnInterface
	stays context.Context
}

// NewStream implements grpc.ClientConnInterface.
func (m movable) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(m.stays, cancel)
	s, err := m.ClientConnInterface.NewStream(ctx, desc, method, opts...)
	if err != nil {
		stop()
		cancel()
		return nil, err
	}
	context.AfterFunc(s.Context(), func() { stop(); cancel() })
	return s, nil
}
