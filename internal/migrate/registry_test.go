package migrate

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// registry is a fake of what Consul answers, with as much behind it as a migration
// asks for.
type registry struct {
	mu       sync.Mutex
	index    uint64
	nodes    map[string]Object
	services map[string]map[string]Object
	checks   map[string]map[string]Object
	queries  []Object
	keys     map[string]*entry
	lists    map[string][]Object // other lists, by path
	denied   map[string]int      // status by path
	fail     int                 // so many of the next requests fail as in an election
	asked    int
	hook     func(path string)
}

func newRegistry(t testing.TB) (*registry, *Endpoint) {
	g := &registry{index: 1, nodes: map[string]Object{}, services: map[string]map[string]Object{}, checks: map[string]map[string]Object{},
		keys: map[string]*entry{}, lists: map[string][]Object{}, denied: map[string]int{}}
	s := httptest.NewServer(g)
	t.Cleanup(s.Close)
	return g, &Endpoint{Client: s.Client(), Base: s.URL, Patience: 2 * time.Second}
}

func (g *registry) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	g.mu.Lock()
	hook := g.hook
	g.mu.Unlock()
	if hook != nil {
		hook(r.URL.Path)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asked++
	if g.fail > 0 {
		g.fail--
		http.Error(w, "No cluster leader", 500)
		return
	}
	if status := g.denied[r.URL.Path]; status != 0 {
		http.Error(w, "Permission denied", status)
		return
	}
	answer, status := g.answer(r, body)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer)
}

func (g *registry) answer(r *http.Request, body []byte) (any, int) {
	path := r.URL.Path
	var in Object
	if len(body) > 0 && body[0] == '{' {
		dec := json.NewDecoder(strings.NewReader(string(body)))
		dec.UseNumber()
		_ = dec.Decode(&in)
	}
	node, onNode := strings.CutPrefix(path, "/v1/catalog/node/")
	health, isHealth := strings.CutPrefix(path, "/v1/health/node/")
	id, isQuery := strings.CutPrefix(path, "/v1/query/")
	switch {
	case path == "/v1/catalog/nodes":
		return sorted(g.nodes), 200
	case onNode:
		if g.nodes[node] == nil {
			return nil, 200
		}
		return Object{"Node": g.nodes[node], "Services": g.services[node]}, 200
	case isHealth:
		return sorted(g.checks[health]), 200
	case path == "/v1/catalog/register":
		return g.register(in)
	case path == "/v1/query" && r.Method == "GET":
		return g.queries, 200
	case path == "/v1/query":
		in["ID"] = fmt.Sprint("made-", len(g.queries))
		g.queries = append(g.queries, in)
		return Object{"ID": in["ID"]}, 200
	case isQuery:
		k := slices.IndexFunc(g.queries, func(q Object) bool { return text(q, "ID") == id })
		in["ID"] = id
		g.queries[k] = in
		return nil, 200
	case path == "/v1/txn":
		return g.txn(body)
	case path == "/v1/kv/" && r.URL.Query().Has("keys"):
		return slices.Sorted(maps.Keys(g.keys)), 200
	case strings.HasPrefix(path, "/v1/kv/"):
		return g.put(strings.TrimPrefix(path, "/v1/kv/"), r, body), 200
	}
	if list, ok := g.lists[path]; ok {
		return list, 200
	}
	return "no such thing", 404
}

func sorted(m map[string]Object) []Object {
	list := []Object{}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		list = append(list, m[k])
	}
	return list
}

func (g *registry) register(in Object) (any, int) {
	name := text(in, "Node")
	if name == "refused" {
		return "invalid node name", 400
	}
	g.index++
	if in["SkipNodeUpdate"] == nil {
		g.nodes[name] = Object{"Node": name, "ID": in["ID"], "Address": in["Address"], "TaggedAddresses": in["TaggedAddresses"],
			"Meta": in["NodeMeta"], "Datacenter": "dc1", "CreateIndex": g.index, "ModifyIndex": g.index}
	}
	if g.services[name] == nil {
		g.services[name], g.checks[name] = map[string]Object{}, map[string]Object{}
	}
	if s, ok := in["Service"].(Object); ok {
		s["CreateIndex"], s["ModifyIndex"] = g.index, g.index
		g.services[name][text(s, "ID")] = s
	}
	checks, _ := in["Checks"].([]any)
	for _, c := range checks {
		c := c.(Object)
		c["ServiceTags"] = []string{"derived"}
		g.checks[name][text(c, "CheckID")] = c
	}
	return true, 200
}

func (g *registry) txn(body []byte) (any, int) {
	var ops []struct{ KV kvOp }
	if err := json.Unmarshal(body, &ops); err != nil || len(ops) > 64 || len(body) > 512<<10 {
		return "too much", 413
	}
	var results []any
	var faults []any
	for i, o := range ops {
		old := g.keys[o.KV.Key]
		switch {
		case o.KV.Verb == "get" && old == nil:
			faults = append(faults, Object{"OpIndex": i, "What": "key doesn't exist"})
		case o.KV.Verb == "get":
			results = append(results, Object{"KV": old})
		case (old == nil) != (o.KV.Index == 0) || old != nil && old.ModifyIndex != o.KV.Index:
			faults = append(faults, Object{"OpIndex": i, "What": "index is stale"})
		}
	}
	if len(faults) > 0 {
		return Object{"Results": nil, "Errors": faults}, 409
	}
	for _, o := range ops {
		if o.KV.Verb == "cas" {
			g.set(o.KV.Key, o.KV.Value, o.KV.Flags)
		}
	}
	return Object{"Results": results, "Errors": nil}, 200
}

