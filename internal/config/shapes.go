package config

import "sync"

// The keys of definitions: the key in files, the name in the HTTP API, the type.
// A sidecar is a service within a service, hence the functions.

var serviceShape, checkShape, nodeCheckShape, connectShape func() *shape

func init() {
	leaf := func(text string) func() *shape {
		return sync.OnceValue(func() *shape { return makeShape(text, nil) })
	}
	checkShape = leaf("id CheckID text\ncheck_id CheckID text\n" + checkKeys)
	nodeCheckShape = leaf("id ID text\ncheck_id ID text\nservice_id ServiceID text\nnamespace Namespace ours\npartition Partition ours\n" + checkKeys)
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
id ID text
name Name text
kind Kind text
tags Tags texts
address Address text
port Port int
socket_path SocketPath text
tagged_addresses TaggedAddresses named address
meta Meta map
weights Weights one weights
enable_tag_override EnableTagOverride bool
token Token text
check Check one check
checks Checks list check
proxy Proxy one proxy
connect Connect one connect
locality Locality one locality
namespace Namespace ours
partition Partition ours`

const checkKeys = `
name Name text
notes Notes text
token Token text
status Status text
args Args texts
script_args Args texts
shell Shell text
docker_container_id DockerContainerID text
http HTTP text
header Header any
method Method text
body Body text
disable_redirects DisableRedirects bool
tcp TCP text
tcp_use_tls TCPUseTLS bool
udp UDP text
grpc GRPC text
grpc_use_tls GRPCUseTLS bool
h2ping H2PING text
h2ping_use_tls H2PingUseTLS bool
os_service OSService text
alias_node AliasNode text
alias_service AliasService text
ttl TTL duration
interval Interval duration
timeout Timeout duration
tls_server_name TLSServerName text
tls_skip_verify TLSSkipVerify bool
output_max_size OutputMaxSize int
success_before_passing SuccessBeforePassing int
failures_before_warning FailuresBeforeWarning int
failures_before_critical FailuresBeforeCritical int
deregister_critical_service_after DeregisterCriticalServiceAfter duration
proxy_http ProxyHTTP text
proxy_grpc ProxyGRPC text
expose_port ExposedPort int
exposed_port ExposedPort int`

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
