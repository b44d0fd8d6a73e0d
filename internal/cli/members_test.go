package cli

import (
	"encoding/json"
	"strings"
	"testing"
)

var threeMembers = map[string]any{"GET /v1/agent/members": []map[string]any{
	{"Name": "s2", "Addr": "10.0.0.2", "Port": 8301, "Status": 4, "Tags": map[string]string{"role": "consul", "build": "1.21.4:abc", "vsn": "2", "dc": "dc1"}},
	{"Name": "s1", "Addr": "10.0.0.1", "Port": 8301, "Status": 1, "Tags": map[string]string{"role": "consul", "build": "1.21.4:abc", "vsn": "2", "dc": "dc1"}},
	{"Name": "c1", "Addr": "fd00::1", "Port": 8301, "Status": 1, "Tags": map[string]string{"role": "node", "build": "1.21.4", "vsn": "2", "dc": "dc1"}},
}}

func TestMembers(t *testing.T) {
	a := newFake(t, threeMembers)
	muster("members").want(t, 0, `Node  Address         Status  Type    Build   Protocol  DC   Partition  Segment
c1    [fd00::1]:8301  alive   client  1.21.4  2         dc1  default    <default>
s1    10.0.0.1:8301   alive   server  1.21.4  2         dc1  default    <all>
s2    10.0.0.2:8301   failed  server  1.21.4  2         dc1  default    <all>
`)
	muster("members", "-detailed", "-status=failed").want(t, 0, `Node  Address        Status  Tags
s2    10.0.0.2:8301  failed  build=1.21.4:abc,dc=dc1,role=consul,vsn=2
`)
	muster("members", "-wan", "-status=left").want(t, 2, "")
	if got := a.asked[len(a.asked)-1]; !strings.Contains(got, "wan=1") {
		t.Errorf("asked %q", got)
	}
	muster("members", "-status=(").wantError(t, "-status")
	muster("members", "-format=xml").wantError(t, `unknown format "xml"`)
	var list []map[string]any
	if r := muster("members", "-format=json"); json.Unmarshal([]byte(r.out), &list) != nil || len(list) != 3 {
		t.Errorf("%+v", r)
	}
}
