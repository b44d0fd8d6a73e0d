package gossip

import (
	"maps"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/muster-discovery/muster/internal/gossip/gossiptest"
)

// The tags and version figures that clients of /v1/agent/members see; from the
// conformance scenarios agent/members and agent/self.
func TestServerMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := gossiptest.New()
		cfg := testConfig(net, 1)
		cfg.WAN = &PoolConfig{BindAddr: ipOf(1), BindPort: 8302, Transport: net.Host(ipOf(1), 8302)}
		n := start(t, cfg)
		want := map[string]string{
			"acls": "0", "build": "1.22.0", "dc": "dc1", "grpc_port": "8502", "id": "id-1", "port": "8300", "raft_vsn": "3",
			"role": "consul", "segment": "", "vsn": "2", "vsn_max": "3", "vsn_min": "2",
		}
		wan, _ := n.LocalWANMember()
		if !maps.Equal(wan.Tags, want) {
			t.Errorf("WAN tags %v, want %v", wan.Tags, want)
		}
		want["wan_join_port"] = "8302"
		m := n.LocalMember()
		if !maps.Equal(m.Tags, want) {
			t.Errorf("LAN tags %v, want %v", m.Tags, want)
		}
		m.Tags = nil
		wantMember := Member{
			Name: "n1", Addr: "10.0.0.1", Port: 8301, Status: StatusAlive,
			ProtocolMin: 1, ProtocolMax: 5, ProtocolCur: 2, DelegateMin: 2, DelegateMax: 5, DelegateCur: 4,
		}
		if !equalMember(m, wantMember) {
			t.Errorf("member %+v, want %+v", m, wantMember)
		}
		if got := n.Members(false); len(got) != 1 || got[0].ServerAddr() != "10.0.0.1:8300" || got[0].ID() != "id-1" || got[0].Datacenter() != "dc1" {
			t.Errorf("members %+v", got)
		}
		if wan.Name != "n1.dc1" || wan.Port != 8302 {
			t.Errorf("WAN member %+v", wan)
		}
	})
}

func equalMember(a, b Member) bool {
	tags := maps.Equal(a.Tags, b.Tags)
	a.Tags, b.Tags = nil, nil
	return tags && a.Name == b.Name && a.Addr == b.Addr && a.Port == b.Port && a.Status == b.Status &&
		[6]uint8{a.ProtocolMin, a.ProtocolMax, a.ProtocolCur, a.DelegateMin, a.DelegateMax, a.DelegateCur} ==
			[6]uint8{b.ProtocolMin, b.ProtocolMax, b.ProtocolCur, b.DelegateMin, b.DelegateMax, b.DelegateCur}
}

func TestClientAndOptionalTags(t *testing.T) {
	id := Identity{NodeName: "c", NodeID: "i", Datacenter: "dc1", Build: "1.22.0", GRPCPort: 8502, ServerPort: 8300}
	got := id.tags(0)
	want := map[string]string{"role": "node", "dc": "dc1", "id": "i", "segment": "", "build": "1.22.0", "vsn": "2", "vsn_min": "2", "vsn_max": "3"}
	if !maps.Equal(got, want) {
		t.Errorf("client tags %v, want %v", got, want)
	}
	if m := (Member{Addr: "10.0.0.1", Tags: got}); m.ServerAddr() != "" || m.Server() {
		t.Errorf("a client agent has the server address %q", m.ServerAddr())
	}

	id.Server, id.ACLs, id.Bootstrap, id.BootstrapExpect, id.GRPCPort, id.GRPCTLSPort = true, true, true, 3, -1, 8503
	id.Extra = map[string]string{"zone": "z"}
	got = id.tags(0)
	for key, value := range map[string]string{"acls": "1", "bootstrap": "1", "expect": "3", "grpc_tls_port": "8503", "zone": "z"} {
		if got[key] != value {
			t.Errorf("tag %s is %q, want %q", key, got[key], value)
		}
	}
	for _, absent := range []string{"grpc_port", "wan_join_port"} {
		if _, ok := got[absent]; ok {
			t.Errorf("tag %s is there", absent)
		}
	}
}

func TestStatusWords(t *testing.T) {
	var words []string
	for s := StatusNone - 1; s <= StatusFailed+1; s++ {
		words = append(words, s.String())
	}
	if got := strings.Join(words, " "); got != "unknown none alive leaving left failed unknown" {
		t.Error(got)
	}
}
