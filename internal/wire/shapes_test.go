package wire

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/view"
)

func items(values ...any) []*view.Item {
	list := make([]*view.Item, len(values))
	for k, v := range values {
		list[k] = view.NewItem(v)
	}
	return list
}

func body(e *view.Encoder, values ...any) string {
	return string(e.Assemble(items(values...)).(*Frame).Body)
}

func plainInstance() *model.Instance {
	n := &model.Node{Name: "w1", Address: "10.1.0.1", Datacenter: "dc1", Indexes: model.Indexes{Create: 3, Modify: 4}}
	return &model.Instance{
		Node:    n,
		Service: &model.Service{Node: "w1", ID: "web", Name: "web", Weights: model.Weights{Passing: 1, Warning: 1}, Indexes: model.Indexes{Create: 5, Modify: 6}},
	}
}

func fullInstance() *model.Instance {
	i := plainInstance()
	i.Node.ID = "40e4a748-2192-161a-0510-9bf59fe950b5"
	i.Node.TaggedAddresses = map[string]string{"wan": "192.0.2.1"}
	i.Node.Meta = map[string]string{}
	s := i.Service
	s.Kind, s.Port, s.Address, s.SocketPath = "connect-proxy", 80, "10.2.0.1", "/run/x"
	s.Tags, s.Meta = []string{"a<b>&", "b"}, map[string]string{"k": "v\n☃"}
	s.TaggedAddresses = map[string]model.ServiceAddress{"lan": {Address: "10.2.0.1", Port: 80}}
	s.EnableTagOverride, s.Connect.Native = true, true
	s.Locality = &model.Locality{Region: "r", Zone: "z"}
	s.Proxy = &model.Proxy{DestinationServiceName: "db", Raw: []byte(`{"DestinationServiceName":"db","Mode":"","MeshGateway":{},"Expose":{}}`)}
	i.Checks = []*model.Check{
		{Node: "w1", ID: "n", Name: "node", Status: "passing", Indexes: model.Indexes{Create: 7, Modify: 7}},
		{Node: "w1", ID: "c", Name: "alive", Status: "warning", Notes: "n", Output: "o", ServiceID: "web", ServiceName: "web", ServiceTags: []string{"x"},
			Type: "http", Interval: "10s", Timeout: "1s", ExposedPort: 9, Definition: []byte(`{"HTTP":"http://x"}`), Indexes: model.Indexes{Create: 8, Modify: 9}},
	}
	return i
}

const (
	plainNode  = `{"ID":"","Node":"w1","Address":"10.1.0.1","Datacenter":"dc1","TaggedAddresses":null,"Meta":null,"CreateIndex":3,"ModifyIndex":4}`
	noProxy    = `{"Mode":"","MeshGateway":{},"Expose":{}}`
	plainEntry = `{"ID":"web","Service":"web","Tags":[],"Address":"","Meta":null,"Weights":{"Passing":1,"Warning":1},"EnableTagOverride":false,` +
		`"Proxy":` + noProxy + `,"Connect":{},"PeerName":"","CreateIndex":5,"ModifyIndex":6}`
	fullEntry = `{"Kind":"connect-proxy","ID":"web","Service":"web","Tags":["a\u003cb\u003e\u0026","b"],"Address":"10.2.0.1",` +
		`"TaggedAddresses":{"lan":{"Address":"10.2.0.1","Port":80}},"Meta":{"k":"v\n☃"},"Port":80,"SocketPath":"/run/x","Weights":{"Passing":1,"Warning":1},` +
		`"EnableTagOverride":true,"Proxy":{"DestinationServiceName":"db","Mode":"","MeshGateway":{},"Expose":{}},"Connect":{"Native":true},` +
		`"Locality":{"Region":"r","Zone":"z"},"PeerName":"","CreateIndex":5,"ModifyIndex":6}`
	nodeCheck = `{"Node":"w1","CheckID":"n","Name":"node","Status":"passing","Notes":"","Output":"","ServiceID":"","ServiceName":"","ServiceTags":[],` +
		`"Type":"","Interval":"","Timeout":"","ExposedPort":0,"Definition":{},"CreateIndex":7,"ModifyIndex":7}`
	serviceCheck = `{"Node":"w1","CheckID":"c","Name":"alive","Status":"warning","Notes":"n","Output":"o","ServiceID":"web","ServiceName":"web","ServiceTags":["x"],` +
		`"Type":"http","Interval":"10s","Timeout":"1s","ExposedPort":9,"Definition":{"HTTP":"http://x"},"CreateIndex":8,"ModifyIndex":9}`
)

