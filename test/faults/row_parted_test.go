package faults

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/muster-discovery/muster/test/testbed"
)

// refused is how long a write takes to be refused, and with what words.
func refused(t *testing.T, n *testbed.Node, what string) time.Duration {
	t.Helper()
	start := time.Now()
	_, err := n.Within(15*time.Second, http.MethodPut, "/v1/kv/refused", []byte("x"), nil)
	took := time.Since(start)
	if err == nil {
		t.Errorf("%s: a write succeeded", what)
	}
	figure(t, "%s: a write at %s is refused after %v: %v", what, n, took.Round(time.Millisecond), err)
	return took
}

// answers: stale reads and DNS go on.
func answers(t *testing.T, what string, nodes ...*testbed.Node) {
	t.Helper()
	for _, n := range nodes {
		for _, ask := range []func() error{func() error { return findsWeb(n, "stale") }, func() error { return resolvesWeb(n) }} {
			start := time.Now()
			if err := ask(); err != nil {
				t.Errorf("%s: at %s: %v", what, n, err)
			}
			if took := time.Since(start); took > 100*time.Millisecond {
				t.Errorf("%s: an answer of %s took %v", what, n, took)
			}
		}
	}
}

// TestRowQuorumLost: two of three servers die. What is left answers stale reads and DNS,
// and says of writes soon that they can't be done.
func TestRowQuorumLost(t *testing.T) {
	bed := row(t)
	servers := bed.Servers(3, nil)
	client := bed.Client("c1", servers, nil)
	must(t, servers[0].Put("/v1/catalog/register", external("w1", "web")))
	indexOfWeb(t, client, 1)
	leader, followers := bed.Split(servers)
	for _, f := range followers {
		f.Kill()
	}
	answers(t, "quorum lost", leader, client)
	refused(t, leader, "quorum lost, at once")
	for range 3 {
		answers(t, "quorum lost for a while", leader, client)
		within(t, "quorum lost for a while: a refusal", refused(t, leader, "quorum lost for a while"), atOnce)
	}
	within(t, "quorum lost for a while: a refusal at a client agent", refused(t, client, "quorum lost for a while"), atOnce)
	start := time.Now()
	for _, f := range followers {
		f.Start()
	}
	testbed.Eventually(t, "writes again", func() error { return put(leader, "/v1/kv/again", "x") })
	figure(t, "quorum is back: a write %v after the start of the servers", time.Since(start).Round(time.Millisecond))
}

// TestRowClientCutOff: a client agent without servers answers from what it knew last, with
// the age; its checks and registrations go on, and reach the catalog by themselves.
func TestRowClientCutOff(t *testing.T) {
	bed := row(t)
	servers := bed.Servers(3, nil)
	client := bed.Client("c1", servers, nil)
	must(t, client.Put("/v1/agent/service/register", map[string]any{"Name": "own", "Port": 80, "Check": map[string]any{"TTL": "60s", "Status": "passing"}}))
	must(t, servers[0].Put("/v1/catalog/register", external("w1", "web")))
	indexOfWeb(t, client, 1)
	var hosts []*testbed.Host
	for _, s := range servers {
		hosts = append(hosts, s.Host)
	}
	testbed.Eventually(t, "the service is in the catalog", func() error {
		passing, err := servers[0].Passing("own", "")
		return firstError(err, want(len(passing), 1))
	})
	keeps(t, client)
	must(t, testbed.Cut([]*testbed.Host{client.Host}, hosts))
	cut := time.Now()
	answers(t, "cut off", client)
	var age int
	testbed.Eventually(t, "answers tell their age", func() error {
		header, err := client.Within(time.Second, http.MethodGet, "/v1/health/service/web?passing&stale", nil, nil)
		age, _ = strconv.Atoi(header.Get("X-Consul-LastContact"))
		return firstError(err, want(age > 0 && header.Get("X-Consul-KnownLeader") == "false", true))
	})
	within(t, "cut off: answers tell their age, at first "+strconv.Itoa(age)+" ms", time.Since(cut), 20*time.Second)
	answers(t, "cut off, known", client)
	start := time.Now()
	_, err := client.Within(15*time.Second, http.MethodGet, "/v1/health/service/web", nil, nil)
	figure(t, "cut off: a default read takes %v: %v", time.Since(start).Round(time.Millisecond), err)
	neverAsked(t, client)
	must(t, client.Put("/v1/agent/service/register", map[string]any{"ID": "late", "Name": "late", "Port": 80}),
		client.Put("/v1/agent/check/fail/service:own", nil))

	pause(3 * time.Second)
	must(t, bed.Heal())
	healed := time.Now()
	testbed.Eventually(t, "the catalog has what happened meanwhile", func() error {
		catalog, local, err := servicesOf(client, servers[1])
		own, err2 := servers[1].Passing("own", "")
		return firstError(err, err2, want(local["late"], true), want(catalog, local), want(len(own), 0))
	})
	within(t, "cut off, healed: what happened meanwhile is in the catalog", time.Since(healed), 10*time.Second)
	testbed.EventuallyIn(t, "the node passes again", 2*testbed.Patience, func() error {
		late, err := servers[1].Passing("late", "")
		return firstError(err, want(len(late), 1))
	})
	figure(t, "cut off for %v, healed: its node passes after %v", healed.Sub(cut).Round(time.Millisecond), time.Since(healed).Round(time.Millisecond))
}

