package config

import "time"

// Addresses are the address keys as written: IPs, go-sockaddr templates, unix://
// paths, or several of them with spaces between. Listen and Advertise hold what
// became of them.
type Addresses struct {
	Bind             string   `key:"bind_addr"`
	Client           string   `key:"client_addr"`
	Advertise        string   `key:"advertise_addr"`
	AdvertiseIPv4    string   `key:"advertise_addr_ipv4"`
	AdvertiseIPv6    string   `key:"advertise_addr_ipv6"`
	AdvertiseWAN     string   `key:"advertise_addr_wan"`
	AdvertiseWANIPv4 string   `key:"advertise_addr_wan_ipv4"`
	AdvertiseWANIPv6 string   `key:"advertise_addr_wan_ipv6"`
	SerfLAN          string   `key:"serf_lan"`
	SerfWAN          string   `key:"serf_wan"`
	DNS              string   `key:"addresses.dns"`
	HTTP             string   `key:"addresses.http"`
	HTTPS            string   `key:"addresses.https"`
	GRPC             string   `key:"addresses.grpc"`
	GRPCTLS          string   `key:"addresses.grpc_tls"`
	TranslateWAN     bool     `key:"translate_wan_addrs"`
	SerfLANAllowed   []string `key:"serf_lan_allowed_cidrs"`
	SerfWANAllowed   []string `key:"serf_wan_allowed_cidrs"`
	SocketUser       string   `key:"unix_sockets.user"`
	SocketGroup      string   `key:"unix_sockets.group"`
	SocketMode       string   `key:"unix_sockets.mode"` // octal
}

// Ports are the port keys; -1 switches a listener off.
type Ports struct {
	DNS        int `key:"ports.dns"`
	HTTP       int `key:"ports.http"`
	HTTPS      int `key:"ports.https"`
	GRPC       int `key:"ports.grpc"`
	GRPCTLS    int `key:"ports.grpc_tls"`
	SerfLAN    int `key:"ports.serf_lan"`
	SerfWAN    int `key:"ports.serf_wan"`
	Server     int `key:"ports.server"`
	SidecarMin int `key:"ports.sidecar_min_port"`
	SidecarMax int `key:"ports.sidecar_max_port"`
	ExposeMin  int `key:"ports.expose_min_port"`
	ExposeMax  int `key:"ports.expose_max_port"`
}

// Endpoint is a resolved address to listen on or to be reached at.
type Endpoint struct {
	Network string // "tcp" or "unix"; DNS listens on tcp and udp
	Address string // host:port, or the path of the socket
}

func (e Endpoint) String() string {
	if e.Network == "unix" {
		return "unix://" + e.Address
	}
	return e.Address
}

// Listen is where each interface listens. An empty list means that it is off.
type Listen struct {
	DNS     []Endpoint
	HTTP    []Endpoint
	HTTPS   []Endpoint
	GRPC    []Endpoint
	GRPCTLS []Endpoint
	SerfLAN Endpoint
	SerfWAN Endpoint // Address is empty if the WAN pool is off
	Server  Endpoint // RPC and Raft; servers only
}

// Advertise is what others are told. All are IPs without a port.
type Advertise struct {
	LAN    string
	WAN    string
	Tagged map[string]string // lan, lan_ipv4, lan_ipv6, wan, wan_ipv4, wan_ipv6
}

// Gossip are the settings of the serf pools.
type Gossip struct {
	EncryptKey             Secret        `key:"encrypt"`
	EncryptVerifyIncoming  bool          `key:"encrypt_verify_incoming"`
	EncryptVerifyOutgoing  bool          `key:"encrypt_verify_outgoing"`
	DisableKeyringFile     bool          `key:"disable_keyring_file"`
	DisableCoordinates     bool          `key:"disable_coordinates"`
	ReconnectTimeoutLAN    time.Duration `key:"reconnect_timeout"`
	ReconnectTimeoutWAN    time.Duration `key:"reconnect_timeout_wan"`
	AdvertiseReconnect     time.Duration `key:"advertise_reconnect_timeout"`
	LANNodes               int           `key:"gossip_lan.gossip_nodes"`
	LANInterval            time.Duration `key:"gossip_lan.gossip_interval"`
	LANProbeInterval       time.Duration `key:"gossip_lan.probe_interval"`
	LANProbeTimeout        time.Duration `key:"gossip_lan.probe_timeout"`
	LANSuspicionMultiplier int           `key:"gossip_lan.suspicion_mult"`
	LANRetransmit          int           `key:"gossip_lan.retransmit_mult"`
	WANNodes               int           `key:"gossip_wan.gossip_nodes"`
	WANInterval            time.Duration `key:"gossip_wan.gossip_interval"`
	WANProbeInterval       time.Duration `key:"gossip_wan.probe_interval"`
	WANProbeTimeout        time.Duration `key:"gossip_wan.probe_timeout"`
	WANSuspicionMultiplier int           `key:"gossip_wan.suspicion_mult"`
	WANRetransmit          int           `key:"gossip_wan.retransmit_mult"`
}

// Raft are the settings of consensus. Zero means the default of package consensus.
type Raft struct {
	Multiplier        int           `key:"performance.raft_multiplier"`
	Protocol          int           `key:"raft_protocol"`
	SnapshotThreshold int           `key:"raft_snapshot_threshold"`
	SnapshotInterval  time.Duration `key:"raft_snapshot_interval"`
	TrailingLogs      int           `key:"raft_trailing_logs"`
	PrevoteDisabled   bool          `key:"raft_prevote_disabled"`
}

// Autopilot are the settings a new cluster starts with.
type Autopilot struct {
	CleanupDeadServers      bool          `key:"autopilot.cleanup_dead_servers"`
	LastContactThreshold    time.Duration `key:"autopilot.last_contact_threshold"`
	MaxTrailingLogs         int           `key:"autopilot.max_trailing_logs"`
	MinQuorum               int           `key:"autopilot.min_quorum"`
	ServerStabilizationTime time.Duration `key:"autopilot.server_stabilization_time"`
}

// RPC are the settings of the connections between agents.
type RPC struct {
	HoldTimeout       time.Duration `key:"performance.rpc_hold_timeout"`
	KeepaliveInterval time.Duration `key:"performance.grpc_keepalive_interval"`
	KeepaliveTimeout  time.Duration `key:"performance.grpc_keepalive_timeout"`
	Streaming         bool          `key:"use_streaming_backend"`
	ServeStreaming    bool          `key:"rpc.enable_streaming"`
}
