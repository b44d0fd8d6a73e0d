package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// clientAgent prepares a client agent of a cluster.
func clientAgent(t *testing.T, name string, servers []*agent) *agent {
	t.Helper()
	c := newAgent(t, name, map[string]any{"data_dir": filepath.Join(t.TempDir(), "data")})
	for _, s := range servers {
		c.args = append(c.args, "-retry-join", fmt.Sprintf("127.0.0.1:%d", s.ports["serf_lan"]))
	}
	return c
}

// lookup asks for web's instances, and tells how old the answer may be.
func (a *agent) lookup(query string) (n int, contact time.Duration, h http.Header, err error) {
	resp, err := client.Get(a.url("/v1/health/service/web?" + query))
	if err != nil {
		return 0, 0, nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return 0, 0, resp.Header, fmt.Errorf("%s", resp.Status)
	}
	var list []any
	err = json.NewDecoder(resp.Body).Decode(&list)
	ms, _ := strconv.Atoi(resp.Header.Get("X-Consul-Lastcontact"))
	return len(list), time.Duration(ms) * time.Millisecond, resp.Header, err
}

func (a *agent) looksUp(t *testing.T, query string, want int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%s finds %d (%s)", a.name, want, query), func() error {
		n, _, _, err := a.lookup(query)
		if err == nil && n != want {
			err = fmt.Errorf("finds %d", n)
		}
		return err
	})
}

// TestClientAgent: everything that a server answers, a client agent does; what it has
// asked for lately outlives the servers.
func TestClientAgent(t *testing.T) {
	servers := cluster(t)
	c := clientAgent(t, "c1", servers)
	c.start()
	c.ready()

	// Its own services reach the catalog, and every way of asking finds them.
	if err := c.put("/v1/agent/service/register", map[string]any{"Name": "web", "Port": 80}); err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{"", "consistent", "stale", "cached", "passing&filter=" + "Service.Port==80"} {
		c.looksUp(t, query, 1)
	}
	servers[0].looksUp(t, "", 1)
	if m, err := c.ask("web.service.consul.", dns.TypeSRV); err != nil || len(m.Answer) != 1 {
		t.Errorf("DNS: %v, %v", m, err)
	}
	if m, err := c.ask("c1.node.consul.", dns.TypeA); err != nil || len(m.Answer) != 1 {
		t.Errorf("DNS of the node: %v, %v", m, err)
	}

	// The rest of the API goes through to the servers.
	if err := c.put("/v1/kv/a/b", "x"); err != nil {
		t.Error(err)
	}
	var keys []string
	if err := c.get("/v1/kv/a?keys", &keys); err != nil || len(keys) != 1 || keys[0] != "a/b" {
		t.Errorf("keys %v, %v", keys, err)
	}
	var services map[string][]string
	if err := c.get("/v1/catalog/services?filter="+"ServicePort==80", &services); err != nil || len(services) != 1 {
		t.Errorf("services %v, %v", services, err)
	}
	if err := c.put("/v1/txn", []any{map[string]any{"KV": map[string]any{"Verb": "get", "Key": "a/b"}}}); err != nil {
		t.Error(err)
	}
	var session struct{ ID string }
	if err := c.send("PUT", "/v1/session/create", `{"Node":"c1","TTL":"10s"}`, &session); err != nil || session.ID == "" {
		t.Errorf("session %v, %v", session, err)
	}
	if err := c.send("PUT", "/v1/session/renew/"+session.ID, "", nil); err != nil {
		t.Error(err)
	}
	var raft struct{ Servers []any }
	if err := c.get("/v1/operator/raft/configuration", &raft); err != nil || len(raft.Servers) != 3 {
		t.Errorf("raft configuration %v, %v", raft, err)
	}

	// A blocking query wakes at once, and nobody notices a lost leader.
	_, _, h, err := c.lookup("")
	if err != nil {
		t.Fatal(err)
	}
	woken := make(chan error, 1)
	go func() {
		n, _, _, err := c.lookup("wait=15s&index=" + h.Get("X-Consul-Index"))
		if err == nil && n != 2 {
			err = fmt.Errorf("woken with %d instances", n)
		}
		woken <- err
	}()
	if err := servers[1].register("outside"); err != nil {
		t.Fatal(err)
	}
	if err := <-woken; err != nil {
		t.Error(err)
	}
	leaderOf(t, servers).kill()
	if err := c.put("/v1/kv/after", "x"); err != nil {
		t.Errorf("write after the leader was killed: %v", err)
	}
	c.looksUp(t, "", 2)

	// Without any server the last known answers remain, with their age.
	for _, s := range servers {
		s.kill()
	}
	time.Sleep(time.Second) // for an age to tell
	for _, query := range []string{"stale", "cached", ""} {
		n, contact, h, err := c.lookup(query)
		if err != nil || n != 2 || contact < time.Second || h.Get("X-Consul-Knownleader") != "false" {
			t.Errorf("without servers (%s): %d instances, %s old, %v, %v", query, n, contact, h, err)
		}
	}
	if _, _, _, err := c.lookup("consistent"); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("a consistent read without servers: %v", err)
	}
	if m, err := c.ask("web.service.consul.", dns.TypeSRV); err != nil || len(m.Answer) != 2 {
		t.Errorf("DNS without servers: %v, %v", m, err)
	}
	if m, err := c.ask("never.service.consul.", dns.TypeA); err != nil || m.Rcode != dns.RcodeServerFailure {
		t.Errorf("DNS of what was never asked for: %v, %v", m, err)
	}
	if err := c.put("/v1/kv/none", "x"); err == nil || !strings.Contains(err.Error(), "500") && !strings.Contains(err.Error(), "503") {
		t.Errorf("write without servers: %v", err)
	}
	if err := c.put("/v1/agent/service/register", map[string]any{"Name": "web", "ID": "web-2"}); err != nil {
		t.Errorf("registration without servers: %v", err)
	}

	// It finds back by itself, with what was registered meanwhile.
	for _, s := range servers {
		s.start()
	}
	c.ready()
	c.looksUp(t, "stale", 3)
	c.looksUp(t, "", 3)
}

// send is a request with a body as it is, whose 200 answer is decoded into v.
func (a *agent) send(method, path, body string, v any) error {
	req, err := http.NewRequest(method, a.url(path), strings.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s", method, path, resp.Status)
	}
	if v == nil {
		return nil
	}
	return json.NewDecoder(resp.Body).Decode(v)
}
