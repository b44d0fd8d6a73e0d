package e2e

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestKillKeepsAcknowledgedWrites kills a server at random moments under load and
// compares what it holds afterwards with what it had acknowledged.
func TestKillKeepsAcknowledgedWrites(t *testing.T) {
	rounds := 8
	if testing.Short() {
		rounds = 3
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))

	a := durable(t)
	var catalog, local []int // acknowledged numbers
	next := atomic.Int64{}
	for range rounds {
		a.start()
		a.ready()
		a.holds(t, catalog, local)

		var mu sync.Mutex
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for {
					n := int(next.Add(1))
					c := a.put("/v1/catalog/register", map[string]any{
						"Node": fmt.Sprintf("c%d", n), "Address": "10.0.0.1",
						"Service": map[string]any{"ID": "x", "Service": "killed", "Port": n},
					})
					l := a.put("/v1/agent/service/register", map[string]any{"ID": fmt.Sprintf("l%d", n), "Name": "local", "Port": n})
					mu.Lock()
					if c == nil {
						catalog = append(catalog, n)
					}
					if l == nil {
						local = append(local, n)
					}
					mu.Unlock()
					if c != nil || l != nil {
						return
					}
				}
			})
		}
		timer := time.NewTimer(time.Duration(50+rnd.IntN(300)) * time.Millisecond)
		<-timer.C // load for a random time: the moment of the kill is the test
		a.kill()
		wg.Wait()
	}
	a.start()
	a.ready()
	a.holds(t, catalog, local)
	if len(catalog) < 20 || len(local) < 20 {
		t.Errorf("only %d and %d writes acknowledged: the test did not load the server", len(catalog), len(local))
	}
	t.Logf("%d catalog and %d agent writes acknowledged over %d kills", len(catalog), len(local), rounds)
}

func (a *agent) holds(t *testing.T, catalog, local []int) {
	t.Helper()
	var instances []struct{ Node string }
	if err := a.get("/v1/catalog/service/killed", &instances); err != nil {
		t.Fatal(err)
	}
	have := make(map[string]bool)
	for _, i := range instances {
		have[i.Node] = true
	}
	for _, n := range catalog {
		if !have[fmt.Sprintf("c%d", n)] {
			t.Fatalf("acknowledged registration of node c%d is lost (%d held)", n, len(instances))
		}
	}
	var services map[string]any
	if err := a.get("/v1/agent/services", &services); err != nil {
		t.Fatal(err)
	}
	for _, n := range local {
		if services[fmt.Sprintf("l%d", n)] == nil {
			t.Fatalf("acknowledged agent registration l%d is lost (%d held)", n, len(services))
		}
	}
}
