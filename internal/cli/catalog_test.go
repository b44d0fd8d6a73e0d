package cli

import "testing"

func TestCatalogNodes(t *testing.T) {
	node := map[string]any{"ID": "11111111-2222-3333-4444-555555555555", "Node": "n1", "Address": "10.0.0.1", "Datacenter": "dc1",
		"TaggedAddresses": map[string]string{"wan": "192.0.2.1", "lan": "10.0.0.1"}, "Meta": map[string]string{"k": "v"}}
	instance := map[string]any{"ID": node["ID"], "Node": "n1", "Address": "10.0.0.1", "Datacenter": "dc1", "ServiceID": "web-1"}
	a := newFake(t, map[string]any{
		"GET /v1/catalog/nodes":        []any{node},
		"GET /v1/catalog/service/web":  []any{instance, instance},
		"GET /v1/catalog/service/none": []any{},
	})
	short := "Node  ID        Address   DC\nn1    11111111  10.0.0.1  dc1\n"
	muster("catalog", "nodes", "-stale", "-near=_agent", "-node-meta=k=v", "-datacenter=dc1").want(t, 0, short)
	if got := a.asked[0]; got != "GET /v1/catalog/nodes?dc=dc1&near=_agent&node-meta=k%3Av&stale=" {
		t.Errorf("asked %q", got)
	}
	muster("catalog", "nodes", "-service=web").want(t, 0, short)
	muster("catalog", "nodes", "-detailed").want(t, 0, `Node  ID                                    Address   DC   TaggedAddresses              Meta
n1    11111111-2222-3333-4444-555555555555  10.0.0.1  dc1  lan=10.0.0.1, wan=192.0.2.1  k=v
`)
	muster("catalog", "nodes", "-service=none").wantError(t, "No nodes match")
}

func TestCatalogServices(t *testing.T) {
	newFake(t, map[string]any{
		"GET /v1/catalog/services": map[string][]string{"web": {"b", "a"}, "db": {}},
		"GET /v1/catalog/node/n1": map[string]any{"Node": map[string]any{"Node": "n1"}, "Services": map[string]any{
			"w1": map[string]any{"Service": "web", "Tags": []string{"x"}}, "w2": map[string]any{"Service": "web"}}},
		"GET /v1/catalog/node/n2": nil,
	})
	muster("catalog", "services").want(t, 0, "db\nweb\n")
	muster("catalog", "services", "-tags").want(t, 0, "db   \nweb  a,b\n")
	muster("catalog", "services", "-node=n1", "-tags").want(t, 0, "web  x\n")
	muster("catalog", "services", "-node=n2").wantError(t, "No services match")
}

func TestCatalogDatacenters(t *testing.T) {
	newFake(t, map[string]any{"GET /v1/catalog/datacenters": []string{"dc1", "dc2"}})
	muster("catalog", "datacenters").want(t, 0, "dc1\ndc2\n")
}
