package faults

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-discovery/muster/test/testbed"
)

// tables are stale reads: each server answers with what it has itself.
var tables = []string{
	"/v1/kv/?recurse&tokens&stale", "/v1/catalog/nodes?stale", "/v1/catalog/services?stale",
	"/v1/health/state/any?stale", "/v1/catalog/service/web?stale", "/v1/catalog/service/local?stale",
	"/v1/catalog/service/consul?stale", "/v1/session/list?stale", "/v1/query?stale",
}

// agree waits until all servers have the same in all tables.
func agree(t *testing.T, servers []*testbed.Node) {
	t.Helper()
	start := time.Now()
	for _, table := range tables {
		var texts [][]byte
		defer func() { // tells what differs, if the wait fails
			if t.Failed() && len(texts) == len(servers) && differ(texts) {
				for i, s := range servers {
					path := filepath.Join(testbed.Artifacts(), fmt.Sprintf("%s%s.json", s, strings.NewReplacer("/", "_", "?", "_").Replace(table)))
					_ = os.WriteFile(path, texts[i], 0o644)
				}
				t.Logf("%s of all servers are in %s", table, testbed.Artifacts())
			}
		}()
		testbed.Eventually(t, "all servers have the same in "+table, func() error {
			texts = nil
			for _, s := range servers {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				status, _, text, err := s.Ask(ctx, "GET", table, nil)
				cancel()
				if err != nil || status != 200 && status != 404 {
					return fmt.Errorf("%s: %d, %v", s, status, err)
				}
				texts = append(texts, text)
			}
			if differ(texts) {
				return fmt.Errorf("they differ")
			}
			return nil
		})
	}
	t.Logf("all servers agree, seen in %v", time.Since(start).Round(time.Millisecond))
}

func differ(texts [][]byte) bool {
	for _, text := range texts[1:] {
		if !bytes.Equal(text, texts[0]) {
			return true
		}
	}
	return false
}

// node is one of the catalog.
type node struct{ ID, Node, Address string }

// nodes are those of the catalog, of which no two may be one.
func nodes(from *testbed.Node) (map[string]bool, error) {
	var list []node
	if err := from.Get("/v1/catalog/nodes?consistent", &list); err != nil {
		return nil, err
	}
	found, ids := map[string]bool{}, map[string]string{}
	for _, n := range list {
		name := strings.ToLower(n.Node)
		if found[name] {
			return nil, fmt.Errorf("node %s is there twice", n.Node)
		}
		if other := ids[n.ID]; n.ID != "" && other != "" {
			return nil, fmt.Errorf("nodes %s and %s have one id", n.Node, other)
		}
		found[name], ids[n.ID] = true, n.Node
	}
	return found, nil
}

// servicesOf are the ids of the services of a node in the catalog, and on its agent.
func servicesOf(agent, from *testbed.Node) (catalog, local map[string]bool, err error) {
	var there struct{ Services map[string]any }
	if err := from.Get("/v1/catalog/node/"+agent.Name+"?consistent", &there); err != nil {
		return nil, nil, err
	}
	var own map[string]any
	if err := agent.Get("/v1/agent/services", &own); err != nil {
		return nil, nil, err
	}
	catalog, local = map[string]bool{}, map[string]bool{}
	for id := range there.Services {
		catalog[id] = true
	}
	for id := range own {
		local[id] = true
	}
	return catalog, local, nil
}
