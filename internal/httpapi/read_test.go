package httpapi

import (
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-discovery/muster/internal/model"
)

// fill gives the kit a small catalog.
func fill(k *kit) {
	a, b := web("a1", 80, model.StatusPassing), web("a2", 81, model.StatusCritical)
	b.Node.Meta = map[string]string{"rack": "r2"}
	b.Service.Tags = []string{"v2"}
	k.set(topicWeb, 9, a, b)
	k.set(model.NewTopic(model.TopicConnect, "web"), 9, a)
	k.set(model.NewTopic(model.TopicNodes, ""), 4, a.Node, b.Node)
	k.set(model.NewTopic(model.TopicServices, ""), 6, &model.ServiceSummary{Name: "web", Tags: []string{"v1", "v2"}})
	k.set(model.NewTopic(model.TopicNode, "a1"), 7, &model.NodeServices{Node: a.Node, Services: []*model.Service{a.Service}})
	k.set(model.NewTopic(model.TopicNodeChecks, "a1"), 7, a.Checks[0])
	k.set(model.NewTopic(model.TopicServiceCheck, "web"), 7, a.Checks[0], b.Checks[0])
	k.set(model.NewTopic(model.TopicChecks, ""), 8, a.Checks[0], b.Checks[0])
	k.set(model.NewTopic(model.TopicChecksState, "critical"), 8, b.Checks[0])
	k.set(model.NewTopic(model.TopicCARoots, ""), 2, &model.CARoot{
		ID: "aa:bb", Name: "Consul CA Primary Cert", ExternalTrustDomain: "11111111-2222-3333-4444-555555555555",
		CertPEM: "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n", KeyPEM: "secret", KeyType: "ec", KeyBits: 256, Active: true,
	})
}

// TestReads: which list each path gives, and what narrows it. Lists are told by
// the nodes, services and checks in them.
func TestReads(t *testing.T) {
	k := newKit(t)
	fill(k)
	for _, tt := range []struct {
		path   string
		status int
		index  string // X-Consul-Index
		has    string // parts of the body, separated by spaces; a leading ! means it is not there
	}{
		{"/v1/health/service/web", 200, "9", `"Node":"a1" "Node":"a2" "Checks":[{`},
		{"/v1/health/service/WEB?passing", 200, "9", `"Node":"a1" !"a2"`},
		{"/v1/health/service/web?passing=1", 200, "9", `"Node":"a1" !"a2"`},
		{"/v1/health/service/web?passing=false", 200, "9", `"Node":"a1" "Node":"a2"`},
		{"/v1/health/service/web?passing=maybe", 400, "", `Invalid value for ?passing`},
		{"/v1/health/service/web?tag=V2", 200, "9", `"Node":"a2" !"a1"`},
		{"/v1/health/service/web?tag=v1&tag=v2", 200, "9", `[] !a1 !a2`},
		{"/v1/health/service/web?node-meta=rack:r2", 200, "9", `"Node":"a2" !"a1"`},
		{"/v1/health/service/web?filter=Node.Meta.rack==r2", 200, "9", `"Node":"a2" !"a1"`},
		{"/v1/health/service/web?filter=Checks.Status==passing&near=_agent", 200, "9", `"Node":"a1" !"a2"`},
		{"/v1/health/service/none", 200, "1", `[]`},
		{"/v1/health/service/", 400, "", `Missing service name`},
		{"/v1/health/connect/web", 200, "9", `"Node":"a1" !"a2"`},
		{"/v1/health/connect/web?tag=v9", 200, "9", `"Node":"a1"`},
		{"/v1/health/ingress/web", 200, "9", `[] !a1`},
		{"/v1/health/node/a1", 200, "7", `"CheckID":"c"`},
		{"/v1/health/node/", 400, "", `Missing node name`},
		{"/v1/health/checks/web", 200, "7", `"Node":"a1" "Node":"a2"`},
		{"/v1/health/checks/web?filter=Status==critical", 200, "7", `"Node":"a2" !"a1"`},
		{"/v1/health/checks/", 400, "", `Missing service name`},
		{"/v1/health/state/any", 200, "8", `"Node":"a1" "Node":"a2"`},
		{"/v1/health/state/any?node-meta=rack:r2", 200, "8", `"Node":"a2" !"a1"`},
		{"/v1/health/state/critical", 200, "8", `"Node":"a2" !"a1"`},
		{"/v1/health/state/CRITICAL", 200, "1", `[]`},
		{"/v1/health/state/", 400, "", `Missing check state`},

		{"/v1/catalog/nodes", 200, "4", `"Node":"a1" "Node":"a2"`},
		{"/v1/catalog/nodes?filter=Meta.rack==r1", 200, "4", `"Node":"a1" !"a2"`},
		{"/v1/catalog/services", 200, "6", `{"web":["v1","v2"]}`},
		{"/v1/catalog/services?node-meta=rack:r2", 200, "6", `{"web":["v2"]}`},
		{"/v1/catalog/services?filter=ServicePort==80", 200, "6", `{"web":["v1"]}`},
		{"/v1/catalog/service/web?tag=v2", 200, "9", `"Node":"a2" "ServicePort":81 !"a1"`},
		{"/v1/catalog/service/", 400, "", `Missing service name`},
		{"/v1/catalog/connect/web", 200, "9", `"ServicePort":80 !"a2"`},
		{"/v1/catalog/connect/", 400, "", `Missing service name`},
		{"/v1/catalog/node/A1", 200, "7", `"Node":{"ID" "Services":{"web-1":{`},
		{"/v1/catalog/node/A1?filter=Port==1", 200, "7", `"Services":{}}`},
		{"/v1/catalog/node/none", 200, "1", `null`},
		{"/v1/catalog/node/", 400, "", `Missing node name`},
		{"/v1/catalog/node-services/a1", 200, "7", `"Services":[{`},
		{"/v1/catalog/node-services/none", 200, "1", `{"Node":null,"Services":null}`},
		{"/v1/catalog/node-services/", 400, "", `Missing node name`},
		{"/v1/catalog/gateway-services/none", 200, "1", `[]`},

		{"/v1/connect/ca/roots", 200, "2", `"ActiveRootID":"aa:bb" "TrustDomain":"11111111-2222-3333-4444-555555555555.consul" "IntermediateCerts":null !secret`},
		{"/v1/agent/connect/ca/roots", 200, "2", `"ActiveRootID":"aa:bb" !secret`},
		{"/v1/connect/ca/roots?pem=bogus", 400, "", `The 'pem' query parameter must be a boolean value`},
	} {
		w := k.do("GET", tt.path, "")
		if w.Code != tt.status {
			t.Errorf("%s: %d %q, want %d", tt.path, w.Code, w.Body, tt.status)
			continue
		}
		if tt.index == "" {
			tt.index = "(absent)"
		}
		if got := header1(w, "X-Consul-Index"); got != tt.index {
			t.Errorf("%s: index %s, want %s", tt.path, got, tt.index)
		}
		body := w.Body.String()
		if tt.status == 400 {
			if body != tt.has {
				t.Errorf("%s: %q, want %q", tt.path, body, tt.has)
			}
			continue
		}
		for _, part := range strings.Fields(tt.has) {
			part, not := strings.CutPrefix(part, "!")
			if strings.Contains(body, part) == not {
				t.Errorf("%s: %s: there %t\n%s", tt.path, part, !not, body)
			}
		}
	}
}

