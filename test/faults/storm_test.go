package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/muster-discovery/muster/test/linear"
	"github.com/muster-discovery/muster/test/testbed"
)

// Lengths of a round: CI's, and one of a long run, which ends with the same checks.
const (
	shortRound = 10 * time.Second
	longRound  = time.Minute
)

// TestStorm injects random faults into three servers and a client agent under clients
// whose history is judged. After each round everything heals, and all servers must be
// equal, without what was deregistered, twice registered or lost.
func TestStorm(t *testing.T) {
	bed := testbed.New(t)
	config := map[string]any{"session_ttl_min": "1s"}
	servers := bed.Servers(3, config)
	client := bed.Client("c1", servers, config)
	must(t, servers[0].Put("/v1/catalog/register", map[string]any{"Node": "holders", "Address": "10.0.0.9"}))

	length, end := shortRound, time.Now()
	if *long > 0 {
		length, end = min(longRound, *long), end.Add(*long)
	}
	for round := *seed; ; round++ {
		t.Logf("round with seed %d; repeat with: go test ./test/faults -run TestStorm -v -seed=%d -long=%v", round, round, length)
		storm(t, bed, servers, client, round, length)
		if t.Failed() || !time.Now().Add(length).Before(end) {
			return
		}
	}
}

func storm(t *testing.T, bed *testbed.Bed, servers []*testbed.Node, client *testbed.Node, seed uint64, length time.Duration) {
	random := func(stream uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, stream)) }
	prefix := fmt.Sprintf("storm-%d", seed)
	history := &linear.History{}
	reg := &registrar{doors: append([]*testbed.Node{client}, servers...), client: client, random: random(1), prefix: prefix}
	faults := &nemesis{t: t, bed: bed, servers: servers, client: client, random: random(2)}

	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	var work sync.WaitGroup
	work.Go(func() { reg.run(ctx) })
	began := time.Now()
	for i := range 8 {
		doors := doorsFrom(i, append(servers[:len(servers):len(servers)], client))
		c := linear.Client{Number: i, Doors: doors, History: history, Random: random(uint64(10 + i)), Limit: 3 * time.Second, Pause: 8 * time.Millisecond}
		if i < 5 {
			r := &linear.Registers{Client: c, Keys: 5, Prefix: prefix, Epoch: 2 * time.Second, Began: began}
			work.Go(func() { r.Run(ctx) })
			continue
		}
		c.Pause = 20 * time.Millisecond
		l := &linear.Locks{Client: c, Locks: 1, Writes: 6, Prefix: prefix, Epoch: 4 * time.Second, Began: began, TTL: time.Second, Node: "holders"}
		work.Go(func() { l.Run(ctx) })
	}
	faults.run(ctx)
	work.Wait()
	faults.mend()
	healed := time.Now()
	bed.Whole(servers)
	t.Logf("%d faults; whole again %v after the last one", faults.faults, time.Since(healed).Round(time.Millisecond))
	lastReads(t, servers, history)
	judge(t, history)
	agree(t, servers)
	settled(t, reg, servers, client)
	_, err := servers[0].Within(10*time.Second, http.MethodDelete, "/v1/kv/"+prefix+"?recurse", nil, nil)
	must(t, err)
}

func doorsFrom(first int, nodes []*testbed.Node) (doors []linear.Door) {
	for i := range nodes {
		doors = append(doors, nodes[(first+i)%len(nodes)])
	}
	return doors
}

// lastReads asks for every key once more: what was acknowledged must be there.
func lastReads(t *testing.T, servers []*testbed.Node, history *linear.History) {
	t.Helper()
	keys := map[string]bool{}
	for _, op := range history.Ops() {
		if op.Kind == linear.Put || op.Kind == linear.CAS {
			keys[op.On] = true
		}
	}
	c := &linear.Registers{Client: linear.Client{Number: 100, Doors: doorsFrom(0, servers), History: history, Limit: 10 * time.Second}}
	for key := range keys {
		if op := c.Get(t.Context(), key); op.Result != linear.Yes {
			t.Errorf("read of %s after healing: %s", key, op.Note)
		}
	}
}

// judge fails the test if the history has no explanation.
func judge(t *testing.T, history *linear.History) {
	t.Helper()
	ops := history.Ops()
	start := time.Now()
	verdict, err := linear.Check(ops, 30*time.Second, testbed.Artifacts())
	if err != nil {
		t.Error(err)
	}
	if len(verdict.Undecided) > 0 {
		t.Logf("not decided in time: %q", verdict.Undecided)
	}
	t.Logf("%s in %d registers and locks, checked in %v (longest %v)", linear.Tally(ops), verdict.Parts,
		time.Since(start).Round(time.Millisecond), verdict.Longest.Round(time.Millisecond))
}

// settled: the catalog has what was acknowledged, nothing twice, and of the client agent
// exactly what it has itself.
func settled(t *testing.T, reg *registrar, servers []*testbed.Node, client *testbed.Node) {
	t.Helper()
	start := time.Now()
	testbed.Eventually(t, "the catalog has what was acknowledged", func() error {
		found, err := nodes(servers[1])
		if err != nil {
			return err
		}
		return reg.external.check(found)
	})
	testbed.Eventually(t, "the client agent's services are in the catalog", func() error {
		catalog, local, err := servicesOf(client, servers[2])
		if err != nil {
			return err
		}
		if err := reg.local.check(local); err != nil {
			return err
		}
		return want(catalog, local)
	})
	t.Logf("catalog right %v after the servers agreed; external: %v; local: %v", time.Since(start).Round(time.Millisecond), &reg.external, &reg.local)
}
