package gossip

import (
	"maps"
	"strconv"
)

// Tags that agents announce. Names and values are the ones that clients of
// /v1/agent/members know.
const (
	tagRole = "role"
	tagDC   = "dc"
	tagID   = "id"
	tagPort = "port"

	tagReplica  = "read_replica"
	tagNonvoter = "nonvoter" // its older name, which clients still look for

	roleServer = "consul"
	roleClient = "node"
)

// Protocol versions between agents, announced as vsn, vsn_min and vsn_max.
const (
	protocolVersion = "2"
	protocolMin     = "2"
	protocolMax     = "3"
	raftVersion     = "3"
)

// Identity is what this agent announces about itself.
type Identity struct {
	NodeName   string
	NodeID     string
	Datacenter string
	Server     bool
	Build      string // version, as clients parse it

	// Only announced by servers.
	ServerPort      int
	GRPCPort        int // 0 and less: none
	GRPCTLSPort     int // 0 and less: none
	BootstrapExpect int // 0: not waiting for others
	Bootstrap       bool
	ACLs            bool
	Replica         bool // never votes

	// Extra tags are added to both pools' and win over the ones above.
	Extra map[string]string
}

// tags are the ones announced in a pool; wanPort is 0 if the agent has no WAN
// pool, and for the WAN pool itself.
func (id *Identity) tags(wanPort int) map[string]string {
	t := map[string]string{
		tagRole: roleClient, tagDC: id.Datacenter, tagID: id.NodeID, "segment": "", "build": id.Build,
		"vsn": protocolVersion, "vsn_min": protocolMin, "vsn_max": protocolMax,
	}
	if id.Server {
		id.addServerTags(t, wanPort)
	}
	maps.Copy(t, id.Extra)
	return t
}

func (id *Identity) addServerTags(t map[string]string, wanPort int) {
	t[tagRole] = roleServer
	t[tagPort] = strconv.Itoa(id.ServerPort)
	t["raft_vsn"] = raftVersion
	t["acls"] = "0"
	if id.ACLs {
		t["acls"] = "1"
	}
	if id.GRPCPort > 0 {
		t["grpc_port"] = strconv.Itoa(id.GRPCPort)
	}
	if id.GRPCTLSPort > 0 {
		t["grpc_tls_port"] = strconv.Itoa(id.GRPCTLSPort)
	}
	if id.Bootstrap {
		t["bootstrap"] = "1"
	}
	if id.Replica {
		t[tagReplica], t[tagNonvoter] = "1", "1"
	}
	if id.BootstrapExpect > 0 {
		t["expect"] = strconv.Itoa(id.BootstrapExpect)
	}
	if wanPort > 0 {
		t["wan_join_port"] = strconv.Itoa(wanPort)
	}
}
