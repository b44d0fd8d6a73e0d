package agent

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/muster-discovery/muster/internal/gossip"
	"github.com/muster-discovery/muster/internal/model"
)

func serverMember(id string, status gossip.Status) gossip.Member {
	return gossip.Member{Name: id, Status: status, Tags: map[string]string{"role": "consul", "dc": "dc1", "id": id}}
}

func TestRouter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var members []gossip.Member
		r := newRouter(func() []gossip.Member { return members }, "dc1", slog.New(slog.DiscardHandler))
		server := func() string {
			t.Helper()
			id, stays, err := r.server()
			if err != nil || stays.Err() != nil {
				t.Fatalf("%q, %v, %v", id, stays.Err(), err)
			}
			return id
		}
		members = []gossip.Member{{Name: "client", Tags: map[string]string{"role": "node", "dc": "dc1", "id": "c"}},
			serverMember("gone", gossip.StatusLeft), {Name: "far", Tags: map[string]string{"role": "consul", "dc": "dc2", "id": "far"}}}
		if _, _, err := r.server(); model.KindOf(err) != model.KindUnavailable {
			t.Errorf("without servers: %v", err)
		}
		for i := range 3 {
			members = append(members, serverMember(fmt.Sprint(i), gossip.StatusAlive))
		}
		first := server()
		_, stays, _ := r.server()
		for range 10 {
			if got := server(); got != first {
				t.Fatalf("moved from %s to %s for nothing", first, got)
			}
		}
		// Each server that fails makes room for one that has not.
		tried := map[string]bool{first: true}
		for range 2 {
			r.fail(server())
			tried[server()] = true
		}
		if len(tried) != 3 || stays.Err() == nil {
			t.Errorf("tried %v; the first one's calls ended: %v", tried, stays.Err())
		}
		// All failed: the one that did so longest ago is next, never none.
		r.fail(server())
		if got := server(); got == "" {
			t.Error("no server")
		}
		// Gossip knows better than who asks a dead one.
		now := server()
		for i := range members {
			if members[i].Tags["id"] == now {
				members[i].Status = gossip.StatusFailed
			}
		}
		if got := server(); got == now {
			t.Errorf("stayed with %s, which has failed", got)
		}
		// If all have, this agent is more likely cut off itself.
		for i := range members {
			members[i].Status = gossip.StatusFailed
		}
		if got := server(); got == "" {
			t.Error("no server")
		}
	})
}

func TestRouterRebalances(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var members atomic.Pointer[[]gossip.Member]
		members.Store(&[]gossip.Member{serverMember("a", gossip.StatusAlive)})
		r := newRouter(func() []gossip.Member { return *members.Load() }, "dc1", slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); _ = r.run(ctx) }()
		_, stays, _ := r.server()
		members.Store(&[]gossip.Member{serverMember("a", gossip.StatusAlive), serverMember("b", gossip.StatusAlive)})
		<-stays.Done() // within rebalance
		if id, _, _ := r.server(); id != "b" {
			t.Errorf("with %s still", id)
		}
		cancel()
		<-done
	})
}
