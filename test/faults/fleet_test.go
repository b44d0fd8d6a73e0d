package faults

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/muster-discovery/muster/test/testbed"
)

// fleetServices is how many services the fleet has in all.
const fleetServices = 5000

// TestFleet starts many client agents with services, restarts the servers one after the
// other, and wants the catalog right afterwards.
func TestFleet(t *testing.T) {
	if *fleet == 0 {
		t.Skip("-fleet says how many agents")
	}
	bed := testbed.New(t)
	each := fleetServices / *fleet
	servers := bed.Servers(3, nil)
	begin := time.Now()
	var agents []*testbed.Node
	for i := range *fleet {
		one := time.Now()
		agents = append(agents, bed.Client(fmt.Sprintf("c%d", i+1), servers, nil))
		if took := time.Since(one); took > 2*time.Second {
			t.Logf("%s took %v to start", agents[i], took.Round(time.Millisecond))
		}
	}
	figure(t, "%d client agents started one after the other in %v", len(agents), time.Since(begin).Round(time.Millisecond))

	begin = time.Now()
	var wg sync.WaitGroup
	lanes := make(chan struct{}, 8)
	for _, a := range agents {
		lanes <- struct{}{}
		wg.Go(func() {
			defer func() { <-lanes }()
			for s := range each {
				if err := a.Put("/v1/agent/service/register", map[string]any{"ID": fmt.Sprintf("svc%d", s), "Name": fmt.Sprintf("svc%d", s), "Port": 80}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	figure(t, "%d services registered in %v", len(agents)*each, time.Since(begin).Round(time.Millisecond))
	fleetRight(t, servers, len(agents), each)
	figure(t, "all in the catalog, at all servers, %v after the first registration", time.Since(begin).Round(time.Millisecond))
	memory(t, "servers", servers)
	memory(t, "client agents", agents)
	idle(t, "servers", servers)
	idle(t, "client agents", agents)

	begin = time.Now()
	for _, s := range servers {
		one := time.Now()
		s.Stop(syscall.SIGTERM)
		s.Start()
		bed.Whole(servers)
		t.Logf("%s restarted, one cluster again after %v", s, time.Since(one).Round(time.Millisecond))
	}
	figure(t, "servers restarted one after the other in %v", time.Since(begin).Round(time.Millisecond))
	begin = time.Now()
	fleetRight(t, servers, len(agents), each)
	figure(t, "the catalog is right at all servers %v later", time.Since(begin).Round(time.Millisecond))

	// Every agent still gets through, and the servers still hear of it.
	begin = time.Now()
	for _, a := range agents {
		must(t, a.Put("/v1/agent/service/deregister/svc0", nil))
	}
	testbed.Eventually(t, "svc0 is gone everywhere", func() error {
		passing, err := servers[0].Passing("svc0", "")
		return firstError(err, want(len(passing), 0))
	})
	figure(t, "one service of each agent deregistered, gone after %v", time.Since(begin).Round(time.Millisecond))
	agree(t, servers)
}

// fleetRight waits until each server has all services passing and no critical check.
func fleetRight(t *testing.T, servers []*testbed.Node, agents, each int) {
	t.Helper()
	for _, s := range servers {
		testbed.Eventually(t, "the catalog at "+s.Name, func() error {
			for n := range each {
				var list []any
				if _, err := s.Within(5*time.Second, http.MethodGet, fmt.Sprintf("/v1/health/service/svc%d?passing&stale", n), nil, &list); err != nil {
					return err
				}
				if len(list) != agents {
					return fmt.Errorf("svc%d has %d instances", n, len(list))
				}
			}
			var critical, known []any
			return firstError(s.Get("/v1/health/state/critical?stale", &critical), want(len(critical), 0),
				s.Get("/v1/catalog/nodes?stale", &known), want(len(known), agents+len(servers)))
		})
	}
}

// memory prints what processes have resident.
func memory(t *testing.T, what string, nodes []*testbed.Node) {
	t.Helper()
	var sum, most int
	for _, n := range nodes {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", n.Pid()))
		must(t, err)
		_, rest, _ := strings.Cut(string(status), "VmRSS:")
		kib, err := strconv.Atoi(strings.Fields(rest)[0])
		must(t, err)
		sum += kib
		most = max(most, kib)
	}
	figure(t, "%d %s have %d MiB resident each, %d at most", len(nodes), what, sum/len(nodes)>>10, most>>10)
}

// idle prints how much of a core processes take that nobody asks for anything.
func idle(t *testing.T, what string, nodes []*testbed.Node) {
	t.Helper()
	const length = 10 * time.Second
	before := ticks(t, nodes)
	pause(length)
	share := float64(ticks(t, nodes)-before) / float64(len(nodes)) / length.Seconds() // a tick is 10 ms: percent
	figure(t, "%d %s take %.1f %% of a core each when idle", len(nodes), what, share)
}

// ticks is the processor time that processes have taken so far.
func ticks(t *testing.T, nodes []*testbed.Node) (sum int) {
	t.Helper()
	for _, n := range nodes {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", n.Pid()))
		must(t, err)
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		for _, field := range fields[11:13] { // utime, stime
			n, err := strconv.Atoi(field)
			must(t, err)
			sum += n
		}
	}
	return sum
}
