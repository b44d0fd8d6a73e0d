package httpapi

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-discovery/muster/internal/model"
)

// TestAgentWrites: what reaches the agent, and the answers.
func TestAgentWrites(t *testing.T) {
	k := newKit(t)
	k.local.services["w1"] = &model.Service{ID: "w1", Name: "web"}
	for _, tt := range []struct {
		method, path, body string
		status             int
		text               string
		called             string
	}{
		{"PUT", "/v1/agent/join/10.0.0.9?wan=1", "", 200, "", "join 10.0.0.9 true"},
		{"PUT", "/v1/agent/join/10.0.0.9:8301", "", 200, "", "join 10.0.0.9:8301 false"},
		{"PUT", "/v1/agent/leave", "", 200, "", "leave"},
		{"PUT", "/v1/agent/force-leave/n2?prune", "", 200, "", "force-leave n2 true false"},
		{"PUT", "/v1/agent/force-leave/n2", "", 200, "", "force-leave n2 false false"},
		{"PUT", "/v1/agent/reload", "", 200, "", "reload"},
		{"PUT", "/v1/agent/maintenance", "", 400, "Missing value for enable", ""},
		{"PUT", "/v1/agent/maintenance?enable=maybe", "", 400, `Invalid value for enable: "maybe"`, ""},
		{"PUT", "/v1/agent/maintenance?enable=", "", 400, `Invalid value for enable: ""`, ""},
		{"PUT", "/v1/agent/maintenance?enable=true&reason=Rack%20move&token=s", "", 200, "", "node true Rack move s"},
		{"PUT", "/v1/agent/service/maintenance/w1?enable=false", "", 200, "", "service w1 false "},
		{"PUT", "/v1/agent/service/maintenance/?enable=false", "", 400, "Missing service ID", ""},
		{"PUT", "/v1/agent/check/pass/service:w1?note=up%2Bfine", "", 200, "", "service:w1 passing up+fine"},
		{"PUT", "/v1/agent/check/warn/a%2Fb", "", 200, "", "a/b warning "},
		{"PUT", "/v1/agent/check/fail/a/b", "", 200, "", "a/b critical "},
		{"PUT", "/v1/agent/check/update/t", `{"status":"warning","OUTPUT":"careful"}`, 200, "", "t warning careful"},
		{"PUT", "/v1/agent/check/update/t", `{"Status":"purple"}`, 400, "Invalid check status: 'purple'", ""},
		{"PUT", "/v1/agent/check/update/t", `{}`, 400, "Invalid check status: ''", ""},
		{"PUT", "/v1/agent/check/update/t", `{`, 400, "Request decode failed: unexpected EOF", ""},
		{"PUT", "/v1/agent/service/deregister/none", "", 404, `Unknown service ID "none". Ensure that the service ID is passed, not the service name.`, ""},
		{"PUT", "/v1/agent/check/deregister/", "", 404, `Unknown check ID "". Ensure that the check ID is passed, not the check name.`, ""},
	} {
		k.agent.called, k.local.lastTTL = "", ""
		w := k.do(tt.method, tt.path, tt.body)
		if called := k.agent.called + k.local.lastTTL; w.Code != tt.status || w.Body.String() != tt.text || called != tt.called {
			t.Errorf("%s: %d %q called %q, want %d %q %q", tt.path, w.Code, w.Body, called, tt.status, tt.text, tt.called)
		}
		if w.Code == 200 && header1(w, "Content-Type") != "application/json" {
			t.Errorf("%s: Content-Type %s", tt.path, header1(w, "Content-Type"))
		}
	}
	k.agent.err = model.Errorf(model.KindNotFound, "agent: No node found with name 'ghost'")
	if w := k.do("PUT", "/v1/agent/force-leave/ghost", ""); w.Code != 500 || w.Body.String() != "agent: No node found with name 'ghost'" {
		t.Errorf("%d %q", w.Code, w.Body)
	}
}

// TestLeaveIsAnswered before the handler returns: from then on the agent may close
// the connection.
func TestLeaveIsAnswered(t *testing.T) {
	k := newKit(t)
	for status, err := range map[int]error{200: nil, 500: errors.New("no")} {
		k.agent.err = err
		if w := k.do("PUT", "/v1/agent/leave", ""); w.Code != status || !w.Flushed || header1(w, "Content-Length") == "" {
			t.Errorf("%v: %d, flushed %t, %v", err, w.Code, w.Flushed, w.Header())
		}
	}
}

