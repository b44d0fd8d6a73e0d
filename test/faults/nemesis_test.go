package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/muster-discovery/muster/test/testbed"
)

// nemesis injects one random fault after the other. What it does, and for how long, is
// determined by the seed; whom it meets may depend on who leads at the time.
type nemesis struct {
	t       *testing.T
	bed     *testbed.Bed
	servers []*testbed.Node
	client  *testbed.Node
	random  *rand.Rand
	killed  map[*testbed.Node]bool
	faults  int
	began   time.Time
}

// kinds are all faults. Each returns its name for the log; mend undoes every one.
func (n *nemesis) kinds() []func() string {
	one := func() *testbed.Node { return n.servers[n.random.IntN(len(n.servers))] }
	return []func() string{
		func() string { return n.part(n.leader()) },
		func() string { return n.part(one()) },
		func() string { return n.part(n.client) },
		func() string {
			x := n.leader()
			n.do(x.CutOneWay(n.hosts()...))
			return fmt.Sprintf("%s is not heard", x)
		},
		func() string {
			x := one()
			for _, h := range n.hosts() {
				n.do(h.CutOneWay(x.Host))
			}
			return fmt.Sprintf("%s hears nobody", x)
		},
		func() string {
			i := n.random.IntN(len(n.servers))
			x, y := n.servers[i], n.servers[(i+1)%len(n.servers)]
			n.do(testbed.Cut([]*testbed.Host{x.Host}, []*testbed.Host{y.Host}))
			return fmt.Sprintf("%s and %s are parted, others see both", x, y)
		},
		func() string { return n.kill(n.leader()) },
		func() string { i := n.random.IntN(3); return n.kill(n.servers[i], n.servers[(i+1)%3]) },
		func() string { return n.kill(n.servers...) },
		func() string { return n.kill(n.client, one()) },
		func() string { x := n.leader(); x.Pause(); return fmt.Sprintf("%s stands still", x) },
		func() string { x := one(); x.Pause(); return fmt.Sprintf("%s stands still", x) },
		func() string { x := one(); n.do(x.Silence()); return fmt.Sprintf("%s is silent", x) },
		func() string { return n.slow(n.leader()) },
		func() string { x := n.leader(); n.do(x.FillDisk(0)); return fmt.Sprintf("the disk of %s is full", x) },
		func() string { return n.flap(one()) },
	}
}

// run injects faults until the time is over, and leaves none.
func (n *nemesis) run(ctx context.Context) {
	n.began, n.killed = time.Now(), map[*testbed.Node]bool{}
	kinds := n.kinds()
	var order []int
	for n.wait(ctx, 200, 1000) {
		if len(order) == 0 {
			order = n.random.Perm(len(kinds)) // each comes before one comes again
		}
		what := kinds[order[0]]()
		order = order[1:]
		n.faults++
		n.t.Logf("%6.2fs %s", time.Since(n.began).Seconds(), what)
		n.wait(ctx, 300, 2500)
		n.mend()
	}
}

// wait is a random time in milliseconds; false: the test is over.
func (n *nemesis) wait(ctx context.Context, least, most int) bool {
	d := time.Duration(least+n.random.IntN(most-least)) * time.Millisecond
	select {
	case <-time.After(d):
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// mend undoes all faults.
func (n *nemesis) mend() {
	n.do(n.bed.Heal())
	for _, x := range append(n.servers[:len(n.servers):len(n.servers)], n.client) {
		x.Continue()
		n.do(x.EmptyDisk())
		if x.Running() {
			continue
		}
		if !n.killed[x] {
			n.t.Errorf("%s ended by itself", x)
		}
		delete(n.killed, x)
		x.Start()
	}
}

func (n *nemesis) do(err error) {
	if err != nil {
		n.t.Errorf("inject a fault: %v", err)
	}
}

// leader is any server if none leads.
func (n *nemesis) leader() *testbed.Node {
	random := n.servers[n.random.IntN(len(n.servers))] // drawn in any case: the seed's numbers stay in step
	for _, s := range n.servers {
		if addr, err := s.Leader(); err == nil {
			for _, l := range n.servers {
				if l.Addr+":8300" == addr {
					return l
				}
			}
		}
	}
	return random
}

func (n *nemesis) hosts() (hosts []*testbed.Host) {
	for _, s := range n.servers {
		hosts = append(hosts, s.Host)
	}
	return append(hosts, n.client.Host)
}

func (n *nemesis) part(x *testbed.Node) string {
	n.do(testbed.Cut([]*testbed.Host{x.Host}, n.hosts()))
	return fmt.Sprintf("%s is cut off", x)
}

func (n *nemesis) kill(nodes ...*testbed.Node) string {
	for _, x := range nodes {
		n.killed[x] = true
		x.Kill()
	}
	return fmt.Sprintf("%v killed", nodes)
}

func (n *nemesis) slow(x *testbed.Node) string {
	if testbed.Netem() == nil {
		n.do(x.Delay(50*time.Millisecond, 10))
		return fmt.Sprintf("%s is late and loses a tenth", x)
	}
	n.do(x.Narrow(256, 100*time.Millisecond))
	return fmt.Sprintf("%s has a narrow line", x)
}

// flap parts and heals quickly, several times.
func (n *nemesis) flap(x *testbed.Node) string {
	for range 5 {
		n.part(x)
		pause(time.Duration(50+n.random.IntN(250)) * time.Millisecond)
		n.do(n.bed.Heal())
		pause(time.Duration(50+n.random.IntN(250)) * time.Millisecond)
	}
	return fmt.Sprintf("%s was cut off five times for a moment", x)
}
