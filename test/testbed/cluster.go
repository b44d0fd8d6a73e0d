package testbed

import (
	"fmt"
	"maps"
	"testing"
	"time"
)

// Patience bounds every wait for a condition; generous, since CI is busy.
const Patience = 30 * time.Second

// Eventually waits until check returns nil.
func Eventually(t testing.TB, what string, check func() error) {
	t.Helper()
	EventuallyIn(t, what, Patience, check)
}

// EventuallyIn is Eventually with a limit of its own.
func EventuallyIn(t testing.TB, what string, limit time.Duration, check func() error) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	end := time.After(limit)
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("%s: not within %v: %v", what, limit, err)
		}
	}
}

// DiskSize is that of a server: enough for the tests, and little enough to fill.
const DiskSize = 192 << 20

// Servers starts so many servers that found a cluster together, each with a disk of its
// own, and waits until all know the leader and have each other in the catalog.
func (b *Bed) Servers(count int, config map[string]any) []*Node {
	b.t.Helper()
	nodes := b.PrepareServers(count, config)
	for _, n := range nodes {
		n.Start()
	}
	b.Whole(nodes)
	return nodes
}

// PrepareServers is Servers without starting them.
func (b *Bed) PrepareServers(count int, config map[string]any) []*Node {
	b.t.Helper()
	var hosts []*Host
	for i := range count {
		h := b.Host(fmt.Sprintf("s%d", i+1))
		h.Disk(DiskSize)
		hosts = append(hosts, h)
	}
	all := map[string]any{"server": true, "bootstrap_expect": count}
	maps.Copy(all, config)
	var nodes []*Node
	for _, h := range hosts {
		nodes = append(nodes, b.Node(h, all, hosts))
	}
	return nodes
}

// Client starts a client agent and waits until it answers.
func (b *Bed) Client(hostname string, servers []*Node, config map[string]any) *Node {
	b.t.Helper()
	var join []*Host
	for _, s := range servers {
		join = append(join, s.Host)
	}
	n := b.Node(b.Host(hostname), config, join)
	n.Start()
	Eventually(b.t, hostname+" is a member", func() error {
		_, err := n.Leader()
		return err
	})
	return n
}

// Leader is the address of the leader that the agent knows.
func (n *Node) Leader() (addr string, err error) {
	if _, err = n.Within(2*time.Second, "GET", "/v1/status/leader", nil, &addr); err == nil && addr == "" {
		err = fmt.Errorf("%s knows no leader", n)
	}
	return addr, err
}

// Whole waits until servers agree on a leader and all pass in the catalog.
func (b *Bed) Whole(nodes []*Node) {
	b.t.Helper()
	EventuallyIn(b.t, "the servers are one cluster", 2*Patience, func() error { return IsWhole(nodes) })
}

// IsWhole says what is missing.
func IsWhole(nodes []*Node) error {
	first, err := nodes[0].Leader()
	if err != nil {
		return err
	}
	for _, n := range nodes {
		if addr, err := n.Leader(); err != nil || addr != first {
			return fmt.Errorf("leader %s at %s, %s at %s, %v", first, nodes[0], addr, n, err)
		}
		if passing, err := n.Passing("consul", "stale"); err != nil || len(passing) != len(nodes) {
			return fmt.Errorf("%d servers pass at %s, %v", len(passing), n, err)
		}
	}
	return nil
}

// Split finds the leader and those that follow it.
func (b *Bed) Split(nodes []*Node) (leader *Node, followers []*Node) {
	b.t.Helper()
	Eventually(b.t, "there is a leader", func() error {
		leader, followers = nil, nil
		addr, err := nodes[0].Leader()
		for _, n := range nodes {
			if n.Addr+":8300" == addr {
				leader = n
			} else {
				followers = append(followers, n)
			}
		}
		if leader == nil && err == nil {
			err = fmt.Errorf("the leader %s is none of the servers", addr)
		}
		return err
	})
	return leader, followers
}

// Passing are the instances of a service that an agent finds, by id of their service and
// node. Mode is a query.
func (n *Node) Passing(service, mode string) (ids []string, err error) {
	var list []struct {
		Node    struct{ Node string }
		Service struct{ ID string }
	}
	_, err = n.Within(2*time.Second, "GET", "/v1/health/service/"+service+"?passing&"+mode, nil, &list)
	for _, i := range list {
		ids = append(ids, i.Node.Node+"/"+i.Service.ID)
	}
	return ids, err
}
