package wire

import (
	"fmt"
	"strings"
	"testing"

	"github.com/muster-discovery/muster/internal/model"
)

// TestServiceErrors: the texts that clients know.
func TestServiceErrors(t *testing.T) {
	pairs := make([]string, 65)
	for k := range pairs {
		pairs[k] = fmt.Sprintf(`"k%d":"v"`, k)
	}
	long := strings.Repeat("k", 129)
	for body, want := range map[string]string{
		`{}`:                                 "Missing service name",
		`null`:                               "Missing service name",
		`{"ID":"x"}`:                         "Missing service name",
		`{"Name":"w","Address":"0.0.0.0"}`:   "Invalid service address",
		`{"Name":"w","Address":"::"}`:        "Invalid service address",
		`{"Name":"w","Address":"not an ip"}`: "",
		`{"Name":"w","TaggedAddresses":{"lan":{"Address":"0.0.0.0","Port":1}}}`: "",
		`{"Name":"w","Port":70000}`:                                                                    "Invalid service port 70000: must be between 0 and 65535",
		`{"Name":"w","Port":-1}`:                                                                       "Invalid service port -1: must be between 0 and 65535",
		`{"Name":"w","Weights":{"Passing":-1,"Warning":1}}`:                                            "Invalid Weights: Passing must be greater than 0",
		`{"Name":"w","Weights":{"Passing":1,"Warning":-1}}`:                                            "Invalid Weights: Warning must be greater or equal than 0",
		`{"Name":"w","Weights":{"Passing":65536,"Warning":1}}`:                                         "Invalid Weights: DNS Weight must be between 0 and 65535",
		`{"Name":"w","Weights":{"Passing":65535,"Warning":0}}`:                                         "",
		`{"Name":"w","Meta":{"` + long + `":"v"}}`:                                                     "Invalid Service Meta: Couldn't load metadata pair ('" + long + "', 'v'): Key is too long (limit: 128 characters)",
		`{"Name":"w","Meta":{"` + long[:128] + `":"v"}}`:                                               "",
		`{"Name":"w","Meta":{"k":"` + strings.Repeat("v", 513) + `"}}`:                                 "Invalid Service Meta: Couldn't load metadata pair ('k', '" + strings.Repeat("v", 513) + "'): Value is too long (limit: 512 characters)",
		`{"Name":"w","Meta":{"bad key!":"v"}}`:                                                         "Invalid Service Meta: Couldn't load metadata pair ('bad key!', 'v'): Key contains invalid characters",
		`{"Name":"w","Meta":{"":"v"}}`:                                                                 "Invalid Service Meta: Couldn't load metadata pair ('', 'v'): Key cannot be blank",
		`{"Name":"w","Meta":{"consul-x":"v"}}`:                                                         "Invalid Service Meta: Couldn't load metadata pair ('consul-x', 'v'): Key prefix 'consul-' is reserved for internal use",
		`{"Name":"w","Kind":"mesh-gateway","Meta":{"consul-wan-federation":"v"}}`:                      "",
		`{"Name":"w","Meta":{` + strings.Join(pairs, ",") + `}}`:                                       "Invalid Service Meta: Node metadata cannot contain more than 64 key/value pairs",
		`{"Name":"w","Meta":{` + strings.Join(pairs[:64], ",") + `}}`:                                  "",
		`{"Name":"w","Check":{"TTL":"bogus"}}`:                                                         `Request decode failed: time: invalid duration "bogus"`,
		`{"Name":"w","Check":{"Status":"passing"}}`:                                                    "Invalid check: TTL must be > 0 for TTL checks",
		`{"Name":"w","Check":{"TTL":"10s","Interval":"5s"}}`:                                           "Invalid check: Interval and TTL cannot both be specified",
		`{"Name":"w","Checks":[{"TTL":"1s"},{"HTTP":"http://x"}]}`:                                     "Invalid check: Interval must be > 0 for Script, HTTP, H2PING, TCP, UDP or OSService checks",
		`{"Name":"w","Connect":{"Native":true}}`:                                                       one("Validation failed", "Port or SocketPath must be set for a Connect native service."),
		`{"Name":"w","Kind":"bogus","Port":1}`:                                                         "",
		`{"Name":"w","Port":1,"Connect":{"SidecarService":{"ID":"own"}}}`:                              one("Validation failed", "A SidecarService cannot specify an ID as this is managed by the agent"),
		`{"Name":"w","Port":1,"Connect":{"SidecarService":{"Connect":{"SidecarService":{}}}}}`:         one("Validation failed", "A SidecarService cannot have a nested SidecarService"),
		`{"Name":"w","Port":1,"Connect":{"SidecarService":{"Connect":{"Native":true}}}}`:               "Failed Validation: 2 errors occurred:\n\t* A Proxy cannot also be Connect Native, only typical services\n\t* Port or SocketPath must be set for a Connect native service.\n\n",
		`{"Name":"w","Port":1,"Connect":{"SidecarService":{"Kind":"bogus"}}}`:                          "",
		`{"Name":"w","Port":1,"Connect":{"Native":true,"SidecarService":{}}}`:                          "",
		`{"Name":"w","Connect":{"SidecarService":{"Proxy":{"Upstreams":[{"DestinationName":"db"}]}}}}`: one("Failed Validation", "upstream local bind port or local socket path must be defined and nonzero"),
		proxy(`"Port":1`): one("Validation failed", "Proxy.DestinationServiceName must be non-empty for Connect proxy services"),
		proxy(``):         "Validation failed: 2 errors occurred:\n\t* Port or SocketPath must be set for a connect-proxy\n\t* Proxy.DestinationServiceName must be non-empty for Connect proxy services\n\n",
		proxy(`"Proxy":{"DestinationServiceName":"d"}`):                                    one("Validation failed", "Port or SocketPath must be set for a connect-proxy"),
		proxy(`"SocketPath":"/x","Proxy":{"DestinationServiceName":"d"}`):                  "",
		proxy(`"Port":1,"Proxy":{"DestinationServiceName":"*"}`):                           one("Validation failed", "Proxy.DestinationServiceName must not be a wildcard for Connect proxy services"),
		proxy(`"Port":1,"Connect":{"Native":true},"Proxy":{"DestinationServiceName":"d"}`): one("Validation failed", "A Proxy cannot also be Connect Native, only typical services"),
		upstreams(`{"LocalBindPort":1}`):                                                   one("Validation failed", "upstream destination name cannot be empty"),
		upstreams(`{"DestinationName":"a","DestinationType":"bogus","LocalBindPort":1}`):   one("Validation failed", `unknown upstream destination type: "bogus"`),
		upstreams(`{"DestinationName":"a","LocalBindPort":1},{"DestinationName":"b","LocalBindPort":1}`): one("Validation failed",
			`upstreams cannot contain duplicates by local bind address and port or unix path; "127.0.0.1:1" is specified twice`),
		upstreams(`{"DestinationName":"a","LocalBindPort":1},{"DestinationName":"a","LocalBindPort":2}`): one("Validation failed",
			`upstreams cannot contain duplicates of [type="service", name="a", partition="", namespace="", peer="", datacenter=""]`),
		upstreams(`{"DestinationName":"a","LocalBindPort":1},{"DestinationName":"a","Datacenter":"dc2","LocalBindPort":2},{"DestinationName":"c","LocalBindSocketPath":"/x"}`): "",
	} {
		_, err := DecodeServiceRequest([]byte(body))
		if got := text(err); got != want || err != nil && model.KindOf(err) != model.KindInvalid {
			t.Errorf("%.80s:\n%q, want\n%q", body, got, want)
		}
	}
}

