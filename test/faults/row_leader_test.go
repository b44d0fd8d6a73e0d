package faults

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/muster-discovery/muster/test/testbed"
)

// TestRowLeaderDies: its process, then its whole host, then it stands still. A follower and a client agent are
// asked meanwhile; none of their callers may notice more than a pause of writes.
func TestRowLeaderDies(t *testing.T) {
	bed := row(t)
	servers := bed.Servers(3, nil)
	client := bed.Client("c1", servers, nil)
	must(t, servers[0].Put("/v1/catalog/register", external("w1", "web")))
	indexOfWeb(t, client, 1)
	for _, c := range []struct {
		what     string
		kill     func(*testbed.Node)
		promised bool
	}{
		{"the leader's process dies", func(n *testbed.Node) { n.Kill() }, true},
		{"the leader's host falls silent", func(n *testbed.Node) { must(t, n.Silence()) }, true},
		// Its kernel goes on and takes what is sent to it: nothing is promised for calls
		// that went there.
		{"the leader stands still", func(n *testbed.Node) { n.Pause() }, false},
	} {
		bed.Whole(servers)
		leader, followers := bed.Split(servers)
		load := startLoad(followers[0], client)
		pause(500 * time.Millisecond)
		start := time.Now()
		c.kill(leader)
		pause(4 * time.Second)
		load.stop()
		if !c.promised {
			load.report(t, c.what, start, writes, reads, stale, resolves)
		} else {
			load.report(t, c.what, start)
			for _, kind := range []string{writes, reads, stale, resolves} {
				worst, _ := load.slowest(kind)
				within(t, c.what+": the slowest of "+kind, worst.took, writeGap)
			}
		}
		within(t, c.what+": no write", load.gap(writes, start), writeGap)
		leader.Continue()
		must(t, bed.Heal())
		if !leader.Running() {
			leader.Start()
		}
	}
	bed.Whole(servers)
	agree(t, servers)
}

// TestRowKillAll kills all servers at once under writers, again and again. What was
// acknowledged is there when they are back.
func TestRowKillAll(t *testing.T) {
	bed := row(t)
	servers := bed.Servers(3, nil)
	acked := map[string]bool{}
	for round := range 5 {
		var writers sync.WaitGroup
		var mu sync.Mutex
		stop := make(chan struct{})
		for w := range 6 {
			writers.Go(func() {
				for i := 0; ; i++ {
					select {
					case <-stop:
						return
					default:
					}
					key := fmt.Sprintf("kill/%d/%d/%d", round, w, i)
					if _, err := servers[w%3].Within(time.Second, http.MethodPut, "/v1/kv/"+key, []byte("x"), nil); err != nil {
						return
					}
					mu.Lock()
					acked[key] = true
					mu.Unlock()
				}
			})
		}
		pause(time.Duration(300+137*round) * time.Millisecond)
		var kills sync.WaitGroup
		for _, s := range servers {
			kills.Go(s.Kill)
		}
		kills.Wait()
		close(stop)
		writers.Wait()
		start := time.Now()
		for _, s := range servers {
			s.Start()
		}
		testbed.Eventually(t, "a write", func() error { return put(servers[round%3], "/v1/kv/first", round) })
		figure(t, "all three killed and started: first write after %v", time.Since(start).Round(time.Millisecond))
		var keys []string
		must(t, servers[(round+1)%3].Get("/v1/kv/kill/?keys&consistent", &keys))
		found := map[string]bool{}
		for _, key := range keys {
			found[key] = true
		}
		for key := range acked {
			if !found[key] {
				t.Fatalf("acknowledged write %s is lost", key)
			}
		}
	}
	figure(t, "all three killed five times: %d acknowledged writes, none lost", len(acked))
	bed.Whole(servers)
	agree(t, servers)
}