// TestFreshness: the headers that tell how fresh an answer is.
func TestFreshness(t *testing.T) {
	k := newKit(t)
	fill(k)
	for path, want := range map[string]string{
		"/v1/health/service/web":            "leader true 0",
		"/v1/health/service/web?stale":      "stale true 0",
		"/v1/catalog/nodes?consistent":      "consistent true 0",
		"/v1/catalog/services?max_stale=1s": "stale true 0",
		"/v1/connect/ca/roots":              "(absent) true 0",
		"/v1/agent/services":                "(absent) (absent) (absent)",
	} {
		w := k.do("GET", path, "")
		got := header1(w, "X-Consul-Effective-Consistency") + " " + header1(w, "X-Consul-KnownLeader") + " " + header1(w, "X-Consul-LastContact")
		if got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

// TestLookupErrors: filters and datacenters that the servers refuse are 500, and
// lists other than those of health/service tell an index with it.
func TestLookupErrors(t *testing.T) {
	k := newKit(t)
	fill(k)
	const selector = `Failed to create boolean expression evaluator: Selector "Bogus" is not valid`
	for path, want := range map[string]string{
		"/v1/catalog/nodes?filter=Bogus==1":        "500 1 false 0 " + selector,
		"/v1/catalog/services?filter=Bogus==1":     "500 1 false 0 " + selector,
		"/v1/health/state/any?filter=Bogus==1":     "500 1 false 0 " + selector,
		"/v1/health/service/web?filter=Bogus==1":   "500 (absent) (absent) (absent) " + selector,
		"/v1/agent/services?filter=Bogus==1":       "500 (absent) (absent) (absent) " + selector,
		"/v1/agent/members?filter=Bogus==1":        "500 (absent) (absent) (absent) " + selector,
		"/v1/health/node/a1?dc=nowhere":            "500 1 false 0 No path to datacenter",
		"/v1/health/service/web?dc=nowhere":        "500 (absent) (absent) (absent) No path to datacenter",
		"/v1/catalog/nodes?index=x":                "400 (absent) (absent) (absent) Invalid index",
		"/v1/catalog/service/web?stale&consistent": "400 (absent) (absent) (absent) Cannot specify ?stale with ?consistent, conflicting semantics.",
	} {
		w := k.do("GET", path, "")
		got := strings.Join([]string{itoa(w.Code), header1(w, "X-Consul-Index"), header1(w, "X-Consul-KnownLeader"), header1(w, "X-Consul-LastContact"), w.Body.String()}, " ")
		if got != want {
			t.Errorf("%s:\n%s, want\n%s", path, got, want)
		}
	}
	off := newKit(t, func(c *Config) { c.ConnectDisabled = true })
	if w := off.do("GET", "/v1/connect/ca/roots", ""); w.Code != 500 || header1(w, "X-Consul-Index") != "1" ||
		w.Body.String() != "Connect must be enabled in order to use this endpoint" {
		t.Errorf("%d %q %s", w.Code, w.Body, header1(w, "X-Consul-Index"))
	}
}

func TestRootsPEM(t *testing.T) {
	k := newKit(t)
	fill(k)
	w := k.do("GET", "/v1/connect/ca/roots?pem=true", "")
	if w.Code != 200 || header1(w, "Content-Type") != "application/pem-certificate-chain" || header1(w, "X-Consul-Index") != "(absent)" ||
		w.Body.String() != "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n" {
		t.Errorf("%d %v %q", w.Code, w.Header(), w.Body)
	}
}

// TestCached: the first reader of a question misses, later ones hit and get an age.
func TestCached(t *testing.T) {
	k := newKit(t)
	fill(k)
	for _, step := range []struct{ path, cache, age string }{
		{"/v1/catalog/service/web?cached", "MISS", "(absent)"},
		{"/v1/catalog/service/web?cached", "HIT", "0"},
		{"/v1/catalog/service/web?cached&stale", "HIT", "0"},
		{"/v1/catalog/service/web?cached&tag=v1", "MISS", "(absent)"},
		{"/v1/health/service/web?cached&passing", "MISS", "(absent)"},
		{"/v1/health/service/web?cached=1&passing=true", "HIT", "0"},
		{"/v1/health/service/web", "(absent)", "(absent)"},
		{"/v1/catalog/nodes?cached", "(absent)", "(absent)"},
	} {
		w := k.do("GET", step.path, "")
		if w.Code != 200 || header1(w, "X-Cache") != step.cache || header1(w, "Age") != step.age {
			t.Errorf("%s: %d %s %s, want %s %s", step.path, w.Code, header1(w, "X-Cache"), header1(w, "Age"), step.cache, step.age)
		}
	}
	if w := k.do("GET", "/v1/catalog/service/web?cached", "", "Cache-Control", "max-age=bogus"); w.Code != 400 || w.Body.String() != "Invalid Cache-Control header." {
		t.Errorf("%d %q", w.Code, w.Body)
	}
}

func TestRecentIsBounded(t *testing.T) {
	r := newRecent()
	for i := range 3 * maxRecent {
		r.add(itoa(i))
	}
	if n := len(r.young) + len(r.old); n > maxRecent {
		t.Errorf("%d keys", n)
	}
	if !r.add(itoa(3*maxRecent - 1)) {
		t.Error("the newest key is forgotten")
	}
	if r.add("0") {
		t.Error("the oldest key is remembered")
	}
}

// TestBlocking: a reader with the current index waits for a change or the end of
// its wait.
func TestBlocking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		fill(k)
		start := time.Now()
		if w := k.do("GET", "/v1/health/service/web?index=8&wait=10s", ""); header1(w, "X-Consul-Index") != "9" || time.Since(start) != 0 {
			t.Errorf("an old index waited %s", time.Since(start))
		}
		w := k.do("GET", "/v1/health/service/web?index=9&wait=1600ms", "")
		if d := time.Since(start); header1(w, "X-Consul-Index") != "9" || d < 1600*time.Millisecond || d > 1700*time.Millisecond {
			t.Errorf("a wait without change took %s", d)
		}

		answers := make(chan *httptest.ResponseRecorder, 2)
		for _, path := range []string{"/v1/health/service/web?passing&index=9", "/v1/health/service/web?stale=&wait=60000ms&index=9"} {
			go func() { answers <- k.do("GET", path, "") }()
		}
		synctest.Wait()
		k.set(model.NewTopic(model.TopicService, "db"), 10, web("x", 1, model.StatusPassing))
		synctest.Wait()
		if len(answers) != 0 {
			t.Fatal("an unrelated change woke a reader")
		}
		k.set(topicWeb, 11)
		for range 2 {
			if w := <-answers; header1(w, "X-Consul-Index") != "11" || w.Body.String() != "[]" {
				t.Errorf("%s %q", header1(w, "X-Consul-Index"), w.Body)
			}
		}
		if d := time.Since(start); d > 2*time.Second {
			t.Errorf("readers woke after %s", d)
		}
	})
}
