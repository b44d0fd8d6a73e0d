package fsm

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-discovery/muster/internal/model"
)

var t0 = time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC)

// Generators of values in all their shapes, nil and empty told apart.

func genString(t *rapid.T) string {
	return rapid.OneOf(rapid.Just(""), rapid.String(), rapid.StringN(120, 300, -1)).Draw(t, "string")
}

func genStrings(t *rapid.T) []string {
	return rapid.OneOf(rapid.Just([]string(nil)), rapid.Just([]string{}), rapid.SliceOfN(rapid.Custom(genString), 0, 4)).Draw(t, "list")
}

func genMap(t *rapid.T) map[string]string {
	return rapid.OneOf(rapid.Just(map[string]string(nil)), rapid.Just(map[string]string{}),
		rapid.MapOfN(rapid.String(), rapid.Custom(genString), 0, 4)).Draw(t, "map")
}

func genBytes(t *rapid.T) []byte {
	return rapid.OneOf(rapid.Just([]byte(nil)), rapid.Just([]byte{}), rapid.SliceOf(rapid.Byte())).Draw(t, "bytes")
}

func genTime(t *rapid.T) time.Time {
	sec := rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(-62135596800, 253402300799)).Draw(t, "sec")
	return rapid.OneOf(rapid.Just(time.Time{}), rapid.Just(time.Unix(sec, 999_999_999).UTC()),
		rapid.Just(time.Unix(sec, 0).UTC())).Draw(t, "time")
}

func genIndexes(t *rapid.T) model.Indexes {
	return model.Indexes{Create: rapid.Uint64().Draw(t, "create"), Modify: rapid.Uint64().Draw(t, "modify")}
}

func genNode(t *rapid.T) model.Node {
	return model.Node{ID: genString(t), Name: genString(t), Address: genString(t), Datacenter: genString(t),
		TaggedAddresses: genMap(t), Meta: genMap(t), Indexes: genIndexes(t)}
}

func genService(t *rapid.T) *model.Service {
	s := &model.Service{Node: genString(t), ID: genString(t), Name: genString(t), Kind: genString(t),
		Tags: genStrings(t), Address: genString(t), Port: rapid.Int().Draw(t, "port"), SocketPath: genString(t),
		Meta: genMap(t), Weights: model.Weights{Passing: rapid.Int().Draw(t, "p"), Warning: rapid.Int().Draw(t, "w")},
		EnableTagOverride: rapid.Bool().Draw(t, "override"), Connect: model.Connect{Native: rapid.Bool().Draw(t, "native")},
		PeerName: genString(t), RegisteredAt: genTime(t), Indexes: genIndexes(t)}
	switch rapid.IntRange(0, 2).Draw(t, "tagged") {
	case 1:
		s.TaggedAddresses = map[string]model.ServiceAddress{}
	case 2:
		s.TaggedAddresses = map[string]model.ServiceAddress{"": {}, genString(t): {Address: genString(t), Port: -1}}
	}
	if rapid.Bool().Draw(t, "proxy") {
		s.Proxy = &model.Proxy{DestinationServiceName: genString(t), DestinationServiceID: genString(t),
			LocalServiceAddress: genString(t), LocalServicePort: rapid.Int().Draw(t, "lport"), Raw: genBytes(t)}
	}
	if rapid.Bool().Draw(t, "locality") {
		s.Locality = &model.Locality{Region: genString(t), Zone: genString(t)}
	}
	return s
}

func genCheck(t *rapid.T) *model.Check {
	return &model.Check{Node: genString(t), ID: genString(t), Name: genString(t), Status: genString(t),
		Notes: genString(t), Output: genString(t), ServiceID: genString(t), ServiceName: genString(t),
		ServiceTags: genStrings(t), Type: genString(t), Interval: genString(t), Timeout: genString(t),
		ExposedPort: rapid.Int().Draw(t, "port"), Definition: genBytes(t), StatusSince: genTime(t), Indexes: genIndexes(t)}
}

func genRoot(t *rapid.T) *model.CARoot {
	return &model.CARoot{ID: genString(t), Name: genString(t), SerialNumber: rapid.Uint64().Draw(t, "serial"),
		SigningKeyID: genString(t), ExternalTrustDomain: genString(t), NotBefore: genTime(t), NotAfter: genTime(t),
		CertPEM: genString(t), KeyPEM: genString(t), KeyType: genString(t), KeyBits: rapid.Int().Draw(t, "bits"),
		Active: rapid.Bool().Draw(t, "active"), Indexes: genIndexes(t)}
}