// keeps waits until a client agent keeps web current: what was asked for with stale,
// cached, a blocking query or DNS, as soon as there is a stream.
func keeps(t *testing.T, clients ...*testbed.Node) {
	t.Helper()
	for _, n := range clients {
		testbed.Eventually(t, n.Name+" keeps web current", func() error {
			if err := findsWeb(n, "stale"); err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, _, text, err := n.Ask(ctx, http.MethodGet, "/v1/agent/metrics?format=prometheus", nil)
			return firstError(err, want(strings.Contains(string(text), "\nmuster_mirror_hits_total 0\n"), false))
		})
	}
}

// neverAsked: what a client agent never had it says that it does not know.
func neverAsked(t *testing.T, client *testbed.Node) {
	t.Helper()
	start := time.Now()
	m, err := client.Resolve("never.service.consul.", dns.TypeA, 20*time.Second)
	figure(t, "cut off: DNS of what was never asked for takes %v, %v", time.Since(start).Round(time.Millisecond), err)
	if err != nil || m.Rcode != dns.RcodeServerFailure {
		t.Errorf("DNS of what was never asked for: %v, %v", m, err)
	}
	start = time.Now()
	_, err = client.Within(20*time.Second, http.MethodGet, "/v1/health/service/never2?stale", nil, nil)
	figure(t, "cut off: a stale read of what was never asked for takes %v: %v", time.Since(start).Round(time.Millisecond), err)
	if err == nil {
		t.Error("a stale read of what was never asked for has an answer")
	}
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// TestRowPartition: the leader and a client agent on one side, two servers and another
// client agent on the other, for longer than gossip needs to give up. Both sides go on
// with what they can; afterwards nothing is back that was removed, nothing twice, nothing
// lost.
func TestRowPartition(t *testing.T) {
	bed := row(t)
	servers := bed.Servers(3, nil)
	c1, c2 := bed.Client("c1", servers, nil), bed.Client("c2", servers, nil)
	for _, id := range []string{"w1", "gone"} {
		must(t, servers[0].Put("/v1/catalog/register", external(id, "web-"+id)))
	}
	must(t, servers[0].Put("/v1/catalog/deregister", map[string]any{"Node": "gone", "ServiceID": "web-gone"}),
		c1.Put("/v1/agent/service/register", map[string]any{"Name": "old1", "Port": 80}),
		c2.Put("/v1/agent/service/register", map[string]any{"Name": "old2", "Port": 80}))
	for _, n := range []*testbed.Node{c1, c2} {
		indexOfWeb(t, n, 1)
	}
	keeps(t, c1, c2)
	leader, rest := bed.Split(servers)
	minority := []*testbed.Host{leader.Host, c1.Host}
	majority := []*testbed.Host{rest[0].Host, rest[1].Host, c2.Host}
	must(t, testbed.Cut(minority, majority))
	cut := time.Now()
	_, err := rest[0].Within(15*time.Second, http.MethodPut, "/v1/kv/parted", []byte("x"), nil)
	must(t, err)
	within(t, "partition: a write of the majority under way", time.Since(cut), writeGap)
	testbed.Eventually(t, "the majority takes the others for dead", func() error {
		passing, err := rest[0].Passing("consul", "")
		return firstError(err, want(len(passing), 2))
	})
	figure(t, "partition: the majority takes the others for dead %v after the cut", time.Since(cut).Round(time.Millisecond))
	answers(t, "partition", leader, c1, rest[0], c2)
	refused(t, leader, "partition, first write of the minority")
	answers(t, "partition", leader, c1, rest[0], c2)
	within(t, "partition: a refusal of the minority", refused(t, leader, "partition, second write of the minority"), atOnce)

	must(t, rest[0].Put("/v1/catalog/deregister", map[string]any{"Node": "gone"}),
		c2.Put("/v1/agent/service/deregister/old2", nil),
		c1.Put("/v1/agent/service/deregister/old1", nil),
		c1.Put("/v1/agent/service/register", map[string]any{"Name": "new1", "Port": 80}),
		c2.Put("/v1/agent/service/register", map[string]any{"Name": "new2", "Port": 80}))
	must(t, bed.Heal())
	healed := time.Now()
	testbed.Eventually(t, "one leader", func() error {
		a, err1 := leader.Leader()
		b, err2 := rest[0].Leader()
		return firstError(err1, err2, want(a, b))
	})
	figure(t, "partition healed: one leader after %v", time.Since(healed).Round(time.Millisecond))
	bed.Whole(servers)
	figure(t, "partition healed: all servers pass after %v", time.Since(healed).Round(time.Millisecond))
	for _, c := range []*testbed.Node{c1, c2} {
		own := map[string]bool{"new" + c.Name[1:]: true}
		testbed.Eventually(t, c.Name+"'s services are right", func() error {
			catalog, local, err := servicesOf(c, rest[1])
			return firstError(err, want(local, own), want(catalog, own))
		})
	}
	testbed.Eventually(t, "all nodes live again", func() error {
		var critical []any
		return firstError(rest[0].Get("/v1/health/state/critical", &critical), want(len(critical), 0))
	})
	figure(t, "partition healed: the catalog is right after %v", time.Since(healed).Round(time.Millisecond))
	found, err := nodes(rest[0])
	must(t, err, want(found, map[string]bool{"s1": true, "s2": true, "s3": true, "c1": true, "c2": true, "w1": true}))
	agree(t, servers)
}