func TestAgentReads(t *testing.T) {
	k := newKit(t)
	for _, tt := range []struct{ path, kind, has string }{
		{"/v1/agent/self", "application/json", `"Config":{"Datacenter":"dc1"`},
		{"/v1/agent/version", "application/json", `"HumanVersion":"1.21.4"`},
		{"/v1/agent/host", "application/json", `{"Memory":null}`},
		{"/v1/agent/metrics", "application/json", `{"Gauges":[]}`},
		{"/v1/agent/metrics?format=prometheus", "text/plain; version=0.0.4; charset=utf-8", "# TYPE x gauge"},
		{"/v1/agent/members", "application/json", `"Name":"n1"`},
		{"/v1/agent/members?wan=1", "application/json", `"Name":"n1.dc1"`},
		{"/v1/agent/members?wan", "application/json", `"Name":"n1"`},
		{"/v1/agent/members?filter=Tags.role==node", "application/json", `[{"Name":"n2"`},
		{"/v1/agent/members?filter=Name==other", "application/json", `[]`},
		{"/v1/agent/members?filter=%20", "application/json", `"Name":"n1"`},
		{"/v1/agent/services", "application/json", `{}`},
		{"/v1/agent/checks?filter=CheckID==x", "application/json", `{}`},
		{"/v1/status/peers", "application/json", `["10.0.0.1:8300"]`},
	} {
		w := k.do("GET", tt.path, "")
		if w.Code != 200 || header1(w, "Content-Type") != tt.kind || !strings.Contains(w.Body.String(), tt.has) {
			t.Errorf("%s: %d %s %q", tt.path, w.Code, header1(w, "Content-Type"), w.Body)
		}
	}
	if w := k.do("GET", "/v1/agent/members?segment=x", ""); w.Code != 500 || w.Body.String() != "Network segments are not supported in this version of Consul" {
		t.Errorf("%d %q", w.Code, w.Body)
	}
}

func TestAgentServices(t *testing.T) {
	k := newKit(t)
	w := k.do("PUT", "/v1/agent/service/register?replace-existing-checks=true",
		`{"id":"web-1","name":"web","port":80,"tags":["x"],"check":{"ttl":"30s"}}`, "X-Consul-Token", "secret")
	if w.Code != 200 || w.Body.Len() != 0 {
		t.Fatalf("%d %q", w.Code, w.Body)
	}
	if d := k.local.last; d.Token != "secret" || d.Checks[0].Token != "secret" || d.Checks[0].TTL != 30*time.Second || !k.local.replaced {
		t.Errorf("%+v", d)
	}
	const one = `{"ID":"web-1","Service":"web","Tags":["x"],"Meta":{},"Port":80,"Address":"","Weights":{"Passing":1,"Warning":1},` +
		`"EnableTagOverride":false,"Datacenter":"dc1"}`
	for path, want := range map[string]string{
		"/v1/agent/services":                        `{"web-1":` + one + `}`,
		"/v1/agent/services?filter=%22x%22+in+Tags": `{"web-1":` + one + `}`,
		"/v1/agent/services?filter=Port==81":        `{}`,
	} {
		if w := k.do("GET", path, ""); w.Body.String() != want {
			t.Errorf("%s: %s", path, w.Body)
		}
	}
	w = k.do("GET", "/v1/agent/service/web-1", "")
	hash := header1(w, "X-Consul-ContentHash")
	if want := strings.Replace(one, `"Datacenter"`, `"ContentHash":"`+hash+`","Datacenter"`, 1); hash == "" || w.Body.String() != want {
		t.Errorf("%s\nwant %s", w.Body, want)
	}
	if w := k.do("GET", "/v1/agent/service/none", ""); w.Code != 404 || w.Body.String() != "unknown service ID: none" {
		t.Errorf("%d %q", w.Code, w.Body)
	}
	k.local.err = errors.New("disk full")
	if w := k.do("PUT", "/v1/agent/service/register", `{"Name":"web"}`); w.Code != 500 || w.Body.String() != "disk full" {
		t.Errorf("%d %q", w.Code, w.Body)
	}
}

// TestHashBlocking: a reader that knows the hash waits for another.
func TestHashBlocking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		k.do("PUT", "/v1/agent/service/register", `{"Name":"web","Port":80}`)
		hash := header1(k.do("GET", "/v1/agent/service/web", ""), "X-Consul-ContentHash")
		start := time.Now()
		if w := k.do("GET", "/v1/agent/service/web?hash=other&wait=10s", ""); w.Code != 200 || time.Since(start) != 0 {
			t.Errorf("another hash waited %s", time.Since(start))
		}
		if w := k.do("GET", "/v1/agent/service/web?wait=10s&hash="+hash, ""); w.Code != 200 || time.Since(start) != 10*time.Second {
			t.Errorf("%d after %s", w.Code, time.Since(start))
		}
		if w := k.do("GET", "/v1/agent/service/web?wait=bogus&hash="+hash, ""); w.Code != 400 || w.Body.String() != "Invalid wait time" {
			t.Errorf("%d %q", w.Code, w.Body)
		}
		go func() {
			time.Sleep(time.Second)
			k.do("PUT", "/v1/agent/service/register", `{"Name":"other","Port":1}`)
			time.Sleep(time.Second)
			k.do("PUT", "/v1/agent/service/register", `{"Name":"web","Port":81}`)
		}()
		start = time.Now()
		w := k.do("GET", "/v1/agent/service/web?hash="+hash, "")
		if d := time.Since(start); d != 2*time.Second || !strings.Contains(w.Body.String(), `"Port":81`) {
			t.Errorf("%s after %s", w.Body, d)
		}
	})
}