// TestShapes: which fields are there, and what is null, [] or {}.
func TestShapes(t *testing.T) {
	plain, full := plainInstance(), fullInstance()
	fullNode := string(encode(nodeOf(full.Node)))
	for _, tt := range []struct {
		encoder *view.Encoder
		values  []any
		want    string
	}{
		{NodesJSON, nil, `[]`},
		{NodesJSON, []any{plain.Node, full.Node}, `[` + plainNode + `,{"ID":"40e4a748-2192-161a-0510-9bf59fe950b5","Node":"w1","Address":"10.1.0.1",` +
			`"Datacenter":"dc1","TaggedAddresses":{"wan":"192.0.2.1"},"Meta":{},"CreateIndex":3,"ModifyIndex":4}]`},
		{ServicesJSON, nil, `{}`},
		{ServicesJSON, []any{&model.ServiceSummary{Name: "a\"b"}, &model.ServiceSummary{Name: "web", Tags: []string{"v1", "<"}}}, `{"a\"b":[],"web":["v1","\u003c"]}`},
		{HealthServiceJSON, nil, `[]`},
		{HealthServiceJSON, []any{plain}, `[{"Node":` + plainNode + `,"Service":` + plainEntry + `,"Checks":[]}]`},
		{HealthServiceJSON, []any{full}, `[{"Node":` + fullNode + `,"Service":` + fullEntry + `,"Checks":[` + nodeCheck + `,` + serviceCheck + `]}]`},
		{CatalogServiceJSON, []any{plain}, `[{"ID":"","Node":"w1","Address":"10.1.0.1","Datacenter":"dc1","TaggedAddresses":null,"NodeMeta":null,` +
			`"ServiceKind":"","ServiceID":"web","ServiceName":"web","ServiceTags":[],"ServiceAddress":"","ServiceWeights":{"Passing":1,"Warning":1},` +
			`"ServiceMeta":{},"ServicePort":0,"ServiceSocketPath":"","ServiceEnableTagOverride":false,"ServiceProxy":` + noProxy + `,` +
			`"ServiceConnect":{},"ServiceLocality":null,"CreateIndex":5,"ModifyIndex":6}]`},
		{CatalogServiceJSON, []any{full}, `[{"ID":"40e4a748-2192-161a-0510-9bf59fe950b5","Node":"w1","Address":"10.1.0.1","Datacenter":"dc1",` +
			`"TaggedAddresses":{"wan":"192.0.2.1"},"NodeMeta":{},"ServiceKind":"connect-proxy","ServiceID":"web","ServiceName":"web",` +
			`"ServiceTags":["a\u003cb\u003e\u0026","b"],"ServiceAddress":"10.2.0.1","ServiceTaggedAddresses":{"lan":{"Address":"10.2.0.1","Port":80}},` +
			`"ServiceWeights":{"Passing":1,"Warning":1},"ServiceMeta":{"k":"v\n☃"},"ServicePort":80,"ServiceSocketPath":"/run/x",` +
			`"ServiceEnableTagOverride":true,"ServiceProxy":{"DestinationServiceName":"db","Mode":"","MeshGateway":{},"Expose":{}},` +
			`"ServiceConnect":{"Native":true},"ServiceLocality":{"Region":"r","Zone":"z"},"CreateIndex":5,"ModifyIndex":6}]`},
		{ChecksJSON, []any{full.Checks[0], full.Checks[1]}, `[` + nodeCheck + `,` + serviceCheck + `]`},
		{NodeJSON, nil, `null`},
		{NodeJSON, []any{&model.NodeServices{Node: plain.Node}}, `{"Node":` + plainNode + `,"Services":{}}`},
		{NodeJSON, []any{&model.NodeServices{Node: plain.Node, Services: []*model.Service{plain.Service}}}, `{"Node":` + plainNode + `,"Services":{"web":` + plainEntry + `}}`},
		{NodeServicesJSON, nil, `{"Node":null,"Services":null}`},
		{NodeServicesJSON, []any{&model.NodeServices{Node: plain.Node}}, `{"Node":` + plainNode + `,"Services":[]}`},
		{NodeServicesJSON, []any{&model.NodeServices{Node: plain.Node, Services: []*model.Service{plain.Service}}}, `{"Node":` + plainNode + `,"Services":[` + plainEntry + `]}`},
		{CARootsJSON, nil, `{"ActiveRootID":"","TrustDomain":"","Roots":[]}`},
		{CARootsJSON, []any{&model.CARoot{
			ID: "aa:bb", Name: "Consul CA Primary Cert", SerialNumber: 8, SigningKeyID: "cc", ExternalTrustDomain: "u-u-i-d", CertPEM: "pem\n", KeyPEM: "secret",
			NotBefore: time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("x", 3600)), NotAfter: time.Date(2036, 1, 2, 3, 4, 5, 0, time.UTC),
			KeyType: "ec", KeyBits: 256, Active: true, Indexes: model.Indexes{Create: 2, Modify: 2},
		}}, `{"ActiveRootID":"aa:bb","TrustDomain":"u-u-i-d.consul","Roots":[{"ID":"aa:bb","Name":"Consul CA Primary Cert","SerialNumber":8,"SigningKeyID":"cc",` +
			`"ExternalTrustDomain":"u-u-i-d","NotBefore":"2026-01-02T02:04:05Z","NotAfter":"2036-01-02T03:04:05Z","RootCert":"pem\n","IntermediateCerts":null,` +
			`"Active":true,"PrivateKeyType":"ec","PrivateKeyBits":256,"CreateIndex":2,"ModifyIndex":2}]}`},
	} {
		if got := body(tt.encoder, tt.values...); got != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.encoder.Name, got, tt.want)
		}
	}
}