func (g *registry) set(key string, value []byte, flags uint64) {
	g.index++
	g.keys[key] = &entry{Key: key, Value: value, Flags: flags, ModifyIndex: g.index}
}

func (g *registry) put(key string, r *http.Request, body []byte) bool {
	cas, _ := strconv.ParseUint(r.URL.Query().Get("cas"), 10, 64)
	flags, _ := strconv.ParseUint(r.URL.Query().Get("flags"), 10, 64)
	if old := g.keys[key]; (old == nil) != (cas == 0) || old != nil && old.ModifyIndex != cas {
		return false
	}
	g.set(key, body, flags)
	return true
}

// consul is a registry with one of everything, in the shapes that Consul answers with.
func consul(t testing.TB) (*registry, *Endpoint) {
	g, e := newRegistry(t)
	object := func(s string) (o Object) {
		dec := json.NewDecoder(strings.NewReader(s))
		dec.UseNumber()
		if err := dec.Decode(&o); err != nil {
			t.Fatal(err)
		}
		return o
	}
	g.nodes["ext-1"] = object(`{"ID":"40e4a748-2192-161a-0510-9bf59fe950b5","Node":"ext-1","Address":"10.1.0.1","Datacenter":"dc1",
		"TaggedAddresses":{"lan":"10.1.0.1"},"Meta":{"external-node":"true"},"CreateIndex":20,"ModifyIndex":20}`)
	g.services["ext-1"] = map[string]Object{"db-1": object(`{"ID":"db-1","Service":"db","Tags":["primary"],"Meta":{"v":"1"},"Port":5432,"Address":"",
		"Weights":{"Passing":1,"Warning":1},"EnableTagOverride":false,"Proxy":{"Mode":"","MeshGateway":{},"Expose":{}},"Connect":{},"CreateIndex":20,"ModifyIndex":21}`)}
	g.checks["ext-1"] = map[string]Object{
		"db-check": object(`{"Node":"ext-1","CheckID":"db-check","Name":"db","Status":"passing","Notes":"","Output":"ok","ServiceID":"db-1","ServiceName":"db",
			"ServiceTags":["primary"],"Type":"","ExposedPort":0,"Definition":{"TCP":"10.1.0.1:5432","Interval":"10s"},"CreateIndex":21,"ModifyIndex":22}`),
		"up": object(`{"Node":"ext-1","CheckID":"up","Name":"up","Status":"warning","Output":"slow","ServiceID":"","ServiceName":"","ServiceTags":[],"Definition":{}}`)}
	g.nodes["agent-1"] = object(`{"ID":"1","Node":"agent-1","Address":"10.1.0.9","Datacenter":"dc1"}`)
	g.services["agent-1"] = map[string]Object{"web": object(`{"ID":"web","Service":"web"}`)}
	g.checks["agent-1"] = map[string]Object{"serfHealth": object(`{"Node":"agent-1","CheckID":"serfHealth","Status":"passing"}`)}
	g.queries = []Object{
		object(`{"ID":"q1","Name":"db","Session":"","Token":"","Template":{"Type":"","Regexp":"","RemoveEmptyTags":false},
			"Service":{"Service":"db","Failover":{"NearestN":2,"Datacenters":["dc2"],"Targets":null},"OnlyPassing":true,"Tags":["primary"],"Near":"_agent"},
			"DNS":{"TTL":"10s"},"CreateIndex":5,"ModifyIndex":5}`),
		object(`{"ID":"q2","Name":"","Session":"","Token":"","Template":{"Type":"name_prefix_match","Regexp":"^geo-(.+)$"},"Service":{"Service":"${match(1)}"}}`),
		object(`{"ID":"q3","Name":"bound","Session":"s1","Token":"","Service":{"Service":"x"}}`),
		object(`{"ID":"q4","Name":"secret","Session":"","Token":"<hidden>","Service":{"Service":"x"}}`),
	}
	for i := range 300 {
		g.set(fmt.Sprintf("app/%03d", i), fmt.Appendf(nil, "value %d", i), uint64(i))
	}
	g.set("/leading", []byte{0, 255, 10}, 0)
	g.set("odd/ %?#&\"'\\\t\n//../x", []byte("odd"), 1<<63)
	g.set("empty", nil, 42)
	g.set("large", []byte(strings.Repeat("x", 400<<10)), 7)
	g.set("schlüssel/€", []byte("ü"), 0)
	g.keys["app/007"].Session = "s1"
	g.lists["/v1/session/list"] = []Object{{"ID": "s1"}, {"ID": "s2"}}
	g.lists["/v1/config/service-defaults"] = []Object{{"Name": "web"}}
	g.denied["/v1/acl/tokens"] = 403
	g.denied["/v1/acl/policies"] = 401
	return g, e
}
