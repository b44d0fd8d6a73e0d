package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/muster-discovery/muster/internal/apply"
	"github.com/muster-discovery/muster/internal/lookup"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/query"
)

// fakeQueries writes nothing and reads through the kit's lookup.
type fakeQueries struct {
	*lookup.Lookup
	wrote []any
	err   error
}

func (f *fakeQueries) CreateQuery(_ context.Context, _ apply.Caller, dc string, q *model.Query) (string, error) {
	f.wrote = append(f.wrote, "create", dc, *q)
	if err := query.Check(q); err != nil {
		return "", err
	}
	return queryID, f.err
}

func (f *fakeQueries) UpdateQuery(_ context.Context, _ apply.Caller, dc string, q *model.Query) error {
	f.wrote = append(f.wrote, "update", dc, *q)
	return f.err
}

func (f *fakeQueries) DeleteQuery(_ context.Context, _ apply.Caller, dc, id string) error {
	f.wrote = append(f.wrote, "delete", dc, id)
	return f.err
}

const queryID = "11111111-2222-3333-4444-555555555555"

func queryKit(t *testing.T, queries ...*model.Query) (*kit, *fakeQueries) {
	f := &fakeQueries{}
	k := newKit(t, func(c *Config) {
		f.Lookup = c.Lookup.(*lookup.Lookup)
		c.Queries = f
	})
	items := make([]any, len(queries))
	for i, q := range queries {
		items[i] = q
	}
	k.set(topicQueries, 7, items...)
	k.set(model.NewTopic(model.TopicService, "web"), 9,
		&model.Instance{Node: &model.Node{Name: "n", Address: "10.0.0.1"}, Service: &model.Service{ID: "web", Name: "web", Port: 80}})
	return k, f
}

func TestQueryRequests(t *testing.T) {
	for _, c := range []struct {
		method, path, body string
		err                error
		status             int
		text               string // its beginning
		header             string // name and value
	}{
		{"POST", "/v1/query", `{"name":"q","service":{"service":"web"}}`, nil, 200, `{"ID":"` + queryID + `"}`, ""},
		{"POST", "/v1/query", `{"Service":{"Service":"web"}}`, nil, 500, "Invalid prepared query: Must be bound to a session", ""},
		{"POST", "/v1/query", `{"Nope":1}`, nil, 400, "Request decode failed: ", ""},
		{"POST", "/v1/query", "", nil, 400, "Request decode failed: ", ""},
		{"POST", "/v1/query", "[]", nil, 400, "Request decode failed: ", ""},
		{"POST", "/v1/query", "null", nil, 500, "Invalid prepared query: ", ""},
		{"POST", "/v1/query", `{"Name":"q","Service":{"Service":"web"}}`, model.Errorf(model.KindConflict, "name 'q' aliases an existing query name"),
			500, "raft apply failed: name 'q' aliases an existing query name", ""},
		{"POST", "/v1/query", `{"Name":"q","Service":{"Service":"web","Namespace":"n"}}`, nil, 400, "Request decode failed: Namespace", ""},
		{"PUT", "/v1/query/" + queryID, `{"Name":"q","Service":{"Service":"web"}}`, nil, 200, "", "Content-Type application/json"},
		{"DELETE", "/v1/query/" + queryID, "", nil, 200, "", "Content-Type application/json"},
		{"PUT", "/v1/query", "{}", nil, 405, "method PUT not allowed", "Allow OPTIONS,GET,POST"},
		{"POST", "/v1/query/x", "{}", nil, 405, "method POST not allowed", "Allow GET,PUT,DELETE"},
		{"POST", "/v1/query/x/execute", "", nil, 405, "method POST not allowed", "Allow GET"},
		{"DELETE", "/v1/query/x/explain", "", nil, 405, "method DELETE not allowed", "Allow GET"},
		{"PUT", "/v1/query/x/execute", "{}", nil, 405, "method PUT not allowed", "Allow GET"},
		{"GET", "/v1/query/nope", "", nil, 500, "failed prepared query lookup: index error: UUID must be 36 characters", "X-Consul-Index 1"},
		{"GET", "/v1/query/21111111-2222-3333-4444-555555555555", "", nil, 404, "Query not found", "X-Consul-Knownleader false"},
		{"GET", "/v1/query/nope/execute", "", nil, 404, "Query not found", "X-Consul-Index 1"},
		{"GET", "/v1/query/nope/explain", "", nil, 404, "Query not found", ""},
		{"GET", "/v1/query/q/execute?limit=abc", "", nil, 500, `Bad limit: strconv.Atoi: parsing "abc": invalid syntax`, ""},
		{"GET", "/v1/query/q/execute?connect=maybe", "", nil, 500, "Error parsing 'connect' value: ", ""},
		{"GET", "/v1/query/q/execute?dc=nowhere", "", nil, 500, "No path to datacenter", ""},
		{"GET", "/v1/query/" + strings.ToUpper(queryID), "", nil, 200, `[{"ID":"` + queryID + `","Name":"q"`, "X-Consul-Index 7"},
		{"GET", "/v1/query", "", nil, 200, `[{"ID":"` + queryID + `","Name":"q"`, "X-Consul-Effective-Consistency leader"},
		{"GET", "/v1/query/q/execute?stale", "", nil, 200, `{"Service":"web","Nodes":[{`, "X-Consul-Effective-Consistency stale"},
		{"GET", "/v1/query/q/execute?cached", "", nil, 200, `{"Service":"web","Nodes":[{`, "X-Cache MISS"},
	} {
		k, f := queryKit(t, &model.Query{ID: queryID, Name: "q", Service: model.QueryService{Service: "web"}})
		f.err = c.err
		w := k.do(c.method, c.path, c.body)
		if w.Code != c.status || !strings.HasPrefix(w.Body.String(), c.text) || c.text == "" && w.Body.Len() > 0 {
			t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, w.Code, w.Body)
		}
		if name, value, _ := strings.Cut(c.header, " "); w.Header().Get(name) != value {
			t.Errorf("%s %s: header %s is %q, want %q", c.method, c.path, name, w.Header().Get(name), value)
		}
		if c.status == 405 && len(f.wrote) > 0 {
			t.Errorf("%s %s wrote %v", c.method, c.path, f.wrote)
		}
	}
}

