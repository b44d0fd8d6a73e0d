package httpapi

import (
	"github.com/muster-discovery/muster/internal/acl"
	"github.com/muster-discovery/muster/internal/model"
)

// route is one method on one path. A path that ends in a slash takes the rest of
// the request's path as its id, with everything that is in it.
type route struct {
	method  string
	path    string
	handle  func(*call) error
	needs   acl.Resource // what the caller must be allowed to use; 0: nothing
	access  acl.Access
	options options
}

type options uint8

const (
	// blocks: the caller can wait for a change with ?index.
	blocks options = 1 << iota
	// tellsIndex: errors of the lookup carry the index headers too.
	tellsIndex
	// caches: ?cached is honored and told in X-Cache.
	caches
	// leads: the leader answers, with ?stale any server.
	leads
	// serves: any server answers, a client agent can't.
	serves
)

const (
	get  = "GET"
	put  = "PUT"
	post = "POST"
	del  = "DELETE"
)

// routes is the whole API: every route is here and nowhere else.
var routes = []route{
	{get, "/v1/status/leader", statusLeader, 0, 0, serves},
	{get, "/v1/status/peers", statusPeers, 0, 0, serves},

	{put, "/v1/catalog/register", catalogRegister, acl.Node, acl.Write, 0},
	{put, "/v1/catalog/deregister", catalogDeregister, acl.Node, acl.Write, 0},
	{get, "/v1/catalog/datacenters", catalogDatacenters, 0, 0, 0},
	{get, "/v1/catalog/nodes", catalogNodes, acl.Node, acl.Read, blocks | tellsIndex},
	{get, "/v1/catalog/services", catalogServices, acl.Service, acl.Read, blocks | tellsIndex | caches},
	{get, "/v1/catalog/service/", catalogService, acl.Service, acl.Read, blocks | tellsIndex | caches},
	{get, "/v1/catalog/connect/", catalogConnect, acl.Service, acl.Read, blocks | tellsIndex | caches},
	{get, "/v1/catalog/node/", catalogNode, acl.Node, acl.Read, blocks | tellsIndex},
	{get, "/v1/catalog/node-services/", catalogNodeServices, acl.Node, acl.Read, blocks | tellsIndex},
	{get, "/v1/catalog/gateway-services/", catalogGatewayServices, acl.Service, acl.Read, blocks | tellsIndex},

	{get, "/v1/health/node/", healthNode, acl.Node, acl.Read, blocks | tellsIndex},
	{get, "/v1/health/checks/", healthChecks, acl.Service, acl.Read, blocks | tellsIndex},
	{get, "/v1/health/state/", healthState, acl.Node, acl.Read, blocks | tellsIndex},
	{get, "/v1/health/service/", healthService, acl.Service, acl.Read, blocks | caches},
	{get, "/v1/health/connect/", healthConnect, acl.Service, acl.Read, blocks | caches},
	{get, "/v1/health/ingress/", healthIngress, acl.Service, acl.Read, blocks | caches},

	{get, "/v1/kv", kvRoot, acl.Key, acl.Read, 0},
	{put, "/v1/kv", kvRoot, acl.Key, acl.Write, 0},
	{del, "/v1/kv", kvRoot, acl.Key, acl.Write, 0},
	{get, "/v1/kv/", kvGet, acl.Key, acl.Read, blocks},
	{put, "/v1/kv/", kvPut, acl.Key, acl.Write, 0},
	{del, "/v1/kv/", kvDelete, acl.Key, acl.Write, 0},
	{get, "/muster/v1/kv/history/", kvHistory, acl.Key, acl.Read, blocks | serves},
	{put, "/v1/txn", txn, acl.Key, acl.Write, serves},

	{put, "/v1/session/create", sessionCreate, acl.Session, acl.Write, 0},
	{put, "/v1/session/destroy/", sessionDestroy, acl.Session, acl.Write, 0},
	{put, "/v1/session/renew/", sessionRenew, acl.Session, acl.Write, 0},
	{get, "/v1/session/info/", sessionInfo, acl.Session, acl.Read, blocks | tellsIndex},
	{get, "/v1/session/node/", sessionNode, acl.Session, acl.Read, blocks | tellsIndex},
	{get, "/v1/session/list", sessionList, acl.Session, acl.Read, blocks | tellsIndex},

	{get, "/v1/query", queryList, acl.Query, acl.Read, blocks | tellsIndex},
	{post, "/v1/query", queryCreate, acl.Query, acl.Write, 0},
	{get, querySpecific, queryGet, acl.Query, acl.Read, blocks | tellsIndex},
	{put, querySpecific, queryPut, acl.Query, acl.Write, 0},
	{del, querySpecific, queryDelete, acl.Query, acl.Write, 0},

	{put, "/v1/event/fire/", eventFire, acl.UserEvent, acl.Write, 0},
	{get, "/v1/event/list", eventList, acl.UserEvent, acl.Read, blocks},

	{get, "/v1/coordinate/datacenters", coordinateDatacenters, acl.Node, acl.Read, 0},
	{get, "/v1/coordinate/nodes", coordinateNodes, acl.Node, acl.Read, blocks | tellsIndex},
	{get, "/v1/coordinate/node/", coordinateNode, acl.Node, acl.Read, blocks | tellsIndex},
	{put, "/v1/coordinate/update", coordinateUpdate, acl.Node, acl.Write, 0},

	{get, "/v1/connect/ca/roots", connectRoots, 0, 0, blocks | tellsIndex},

	{get, "/v1/agent/self", agentSelf, acl.Agent, acl.Read, 0},
	{get, "/v1/agent/host", agentHost, acl.Operator, acl.Read, 0},
	{get, "/v1/agent/version", agentVersion, acl.Agent, acl.Read, 0},
	{get, "/v1/agent/metrics", agentMetrics, acl.Agent, acl.Read, 0},
	{get, "/v1/operator/usage", operatorUsage, acl.Operator, acl.Read, leads},
	{get, "/v1/operator/raft/configuration", operatorRaftConfiguration, acl.Operator, acl.Read, leads},
	{del, "/v1/operator/raft/peer", operatorRaftPeer, acl.Operator, acl.Write, leads},
	{put, "/v1/operator/raft/transfer-leader", operatorTransferLeader, acl.Operator, acl.Write, leads},
	{post, "/v1/operator/raft/transfer-leader", operatorTransferLeader, acl.Operator, acl.Write, leads},
	{get, "/v1/operator/keyring", keyringList, acl.Keyring, acl.Read, serves},
	{post, "/v1/operator/keyring", keyringInstall, acl.Keyring, acl.Write, serves},
	{put, "/v1/operator/keyring", keyringUse, acl.Keyring, acl.Write, serves},
	{del, "/v1/operator/keyring", keyringRemove, acl.Keyring, acl.Write, serves},
	{get, "/v1/operator/autopilot/configuration", autopilotConfiguration, acl.Operator, acl.Read, leads},
	{put, "/v1/operator/autopilot/configuration", setAutopilot, acl.Operator, acl.Write, leads},
	{get, "/v1/operator/autopilot/health", autopilotHealth, acl.Operator, acl.Read, leads},
	{get, "/v1/operator/autopilot/state", autopilotState, acl.Operator, acl.Read, leads},

	{get, "/v1/snapshot", snapshotSave, acl.Operator, acl.Write, leads},
	{put, "/v1/snapshot", snapshotRestore, acl.Operator, acl.Write, leads},
	{put, "/muster/v1/snapshot/compare", snapshotCompare, acl.Operator, acl.Write, leads},
	{put, "/muster/v1/snapshot/kv", snapshotKeys, acl.Operator, acl.Write, leads},

	{get, "/muster/v1/watch/service/", watchService, acl.Service, acl.Read, 0},
	{get, "/muster/v1/watch/connect/", watchConnect, acl.Service, acl.Read, 0},
	{get, "/muster/v1/watch/services", watchServices, acl.Service, acl.Read, 0},
	{post, "/muster/v1/watch/services", watchServicesPosted, acl.Service, acl.Read, 0},
	{put, "/muster/v1/watch/ack", watchAck, acl.Service, acl.Read, 0},

	{get, "/debug/pprof/", profile, acl.Operator, acl.Read, 0},
	{get, "/v1/agent/monitor", agentMonitor, acl.Agent, acl.Read, 0},
	{get, "/v1/agent/members", agentMembers, acl.Node, acl.Read, 0},
	{get, "/muster/v1/agent/accusations", agentAccusations, acl.Node, acl.Read, 0},
	{put, "/v1/agent/join/", agentJoin, acl.Agent, acl.Write, 0},
	{put, "/v1/agent/leave", agentLeave, acl.Agent, acl.Write, 0},
	{put, "/v1/agent/force-leave/", agentForceLeave, acl.Operator, acl.Write, 0},
	{put, "/v1/agent/reload", agentReload, acl.Agent, acl.Write, 0},
	{put, "/v1/agent/maintenance", agentMaintenance, acl.Node, acl.Write, 0},

	{get, "/v1/agent/services", agentServices, acl.Service, acl.Read, 0},
	{get, "/v1/agent/service/", agentService, acl.Service, acl.Read, 0},
	{put, "/v1/agent/service/register", agentServiceRegister, acl.Service, acl.Write, 0},
	{put, "/v1/agent/service/deregister/", agentServiceDeregister, acl.Service, acl.Write, 0},
	{put, "/v1/agent/service/maintenance/", agentServiceMaintenance, acl.Service, acl.Write, 0},

	{get, "/v1/agent/checks", agentChecks, acl.Service, acl.Read, 0},
	{put, "/v1/agent/check/register", agentCheckRegister, acl.Service, acl.Write, 0},
	{put, "/v1/agent/check/deregister/", agentCheckDeregister, acl.Service, acl.Write, 0},
	{put, "/v1/agent/check/pass/", agentCheckReport(model.StatusPassing), acl.Service, acl.Write, 0},
	{put, "/v1/agent/check/warn/", agentCheckReport(model.StatusWarning), acl.Service, acl.Write, 0},
	{put, "/v1/agent/check/fail/", agentCheckReport(model.StatusCritical), acl.Service, acl.Write, 0},
	{put, "/v1/agent/check/update/", agentCheckUpdate, acl.Service, acl.Write, 0},

	{get, "/v1/agent/health/service/id/", agentHealthByID, acl.Service, acl.Read, 0},
	{get, "/v1/agent/health/service/name/", agentHealthByName, acl.Service, acl.Read, 0},

	{get, "/v1/agent/connect/ca/roots", agentRoots, 0, 0, blocks | caches},

	// Access control has no rules yet; clients are told so as with Consul.
	{put, "/v1/acl/bootstrap", aclDisabled, 0, 0, 0},
	{post, "/v1/acl/login", aclDisabled, 0, 0, 0},
	{post, "/v1/acl/logout", aclDisabled, 0, 0, 0},
	{get, "/v1/acl/replication", aclDisabled, 0, 0, 0},
	{get, "/v1/acl/policies", aclDisabled, 0, 0, 0},
	{put, "/v1/acl/policy", aclDisabled, 0, 0, 0},
	{get, "/v1/acl/policy/", aclDisabled, 0, 0, 0},
	{put, "/v1/acl/policy/", aclDisabled, 0, 0, 0},
	{del, "/v1/acl/policy/", aclDisabled, 0, 0, 0},
	{get, "/v1/acl/roles", aclDisabled, 0, 0, 0},
	{put, "/v1/acl/role", aclDisabled, 0, 0, 0},
	{get, "/v1/acl/role/", aclDisabled, 0, 0, 0},
	{put, "/v1/acl/role/", aclDisabled, 0, 0, 0},
	{del, "/v1/acl/role/", aclDisabled, 0, 0, 0},
	{get, "/v1/acl/tokens", aclDisabled, 0, 0, 0},
	{put, "/v1/acl/token", aclDisabled, 0, 0, 0},
	{get, "/v1/acl/token/self", aclDisabled, 0, 0, 0},
	{get, "/v1/acl/token/", aclDisabled, 0, 0, 0},
	{put, "/v1/acl/token/", aclDisabled, 0, 0, 0},
	{del, "/v1/acl/token/", aclDisabled, 0, 0, 0},
	{get, "/v1/acl/auth-methods", aclDisabled, 0, 0, 0},
	{put, "/v1/acl/auth-method", aclDisabled, 0, 0, 0},
	{get, "/v1/acl/auth-method/", aclDisabled, 0, 0, 0},
	{put, "/v1/acl/auth-method/", aclDisabled, 0, 0, 0},
	{del, "/v1/acl/auth-method/", aclDisabled, 0, 0, 0},
	{get, "/v1/acl/binding-rules", aclDisabled, 0, 0, 0},
	{put, "/v1/acl/binding-rule", aclDisabled, 0, 0, 0},
	{get, "/v1/acl/binding-rule/", aclDisabled, 0, 0, 0},
	{put, "/v1/acl/binding-rule/", aclDisabled, 0, 0, 0},
	{del, "/v1/acl/binding-rule/", aclDisabled, 0, 0, 0},
}