// TestProxyShapes: catalog answers always have Mode and an upstream's type and
// datacenter, agents leave out what is empty.
func TestProxyShapes(t *testing.T) {
	const given = `{"Name":"p","Kind":"connect-proxy","Port":1,"proxy":{"destination_service_name":"web","Config":{"n":1.5,"big":12345678901234567890},` +
		`"Upstreams":[{"DestinationName":"db","LocalBindPort":9000}],"Expose":{"Paths":[{"Path":"/h","LocalPathPort":80}]},"TransparentProxy":{}}}`
	def, err := DecodeServiceRequest([]byte(given))
	if err != nil {
		t.Fatal(err)
	}
	const config = `"Config":{"big":12345678901234567890,"n":1.5}`
	const rest = `"MeshGateway":{},"Expose":{"Paths":[{"Path":"/h","LocalPathPort":80,"ParsedFromCheck":false}]},"TransparentProxy":{}`
	want := `{"DestinationServiceName":"web","Mode":"",` + config +
		`,"Upstreams":[{"DestinationType":"service","DestinationName":"db","Datacenter":"","LocalBindPort":9000,"MeshGateway":{}}],` + rest + `}`
	if got := string(serviceOf(&def.Service).Proxy); got != want {
		t.Errorf("catalog:\n%s\nwant\n%s", got, want)
	}
	if got := string(encode(AgentServiceOf(&def.Service, "dc1").Proxy)); !strings.Contains(got, config) {
		t.Errorf("agent: %s", got)
	}
	var agent struct{ Proxy map[string]any }
	if err := json.Unmarshal(encode(AgentServiceOf(&def.Service, "dc1")), &agent); err != nil {
		t.Fatal(err)
	}
	if _, ok := agent.Proxy["Mode"]; ok {
		t.Error("the agent tells an empty Mode")
	}
	up := agent.Proxy["Upstreams"].([]any)[0].(map[string]any)
	if _, ok := up["Datacenter"]; ok || up["DestinationType"] != "service" || up["DestinationName"] != "db" {
		t.Errorf("agent's upstream: %v", up)
	}
	def.Service.Kind = model.KindTypical
	if AgentServiceOf(&def.Service, "dc1").Proxy != nil {
		t.Error("the agent tells the proxy of a service that is none")
	}
}

func TestContentHash(t *testing.T) {
	s := &model.Service{ID: "a", Name: "a", Port: 1}
	a, b := AgentServiceOf(s, "dc1"), AgentServiceOf(s, "dc1")
	if h := a.Hash(); h != b.Hash() || h != a.Hash() || h == "" {
		t.Error("equal services have different hashes")
	}
	// What Consul's own client tests expect of this service.
	foo := AgentServiceOf(&model.Service{ID: "foo", Name: "foo", Tags: []string{"bar", "baz"}, Port: 8000, Weights: model.Weights{Passing: 1, Warning: 1}}, "dc1")
	if got := foo.Hash(); got != "3e352f348d44f7eb" {
		t.Errorf("foo has the hash %s", got)
	}
	s.Meta = map[string]string{"k": "v"}
	if AgentServiceOf(s, "dc1").Hash() == a.ContentHash {
		t.Error("different services have equal hashes")
	}
}

// TestFragmentsAreShared: an item is encoded once, however many frames it is in.
func TestFragmentsAreShared(t *testing.T) {
	list := items(fullInstance(), plainInstance())
	first := list[0].Fragment(HealthServiceJSON).([]byte)
	HealthServiceJSON.Assemble(list)
	HealthServiceJSON.Assemble(list[:1])
	if again := list[0].Fragment(HealthServiceJSON).([]byte); &first[0] != &again[0] {
		t.Error("the item was encoded again")
	}
}

func TestFrame(t *testing.T) {
	big := NewFrame([]byte(strings.Repeat("abcdefgh", 1000)))
	var all sync.WaitGroup
	var zipped [4][]byte
	for k := range zipped {
		all.Go(func() { zipped[k] = big.Gzip() })
	}
	all.Wait()
	for _, z := range zipped {
		if &z[0] != &zipped[0][0] {
			t.Fatal("compressed more than once")
		}
	}
	r, err := gzip.NewReader(bytes.NewReader(zipped[0]))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, big.Body) {
		t.Errorf("%d bytes came back, %v", len(got), err)
	}
	if big.Length()[0] != "8000" || big.GzipLength()[0] == "" {
		t.Errorf("lengths %q %q", big.Length(), big.GzipLength())
	}
	if NewFrame([]byte(`[]`)).Gzip() != nil || Compress([]byte(`[]`)) != nil {
		t.Error("two bytes were compressed")
	}
	if a, b, c := big.IndexHeader(5), big.IndexHeader(5), big.IndexHeader(6); &a[0] != &b[0] || a[0] != "5" || c[0] != "6" {
		t.Errorf("index headers %q %q %q", a, b, c)
	}
}

func BenchmarkFragment(b *testing.B) {
	i := fullInstance()
	b.ReportAllocs()
	for b.Loop() {
		HealthServiceJSON.Fragment(i)
	}
}