func one(prefix, problem string) string {
	return prefix + ": 1 error occurred:\n\t* " + problem + "\n\n"
}

func proxy(fields string) string {
	return strings.TrimSuffix(`{"Name":"p","Kind":"connect-proxy",`+fields, ",") + `}`
}

func upstreams(list string) string {
	return proxy(`"Port":1,"Proxy":{"DestinationServiceName":"d","Upstreams":[` + list + `]}`)
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestCheckErrors(t *testing.T) {
	for body, want := range map[string]string{
		`{}`:                      "Missing check name",
		`{"ID":"x","TTL":"10s"}`:  "Missing check name",
		`{"Name":"x"}`:            "Invalid check: TTL must be > 0 for TTL checks",
		`{"Name":"x","TTL":10}`:   "",
		`{"Name":"x","TTL":"10"}`: `Request decode failed: time: missing unit in duration "10"`,
		`{"Name":"x","HTTP":"http://127.0.0.1:1"}`:                                                     "Invalid check: Interval must be > 0 for Script, HTTP, H2PING, TCP, UDP or OSService checks",
		`{"Name":"x","OSService":"cron"}`:                                                              "Invalid check: Interval must be > 0 for Script, HTTP, H2PING, TCP, UDP or OSService checks",
		`{"Name":"x","TTL":"10s","Status":"purple"}`:                                                   "Bad check status",
		`{"Name":"x","Interval":"10s"}`:                                                                "Invalid check: TTL must be > 0 for TTL checks",
		`{"Name":"x","TTL":"10s","HTTP":"http://127.0.0.1:1","Interval":"1s"}`:                         "Invalid check: Interval and TTL cannot both be specified",
		`{"Name":"x","TTL":"10s","OutputMaxSize":-1}`:                                                  "Invalid check: MaxOutputMaxSize must be positive",
		`{"Name":"x","HTTP":"x","Interval":"1s","FailuresBeforeCritical":1,"FailuresBeforeWarning":3}`: "Invalid check: FailuresBeforeWarning can't be higher than FailuresBeforeCritical",
		`{"Name":"x","HTTP":"x","Interval":"1s","FailuresBeforeCritical":3,"FailuresBeforeWarning":3}`: "",
		`{"Name":"x","HTTP":"x","Interval":"1s","SuccessBeforePassing":-1}`:                            "",
		`{"Name":"x","HTTP":"x","TCP":"y:1","Interval":"1s"}`:                                          "Invalid check: only one of HTTP, TCP can be specified",
		`{"Name":"x","DockerContainerID":"d","ScriptArgs":["s"],"Interval":"1s"}`:                      "",
		`{"Name":"x","AliasNode":"n","AliasService":"s"}`:                                              "",
		`{"Name":"x","AliasNode":"n","Interval":"1s"}`:                                                 "Invalid check: Interval cannot be set for Alias checks",
		`{"Name":"x","AliasNode":"n","TTL":"1s"}`:                                                      "Invalid check: TTL must be not be set for Alias checks",
		`{"Name":"x","AliasNode":"n","HTTP":"x","Interval":"1s"}`:                                      "Invalid check: HTTP cannot be specified for Alias checks",
	} {
		_, err := DecodeCheckRequest([]byte(body))
		if got := text(err); got != want {
			t.Errorf("%s:\n%q, want\n%q", body, got, want)
		}
	}
}

// TestSidecar: what a sidecar takes over from its service, and what is left for
// those who know the other services.
func TestSidecar(t *testing.T) {
	def, err := DecodeServiceRequest([]byte(`{"ID":"w1","Name":"web","Port":80,"Address":"10.0.0.1","Tags":["t"],"Meta":{"m":"1"},"Token":"s","Connect":{"SidecarService":{}}}`))
	if err != nil {
		t.Fatal(err)
	}
	s := &def.Sidecar.Service
	const want = `"Proxy":{"DestinationServiceName":"web","DestinationServiceID":"w1","LocalServiceAddress":"127.0.0.1","LocalServicePort":80,"MeshGateway":{},"Expose":{}}`
	if got := string(encode(AgentServiceOf(s, "dc1"))); !strings.Contains(got, want) {
		t.Errorf("%s\nwant %s", got, want)
	}
	if s.ID != "w1-sidecar-proxy" || s.Name != "web-sidecar-proxy" || s.Kind != model.KindConnectProxy || s.Tags[0] != "t" || s.Meta["m"] != "1" ||
		def.Sidecar.Token != "s" || s.Port != 0 || s.Address != "" || len(def.Sidecar.Checks) != 0 {
		t.Errorf("%+v", def.Sidecar)
	}
	def, err = DecodeServiceRequest([]byte(`{"Name":"web","Connect":{"SidecarService":{"Name":"envoy","Port":8996,"Tags":[],"Meta":{},"Check":{"TTL":"1h"},"Proxy":{"LocalServicePort":81}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if s := &def.Sidecar.Service; s.Name != "envoy" || s.Port != 8996 || len(s.Tags) != 0 || s.Proxy.LocalServicePort != 81 || len(def.Sidecar.Checks) != 1 {
		t.Errorf("%+v", def.Sidecar)
	}
}

// TestNestedChecks: ids and names are left to local, the token is the service's.
func TestNestedChecks(t *testing.T) {
	def, err := DecodeServiceRequest([]byte(`{"Name":"web","Token":"s","Check":{"TTL":"1s"},"Checks":[null,{"CheckID":"b","TTL":"2s","Token":"own"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if len(def.Checks) != 2 || def.Checks[0].ID != "" || def.Checks[0].Token != "s" || def.Checks[1].ID != "b" || def.Checks[1].Token != "own" || def.Service.ID != "web" {
		t.Errorf("%s", encode(def))
	}
}
