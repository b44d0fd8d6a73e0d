package config

import "sync"

// The keys of definitions: the key in files, the name in the HTTP API, the type, and
// what it means, for the reference.
// A sidecar is a service within a service, hence the functions.

var serviceShape, checkShape, nodeCheckShape, connectShape func() *shape

func init() {
	leaf := func(text string) func() *shape {
		return sync.OnceValue(func() *shape { return makeShape(text, nil) })
	}
	checkShape = leaf("id CheckID text // default: made from the service's\ncheck_id CheckID text // the same as id\n" + checkKeys)
	nodeCheckShape = leaf("id ID text // default: the name\ncheck_id ID text // the same as id\nservice_id ServiceID text // a service of this agent that it belongs to\nnamespace Namespace ours // only default\npartition Partition ours // only default\n" + checkKeys)
	connectShape = sync.OnceValue(func() *shape {
		return makeShape("native Native bool\nsidecar_service SidecarService one service", map[string]func() *shape{"service": serviceShape})
	})
	mode := leaf("mode Mode text")
	upstream := sync.OnceValue(func() *shape {
		return makeShape(upstreamKeys, map[string]func() *shape{"mode": mode})
	})
	path := leaf("listener_port ListenerPort int\npath Path text\nlocal_path_port LocalPathPort int\nprotocol Protocol text")
	expose := sync.OnceValue(func() *shape {
		return makeShape("checks Checks bool\npaths Paths list path", map[string]func() *shape{"path": path})
	})
	proxy := sync.OnceValue(func() *shape {
		return makeShape(proxyKeys, map[string]func() *shape{
			"mode": mode, "upstream": upstream, "expose": expose,
			"transparent": leaf("outbound_listener_port OutboundListenerPort int\ndialed_directly DialedDirectly bool"),
			"logs":        leaf("enabled Enabled bool\ndisable_listener_logs DisableListenerLogs bool\ntype Type text\npath Path text\njson_format JSONFormat text\ntext_format TextFormat text"),
			"extension":   leaf("name Name text\nrequired Required bool\narguments Arguments any\nconsul_version ConsulVersion text\nenvoy_version EnvoyVersion text"),
		})
	})
	serviceShape = sync.OnceValue(func() *shape {
		return makeShape(serviceKeys, map[string]func() *shape{
			"check": checkShape, "connect": connectShape, "proxy": proxy,
			"address":  leaf("address Address text\nport Port int"),
			"weights":  leaf("passing Passing int\nwarning Warning int"),
			"locality": leaf("region Region text\nzone Zone text"),
		})
	})
}

const serviceKeys = `
id ID text // default: the name
name Name text // needed
kind Kind text // of a proxy or gateway: connect-proxy, mesh-gateway, ...
tags Tags texts // to filter by
address Address text // default: the node's
port Port int // of the instance
socket_path SocketPath text // a unix socket instead of address and port
tagged_addresses TaggedAddresses named address // further addresses, by name: lan, wan, ...
meta Meta map // facts about the instance, to filter by; up to 64 pairs
weights Weights one weights // share of load by state
enable_tag_override EnableTagOverride bool // others may change the tags in the catalog
token Token text // ACL token for this service
check Check one check // one check
checks Checks list check // several checks
proxy Proxy one proxy // what a sidecar or gateway does
connect Connect one connect // native, or a sidecar_service to register with it
locality Locality one locality // where the instance is
namespace Namespace ours // only default
partition Partition ours // only default`

const checkKeys = `
name Name text // what people read
notes Notes text // for people
token Token text // ACL token for this check
status Status text // before the first result: passing, warning or critical
args Args texts // a command to run, as a list; exit code 0 passes, 1 warns
script_args Args texts // the same as args
shell Shell text // with docker_container_id: the shell there
docker_container_id DockerContainerID text // run args in this container
http HTTP text // URL to ask; 2xx passes, 429 warns
header Header any // of the request; lists of texts by name
method Method text // default: GET
body Body text // of the request
disable_redirects DisableRedirects bool // a redirect is the answer
tcp TCP text // host:port to connect to
tcp_use_tls TCPUseTLS bool // with a TLS handshake
udp UDP text // host:port to send to
grpc GRPC text // host:port, or host:port/service, of the gRPC health protocol
grpc_use_tls GRPCUseTLS bool // with TLS
h2ping H2PING text // host:port to send an HTTP/2 ping to
h2ping_use_tls H2PingUseTLS bool // with TLS, which is the default
os_service OSService text // name of a service of the system
alias_node AliasNode text // take over the state of this node
alias_service AliasService text // take over the state of this service id
ttl TTL duration // critical if nobody reports for so long
interval Interval duration // between two probes
timeout Timeout duration // of one probe; default: 10s, of args 30s
tls_server_name TLSServerName text // name the certificate must have
tls_skip_verify TLSSkipVerify bool // accept any certificate
output_max_size OutputMaxSize int // in bytes; default: check_output_max_size
success_before_passing SuccessBeforePassing int // good results in a row before it passes
failures_before_warning FailuresBeforeWarning int // bad results in a row before it warns
failures_before_critical FailuresBeforeCritical int // bad results in a row before it is critical
deregister_critical_service_after DeregisterCriticalServiceAfter duration // remove the service after so long
proxy_http ProxyHTTP text // set by Consul on sidecars
proxy_grpc ProxyGRPC text // set by Consul on sidecars
expose_port ExposedPort int // the same as exposed_port
exposed_port ExposedPort int // port of a proxy that lets the probe through`

const proxyKeys = `
destination_service_name DestinationServiceName text
destination_service_id DestinationServiceID text
local_service_address LocalServiceAddress text
local_service_port LocalServicePort int
local_service_socket_path LocalServiceSocketPath text
mode Mode text
transparent_proxy TransparentProxy one transparent
config Config any
upstreams Upstreams list upstream
mesh_gateway MeshGateway one mode
expose Expose one expose
access_logs AccessLogs one logs
envoy_extensions EnvoyExtensions list extension`

const upstreamKeys = `
destination_type DestinationType text
destination_name DestinationName text
destination_namespace DestinationNamespace ours
destination_partition DestinationPartition ours
destination_peer DestinationPeer text
datacenter Datacenter text
local_bind_address LocalBindAddress text
local_bind_port LocalBindPort int
local_bind_socket_path LocalBindSocketPath text
local_bind_socket_mode LocalBindSocketMode text
config Config any
mesh_gateway MeshGateway one mode`