// TestQueryBody: whatever can be said about a query reaches the write path, and comes
// back the same.
func TestQueryBody(t *testing.T) {
	k, f := queryKit(t)
	const body = `{"Name":"full","Session":"s","Token":"t","Template":{"Type":"name_prefix_match","Regexp":"x","RemoveEmptyTags":true},` +
		`"Service":{"Service":"web","SamenessGroup":"","Failover":{"NearestN":3,"Datacenters":["dc2"],"Targets":null},"OnlyPassing":true,` +
		`"IgnoreCheckIDs":["x"],"Near":"_agent","Tags":["prod","!old"],"NodeMeta":{"rack":"r1"},"ServiceMeta":{"zone":"a"},"Connect":true,"Peer":""},` +
		`"DNS":{"TTL":"10s"}}`
	if w := k.do("PUT", "/v1/query/"+queryID+"?dc=dc1", body); w.Code != 200 {
		t.Fatal(w.Code, w.Body)
	}
	q := f.wrote[2].(model.Query)
	if f.wrote[1] != "dc1" || q.ID != queryID {
		t.Errorf("wrote %+v", f.wrote)
	}
	k.set(topicQueries, 8, &q)
	got := k.do("GET", "/v1/query/"+queryID, "").Body.String()
	want := `[{"ID":"` + queryID + `",` + body[1:len(body)-1] + `,"CreateIndex":0,"ModifyIndex":0}]`
	if got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

func TestExecuteAnswer(t *testing.T) {
	k, _ := queryKit(t, &model.Query{ID: queryID, Name: "q", DNSTTL: "7s", Service: model.QueryService{Service: "web"}})
	w := k.do("GET", "/v1/query/q/execute", "")
	var got struct {
		Service, Datacenter, ConsistencyLevel string
		DNS                                   struct{ TTL string }
		Index                                 uint64
		KnownLeader                           bool
		Nodes                                 []map[string]any
	}
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Service != "web" || got.Datacenter != "dc1" || got.ConsistencyLevel != "leader" || got.DNS.TTL != "7s" || got.Index != 9 || !got.KnownLeader {
		t.Errorf("%+v", got)
	}
	if len(got.Nodes) != 1 || got.Nodes[0]["Checks"] != nil || got.Nodes[0]["Service"].(map[string]any)["Tags"] != nil {
		t.Errorf("%v: what was not registered must be null", got.Nodes)
	}
	if w.Header().Get("X-Consul-Index") != "9" {
		t.Errorf("headers %v", w.Header())
	}
	if w := k.do("OPTIONS", "/v1/query/q", ""); w.Code != http.StatusOK || w.Header().Get("Allow") != "OPTIONS,GET,PUT,DELETE" {
		t.Errorf("OPTIONS: %d %v", w.Code, w.Header())
	}
}
