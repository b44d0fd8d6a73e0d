package faults

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/muster-discovery/muster/test/testbed"
)

// until watches web with blocking queries through an agent, from an index on, until so
// many instances pass.
func until(n *testbed.Node, index string, instances int) (time.Time, error) {
	for {
		var list []any
		header, err := n.Within(testbed.Patience, http.MethodGet, "/v1/health/service/web?passing&wait=25s&index="+index, nil, &list)
		if err != nil || len(list) == instances {
			return time.Now(), err
		}
		index = header.Get("X-Consul-Index")
	}
}

func indexOfWeb(t *testing.T, n *testbed.Node, instances int) (index string) {
	t.Helper()
	testbed.Eventually(t, fmt.Sprintf("%s finds %d instances", n, instances), func() error {
		var list []any
		header, err := n.Within(5*time.Second, http.MethodGet, "/v1/health/service/web?passing", nil, &list)
		if err != nil {
			return err
		}
		index = header.Get("X-Consul-Index")
		return want(len(list), instances)
	})
	return index
}

// TestRowInstanceStops: from the request on one client agent to the last of sixty
// watchers on three others.
func TestRowInstanceStops(t *testing.T) {
	bed := row(t)
	servers := bed.Servers(3, nil)
	var clients []*testbed.Node
	for i := range 4 {
		clients = append(clients, bed.Client(fmt.Sprintf("c%d", i+1), servers, nil))
	}
	var took []time.Duration
	for range 20 {
		must(t, clients[0].Put("/v1/agent/service/register", map[string]any{"Name": "web", "Port": 80}))
		var watchers sync.WaitGroup
		var mu sync.Mutex
		var last time.Time
		for _, c := range clients[1:] {
			index := indexOfWeb(t, c, 1)
			for range 20 {
				watchers.Go(func() {
					at, err := until(c, index, 0)
					if err != nil {
						t.Error(err)
					}
					mu.Lock()
					defer mu.Unlock()
					if at.After(last) {
						last = at
					}
				})
			}
		}
		pause(100 * time.Millisecond) // all of them wait by now, or almost
		start := time.Now()
		must(t, clients[0].Put("/v1/agent/service/deregister/web", nil))
		watchers.Wait()
		took = append(took, last.Sub(start))
	}
	slices.Sort(took)
	figure(t, "clean deregistration to the last of 60 watchers on other client agents: median %v (goal: 10 ms), worst %v of %d", took[len(took)/2], took[len(took)-1], len(took))
	// One in ten may meet another job of the machine.
	within(t, "clean deregistration to the last watcher, nine of ten", took[len(took)*9/10], 100*time.Millisecond)
}

// TestRowMachineDies: a host falls silent, and only gossip can tell.
func TestRowMachineDies(t *testing.T) {
	bed := row(t)
	servers := bed.Servers(3, nil)
	c1, c2 := bed.Client("c1", servers, nil), bed.Client("c2", servers, nil)
	must(t, c1.Put("/v1/agent/service/register", map[string]any{"Name": "web", "Port": 80}))
	index := indexOfWeb(t, c2, 1)
	start := time.Now()
	must(t, c1.Silence())
	at, err := until(c2, index, 0)
	must(t, err)
	within(t, "a silent host's instance is gone for a watcher on another client agent", at.Sub(start), 8*time.Second)
	c1.Kill() // as the machine is gone

	// The machine comes back.
	start = time.Now()
	must(t, c1.Plug())
	c1.Start()
	index = indexOfWeb(t, c2, 1)
	figure(t, "it is found again %v after the start of its agent (index %s)", time.Since(start).Round(time.Millisecond), index)
}

// TestRowMinorityDies: one follower of three. Nothing fails, and the servers say that
// they can't afford another.
func TestRowMinorityDies(t *testing.T) {
	bed := row(t)
	servers := bed.Servers(3, nil)
	leader, followers := bed.Split(servers)
	must(t, leader.Put("/v1/catalog/register", external("w1", "web")))
	tolerance := func(want int) {
		t.Helper()
		testbed.Eventually(t, "failure tolerance is "+strconv.Itoa(want), func() error {
			var state struct{ FailureTolerance int }
			// 429 while a server is unhealthy: with the same body.
			_, err := leader.Within(2*time.Second, http.MethodGet, "/v1/operator/autopilot/state", nil, &state)
			if err == nil && state.FailureTolerance != want {
				err = fmt.Errorf("it is %d", state.FailureTolerance)
			}
			return err
		})
	}
	tolerance(1)
	load := startLoad(leader, followers[1])
	pause(500 * time.Millisecond)
	start := time.Now()
	followers[0].Kill()
	tolerance(0)
	figure(t, "a follower dies: the failure tolerance is 0 after %v", time.Since(start).Round(time.Millisecond))
	pause(2 * time.Second)
	load.stop()
	load.report(t, "a follower dies", start)
}
