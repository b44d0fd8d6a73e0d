package wire

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/muster-discovery/muster/internal/model"
)

// TestDecodeRegistration: any case of names, defaults, and what clients send along.
func TestDecodeRegistration(t *testing.T) {
	got, err := DecodeRegistration([]byte(` {"Node":"w0","node":"w1","ADDRESS":"10.1.0.1","ID":"u","NodeMeta":{"K":"v"},"TaggedAddresses":{},"SkipNodeUpdate":true,
		"Datacenter":"dc1","Partition":"","Locality":{"Region":"r"},
		"service":{"service":"web","port":80,"enabletagoverride":true,"Tags":["a"],"Weights":{"Passing":5},"Namespace":"default","ContentHash":"x","CreateIndex":5,
			"TaggedAddresses":{"wan":{"address":"192.0.2.1","Port":1}},"Connect":{"native":true},"Proxy":null,"Meta":null},
		"check":{"name":"one","Definition":{"HTTP":"","Header":null,"Interval":"0s","TLSSkipVerify":false}},
		"Checks":[null,{"Node":"other","CheckID":"two","Name":"Two","Status":"warning","ServiceID":"web",
			"Definition":{"HTTP":"http://x","Header":{"A":["b"]},"interval":"30s","Timeout":1000000000,"IntervalDuration":5}}]}
	`))
	if err != nil {
		t.Fatal(err)
	}
	want := &model.Registration{
		Datacenter: "dc1", SkipNodeUpdate: true,
		Node: model.Node{ID: "u", Name: "w1", Address: "10.1.0.1", Datacenter: "dc1", TaggedAddresses: map[string]string{}, Meta: map[string]string{"K": "v"}},
		Service: &model.Service{
			Node: "w1", ID: "web", Name: "web", Port: 80, Tags: []string{"a"}, EnableTagOverride: true, Weights: model.Weights{Passing: 5},
			TaggedAddresses: map[string]model.ServiceAddress{"wan": {Address: "192.0.2.1", Port: 1}}, Connect: model.Connect{Native: true},
		},
		Checks: []*model.Check{
			{Node: "w1", ID: "one", Name: "one", Status: "critical"},
			{Node: "other", ID: "two", Name: "Two", Status: "warning", Type: "http", ServiceID: "web",
				Definition: []byte(`{"HTTP":"http://x","Header":{"A":["b"]},"Interval":"30s","Timeout":"1s"}`)},
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s\nwant\n%s", encode(got), encode(want))
	}
	// An empty service is one, so that apply can say what it lacks.
	if got, err := DecodeRegistration([]byte(`{"Service":{}}`)); err != nil || got.Service == nil {
		t.Errorf("%+v %v", got, err)
	}
	if got, err := DecodeRegistration([]byte(`null`)); err != nil || !reflect.DeepEqual(got, &model.Registration{}) {
		t.Errorf("%+v %v", got, err)
	}
}

// TestBrokenBodies: the texts name what is wrong and where.
func TestBrokenBodies(t *testing.T) {
	for body, want := range map[string]string{
		``:                              "EOF",
		` `:                             "EOF",
		`{`:                             "unexpected EOF",
		`{"Node"`:                       "unexpected EOF",
		`{"Node":"a"`:                   "unexpected EOF",
		`{"Node":"a",}`:                 "invalid character",
		`nul`:                           "unexpected EOF",
		`[1]`:                           "body: want an object, got a list",
		`"x"`:                           "body: want an object, got a string",
		`5`:                             "body: want an object, got a number",
		`{"Node":5}`:                    "Node: want a string, got a number",
		`{"Node":true}`:                 "Node: want a string, got a boolean",
		`{"node":{}}`:                   "node: want a string, got an object",
		`{"Service":[]}`:                "Service: want an object, got a list",
		`{"Service":{"Tags":"a"}}`:      "Service.Tags: want a list, got a string",
		`{"Service":{"Port":"eighty"}}`: "Service.Port: want a number, got a string",
		`{"Service":{"Port":1.5}}`:      "Service.Port: 1.5 is not a whole number in range",
		`{"Service":{"Port":1e99}}`:     "Service.Port: 1e99 is not a whole number in range",
		`{"Service":{"Port":99999999999999999999}}`: "Service.Port: 99999999999999999999 is not a whole number in range",
		`{"Service":{"EnableTagOverride":"true"}}`:  "Service.EnableTagOverride: want a boolean, got a string",
		`{"NodeMeta":{"a":1}}`:                      "NodeMeta.a: want a string, got a number",
		`{"Checks":[{},{"Name":1}]}`:                "Checks[1].Name: want a string, got a number",
		`{"Check":{"Definition":{"Interval":"x"}}}`: `time: invalid duration "x"`,
		`{"Check":{"Definition":{"Interval":[]}}}`:  "Check.Definition.Interval: want a duration, got a list",
		`{"Unknown":1}`:                             `unknown field "Unknown"`,
		`{"node_meta":{}}`:                          `unknown field "node_meta"`,
		`{"Service":{"Nope":1}}`:                    `unknown field "Service.Nope"`,
		`{"Namespace":"team1"}`:                     `Namespace "team1": namespaces are not supported`,
		`{"Service":{"Partition":"p"}}`:             `Partition "p": partitions are not supported`,
		`{"Node":"a"} {"Node":"b"}`:                 "unexpected data after the JSON value, at byte 12",
		`{"Node":"a"}]`:                             "unexpected data after the JSON value, at byte 12",
		strings.Repeat(`{"Service":`, 100):          "nested deeper than 64 levels",
		strings.Repeat(`[`, 100000):                 "nested deeper than 64 levels",
	} {
		_, err := DecodeRegistration([]byte(body))
		if err == nil || !strings.HasPrefix(err.Error(), "Request decode failed: "+want) || model.KindOf(err) != model.KindInvalid {
			t.Errorf("%.40s: %v, want %q", body, err, want)
		}
	}
	if _, err := DecodeDeregistration([]byte(`{"Node":"a","Address":"b","CheckID":"c"}`)); err != nil {
		t.Error(err)
	}
	if _, err := DecodeDeregistration([]byte(`{"Node":"a","Check":"c"}`)); err == nil {
		t.Error("an unknown field was taken")
	}
}

// TestSpellings: which names and values each kind of body may use.
func TestSpellings(t *testing.T) {
	const (
		agent = 1 << iota
		file
	)
	for body, where := range map[string]int{
		`{"Name":"a","enable_tag_override":true}`:                                         agent | file,
		`{"Name":"a","tagged_addresses":{"wan":{"address":"192.0.2.1","port":1}}}`:        agent | file,
		`{"Name":"a","socket_path":"/x"}`:                                                 agent | file,
		`{"Name":"a","check":{"ttl":"30s","deregister_critical_service_after":"90m"}}`:    agent | file,
		`{"Name":"a","check":{"checkid":"c","ttl":"30s","tls_skip_verify":true}}`:         agent | file,
		`{"Name":"a","check":{"check_id":"c","ttl":"30s"}}`:                               file,
		`{"Name":"a","Check":{"Args":["x"],"Interval":"1s"}}`:                             agent | file,
		`{"Name":"a","Check":{"ScriptArgs":["x"],"Interval":"1s"}}`:                       agent | file,
		`{"Name":"a","connect":{"sidecar_service":{"proxy":{"local_service_port":1}}}}`:   agent | file,
		`{"Name":"a","ta_gs":[]}`:                                                         agent | file,
		`{"Name":"a","Port":"80","enable_tag_override":"true","Tags":"x","Meta":{"a":1}}`: file,
		`{"Name":"a","check":[{"ttl":"30s"}],"meta":[{"a":"b"}],"checks":{"ttl":"1s"}}`:   file,
		`{"Name":"a","Nope":1}`:                                                           0,
		`{"Name":"a","Check":{"TTL":10}}`:                                                 agent | file,
		`{"Name":"a","Check":{"TTL":1.5}}`:                                                0,
		`{"Name":"a","Namespace":"default","Partition":""}`:                               agent | file,
	} {
		_, err := DecodeServiceRequest([]byte(body))
		if (err == nil) != (where&agent != 0) {
			t.Errorf("agent: %s: %v", body, err)
		}
		_, err = DecodeServiceDefinition([]byte(body))
		if (err == nil) != (where&file != 0) {
			t.Errorf("file: %s: %v", body, err)
		}
	}
	_, err := DecodeServiceDefinition([]byte(`{"Name":"a","Check":{"Bogus":1}}`))
	if want := `Request decode failed: unknown field "Check.Bogus"`; text(err) != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestDecodeDurations(t *testing.T) {
	got, err := DecodeCheckRequest([]byte(`{"Name":"b","TCP":"x:1","Interval":"3600000ms","Timeout":2000000000,"DeregisterCriticalServiceAfter":""}`))
	if err != nil || got.Interval != time.Hour || got.Timeout != 2*time.Second || got.DeregisterCriticalServiceAfter != 0 || got.ID != "b" {
		t.Errorf("%+v %v", got, err)
	}
}

// FuzzBodies: no body breaks the decoders, and what they take they can encode.
func FuzzBodies(f *testing.F) {
	for _, s := range []string{
		`{"Node":"w1","Service":{"Service":"web","Proxy":{"Config":{"a":[1,{"b":null}]}}},"Checks":[{"Name":"x","Definition":{"Interval":"1s"}}]}`,
		`{"Name":"web","Check":{"TTL":"1s"},"Connect":{"SidecarService":{}}}`, `{"name":"c","http":"x","interval":5,"Header":{"a":["b"]}}`,
		`null`, `[]`, `{"Status":"passing"}`, "{\"Node\":\"\\ud800\xff\"}", `{"Service":{"Tags":[null]}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if r, err := DecodeRegistration(data); err == nil {
			if r.Service != nil {
				body(HealthServiceJSON, &model.Instance{Node: &r.Node, Service: r.Service, Checks: r.Checks})
				serviceFilterOf(r.Service)
			}
		} else if model.KindOf(err) != model.KindInvalid {
			t.Errorf("kind %d: %v", model.KindOf(err), err)
		}
		_, _ = DecodeDeregistration(data)
		_, _ = DecodeCheckUpdate(data)
		_, _ = DecodeCheckDefinition(data)
		if c, err := DecodeCheckRequest(data); err == nil && (c.ID == "" || c.Type() == "") {
			t.Errorf("a check without id or type: %+v", c)
		}
		_, _ = DecodeServiceDefinition(data)
		if d, err := DecodeServiceRequest(data); err == nil {
			encode(AgentServiceOf(&d.Service, "dc1"))
		}
	})
}