func TestAgentHealth(t *testing.T) {
	k := newKit(t)
	for _, id := range []string{"w1", "w2"} {
		k.local.services[id] = &model.Service{ID: id, Name: "web", Port: 1, Weights: model.Weights{Passing: 1, Warning: 1}}
	}
	check := func(id, service, status string) {
		k.local.checks[id] = &model.Check{Node: "n1", ID: id, Name: id, Status: status, ServiceID: service, Type: "ttl"}
	}
	check("c1", "w1", "passing")
	check("c2", "w2", "critical")
	steps := []struct {
		then   func()
		path   string
		status int
		reason string
	}{
		{nil, "id/w1", 200, "passing"},
		{nil, "id/w2", 503, "critical"},
		{nil, "name/web", 503, "critical"},
		{func() { check("c2", "w2", "warning") }, "id/w2", 429, "warning"},
		{nil, "name/web", 429, "warning"},
		{func() { check("node", "", "critical") }, "id/w1", 503, "critical"},
		{func() { check("node", "", "passing") }, "id/w1", 200, "passing"},
		{func() { check("_node_maintenance", "", "critical") }, "id/w1", 503, "maintenance"},
		{nil, "id/none", 404, "ServiceId none not found"},
		{nil, "name/none", 404, "ServiceName none Not Found"},
	}
	for _, s := range steps {
		if s.then != nil {
			s.then()
		}
		path := "/v1/agent/health/service/" + s.path
		for _, w := range []struct {
			path, accept string
		}{{path + "?format=text", ""}, {path, "text/plain"}} {
			got := k.do("GET", w.path, "", "Accept", w.accept)
			if got.Code != s.status || got.Body.String() != s.reason || header1(got, "X-Consul-Reason") != s.reason || header1(got, "Content-Type") != "text/plain" {
				t.Errorf("%s: %d %q %v, want %d %s", w.path, got.Code, got.Body, got.Header(), s.status, s.reason)
			}
		}
		got := k.do("GET", path, "")
		if got.Code != s.status || header1(got, "X-Consul-Reason") != s.reason || header1(got, "Content-Type") != "application/json" {
			t.Errorf("%s: %d %v", path, got.Code, got.Header())
		}
	}
	delete(k.local.checks, "_node_maintenance")
	delete(k.local.checks, "node")
	for path, want := range map[string]string{
		"id/none":   `{"AggregatedStatus":"critical","Service":null,"Checks":null}`,
		"name/none": `[]`,
		"id/w1": `{"AggregatedStatus":"passing","Service":{"ID":"w1","Service":"web","Tags":[],"Meta":{},"Port":1,"Address":"",` +
			`"Weights":{"Passing":1,"Warning":1},"EnableTagOverride":false,"Datacenter":"dc1"},"Checks":[{"Node":"n1","CheckID":"c1","Name":"c1",` +
			`"Status":"passing","Notes":"","Output":"","ServiceID":"w1","ServiceName":"","ServiceTags":null,"Type":"","ExposedPort":0,` +
			`"Definition":{"HTTP":"","Header":null,"Method":"","Body":"","TLSServerName":"","TLSSkipVerify":false,"TCP":"","TCPUseTLS":false,` +
			`"UDP":"","GRPC":"","OSService":"","GRPCUseTLS":false,"Interval":"0s","Timeout":"0s","DeregisterCriticalServiceAfter":"0s"},` +
			`"CreateIndex":0,"ModifyIndex":0}]}`,
	} {
		if w := k.do("GET", "/v1/agent/health/service/"+path, ""); w.Body.String() != want {
			t.Errorf("%s: %s\nwant %s", path, w.Body, want)
		}
	}
	for path, want := range map[string]string{"id/": "Missing serviceID", "name/": "Missing service Name"} {
		if w := k.do("GET", "/v1/agent/health/service/"+path, ""); w.Code != 500 || w.Body.String() != want {
			t.Errorf("%s: %d %q", path, w.Code, w.Body)
		}
	}
	// What a path brings does not end up as a header of its own.
	w := k.do("GET", "/v1/agent/health/service/id/a%0d%0aX:%20y?format=text", "")
	if got := header1(w, "X-Consul-Reason"); got != "ServiceId a  X: y not found" {
		t.Errorf("%q", got)
	}
}