func genCommand(t *rapid.T) *Command {
	c := &Command{Meta: model.CommandMeta{Time: genTime(t), Datacenter: genString(t), Accessor: genString(t), Source: genString(t)}}
	copy(c.Meta.RequestID[:], rapid.SliceOfN(rapid.Byte(), 0, 16).Draw(t, "id"))
	switch rapid.IntRange(0, 14).Draw(t, "op") {
	case 14:
		c.Op = genHistorySet(t)
	case 13:
		c.Op = genAutopilotSet(t)
	case 10, 11, 12:
		c.Op = genQueryOp(t)
	case 4, 5, 6, 7, 8, 9:
		c.Op = genKeyOp(t)
	case 0:
		c.Op = &model.Deregistration{Datacenter: genString(t), Node: genString(t), ServiceID: genString(t), CheckID: genString(t)}
	case 1:
		set := &model.CARootSet{ClusterID: genString(t)}
		for range rapid.IntRange(0, 2).Draw(t, "roots") {
			set.Roots = append(set.Roots, genRoot(t))
		}
		if rapid.Bool().Draw(t, "expect") {
			v := rapid.Uint64().Draw(t, "index")
			set.ExpectIndex = &v
		}
		c.Op = set
	default:
		r := &model.Registration{Datacenter: genString(t), Node: genNode(t), SkipNodeUpdate: rapid.Bool().Draw(t, "skip")}
		if rapid.Bool().Draw(t, "service") {
			r.Service = genService(t)
		}
		for range rapid.IntRange(0, 2).Draw(t, "checks") {
			r.Checks = append(r.Checks, genCheck(t))
		}
		c.Op = r
	}
	return c
}

// sample is the registration of a usual instance: 1.7 kB of JSON in a health answer.
func sample(i int) *Command {
	node := fmt.Sprintf("node-%05d.dc1.example.internal", i)
	id := fmt.Sprintf("web-%03d-%05d", i%500, i)
	c := &Command{
		Meta: model.CommandMeta{Time: t0.Add(time.Duration(i) * time.Millisecond), Datacenter: "dc1",
			Accessor: "00000000-0000-0000-0000-000000000002", Source: "http"},
		Op: &model.Registration{
			Datacenter: "dc1",
			Node: model.Node{ID: fmt.Sprintf("40e4a748-2192-161a-0510-%012d", i), Name: node, Address: fmt.Sprintf("10.1.%d.%d", i>>8, i&255),
				TaggedAddresses: map[string]string{"lan": fmt.Sprintf("10.1.%d.%d", i>>8, i&255), "wan": fmt.Sprintf("192.0.%d.%d", i>>8, i&255),
					"lan_ipv4": fmt.Sprintf("10.1.%d.%d", i>>8, i&255), "wan_ipv4": fmt.Sprintf("192.0.%d.%d", i>>8, i&255)},
				Meta: map[string]string{"consul-network-segment": "", "consul-version": "1.21.0", "rack": fmt.Sprintf("r%d", i%40)}},
			Service: &model.Service{ID: id, Name: fmt.Sprintf("web-%03d", i%500), Tags: []string{"v1", "prod", "http"},
				Address: fmt.Sprintf("10.1.%d.%d", i>>8, i&255), Port: 8080,
				Meta:    map[string]string{"version": "1.2.3", "zone": fmt.Sprintf("z%d", i%3), "team": "shop"},
				Weights: model.Weights{Passing: 1, Warning: 1},
				TaggedAddresses: map[string]model.ServiceAddress{
					"lan_ipv4": {Address: fmt.Sprintf("10.1.%d.%d", i>>8, i&255), Port: 8080},
					"wan_ipv4": {Address: fmt.Sprintf("192.0.%d.%d", i>>8, i&255), Port: 8080}}},
			Checks: []*model.Check{
				{ID: "serfHealth", Name: "Serf Health Status", Status: "passing", Output: "Agent alive and reachable"},
				{ID: "service:" + id, Name: "Service 'web' check", Status: "passing", Type: "http", Interval: "10s", Timeout: "1s",
					ServiceID: id, Output: fmt.Sprintf("HTTP GET http://10.1.%d.%d:8080/health: 200 OK Output: ok", i>>8, i&255)},
			},
		},
	}
	c.Meta.RequestID = [16]byte{byte(i), byte(i >> 8), byte(i >> 16), 1}
	return c
}

func encode(t testing.TB, c *Command) []byte {
	t.Helper()
	b, err := Encode(c)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
