package config

import "time"

// Addresses are the address keys as written: IPs, go-sockaddr templates, unix://
// paths, or several of them with spaces between. Listen and Advertise hold what
// became of them.
type Addresses struct {
	Bind             string   `key:"bind_addr"`               // for the traffic between agents
	Client           string   `key:"client_addr"`             // for HTTP, DNS and gRPC
	Advertise        string   `key:"advertise_addr"`          // what other agents are told; default: bind_addr, or the private address
	AdvertiseIPv4    string   `key:"advertise_addr_ipv4"`     // tagged address lan_ipv4
	AdvertiseIPv6    string   `key:"advertise_addr_ipv6"`     // tagged address lan_ipv6
	AdvertiseWAN     string   `key:"advertise_addr_wan"`      // what other datacenters are told; default: advertise_addr
	AdvertiseWANIPv4 string   `key:"advertise_addr_wan_ipv4"` // tagged address wan_ipv4
	AdvertiseWANIPv6 string   `key:"advertise_addr_wan_ipv6"` // tagged address wan_ipv6
	SerfLAN          string   `key:"serf_lan"`                // for gossip; default: bind_addr
	SerfWAN          string   `key:"serf_wan"`                // for gossip between datacenters; default: bind_addr
	DNS              string   `key:"addresses.dns"`           // default: client_addr
	HTTP             string   `key:"addresses.http"`          // default: client_addr; unix:///path for a socket
	HTTPS            string   `key:"addresses.https"`         // default: client_addr; unix:///path for a socket
	GRPC             string   `key:"addresses.grpc"`          // default: client_addr; unix:///path for a socket
	GRPCTLS          string   `key:"addresses.grpc_tls"`      // default: client_addr; unix:///path for a socket
	TranslateWAN     bool     `key:"translate_wan_addrs"`     // answer other datacenters with the tagged address wan
	SerfLANAllowed   []string `key:"serf_lan_allowed_cidrs"`  // networks from which members are accepted; default: all
	SerfWANAllowed   []string `key:"serf_wan_allowed_cidrs"`  // networks from which members of other datacenters are accepted
	SocketUser       string   `key:"unix_sockets.user"`       // owner of unix sockets
	SocketGroup      string   `key:"unix_sockets.group"`      // group of unix sockets
	SocketMode       string   `key:"unix_sockets.mode"`       // octal mode of unix sockets
}

// Ports are the port keys; -1 switches a listener off.
type Ports struct {
	DNS        int `key:"ports.dns"`              // DNS, UDP and TCP
	HTTP       int `key:"ports.http"`             // HTTP API
	HTTPS      int `key:"ports.https"`            // HTTPS API, if it has a certificate
	GRPC       int `key:"ports.grpc"`             // gRPC; 8502 with agent -dev
	GRPCTLS    int `key:"ports.grpc_tls"`         // gRPC with TLS; 8503 on servers
	SerfLAN    int `key:"ports.serf_lan"`         // gossip; can't be switched off
	SerfWAN    int `key:"ports.serf_wan"`         // gossip between datacenters, servers only
	Server     int `key:"ports.server"`           // RPC and Raft, servers only
	SidecarMin int `key:"ports.sidecar_min_port"` // first port for sidecars without one
	SidecarMax int `key:"ports.sidecar_max_port"` // last port for sidecars without one
	ExposeMin  int `key:"ports.expose_min_port"`  // first port for exposed checks
	ExposeMax  int `key:"ports.expose_max_port"`  // last port for exposed checks
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
	EncryptKey             Secret        `key:"encrypt"`                     // key of 16, 24 or 32 bytes in base64, see muster keygen
	EncryptVerifyIncoming  bool          `key:"encrypt_verify_incoming"`     // refuse gossip that is not encrypted
	EncryptVerifyOutgoing  bool          `key:"encrypt_verify_outgoing"`     // encrypt what is sent
	DisableKeyringFile     bool          `key:"disable_keyring_file"`        // do not keep keys on disk
	DisableCoordinates     bool          `key:"disable_coordinates"`         // no network coordinates
	ReconnectTimeoutLAN    time.Duration `key:"reconnect_timeout"`           // a failed member is forgotten after this; at least 8h
	ReconnectTimeoutWAN    time.Duration `key:"reconnect_timeout_wan"`       // the same between datacenters
	AdvertiseReconnect     time.Duration `key:"advertise_reconnect_timeout"` // others forget this agent after this
	LANNodes               int           `key:"gossip_lan.gossip_nodes"`     // members that each message is passed to
	LANInterval            time.Duration `key:"gossip_lan.gossip_interval"`  // between two messages
	LANProbeInterval       time.Duration `key:"gossip_lan.probe_interval"`   // between two probes of a member
	LANProbeTimeout        time.Duration `key:"gossip_lan.probe_timeout"`    // a probe without an answer has failed
	LANSuspicionMultiplier int           `key:"gossip_lan.suspicion_mult"`   // how long a suspect has to defend itself
	LANRetransmit          int           `key:"gossip_lan.retransmit_mult"`  // how often a message is passed on
	WANNodes               int           `key:"gossip_wan.gossip_nodes"`     // members that each message is passed to
	WANInterval            time.Duration `key:"gossip_wan.gossip_interval"`  // between two messages
	WANProbeInterval       time.Duration `key:"gossip_wan.probe_interval"`   // between two probes of a member
	WANProbeTimeout        time.Duration `key:"gossip_wan.probe_timeout"`    // a probe without an answer has failed
	WANSuspicionMultiplier int           `key:"gossip_wan.suspicion_mult"`   // how long a suspect has to defend itself
	WANRetransmit          int           `key:"gossip_wan.retransmit_mult"`  // how often a message is passed on
}

// Raft are the settings of consensus. Zero means the default of package consensus.
type Raft struct {
	Multiplier        int           `key:"performance.raft_multiplier"` // time-outs are 1s times this; 1 to 10
	Protocol          int           `key:"raft_protocol"`               // only 3 is left
	SnapshotThreshold int           `key:"raft_snapshot_threshold"`     // log entries between two snapshots; 0: built-in
	SnapshotInterval  time.Duration `key:"raft_snapshot_interval"`      // between two looks whether a snapshot is due; 0: built-in
	TrailingLogs      int           `key:"raft_trailing_logs"`          // entries kept behind a snapshot; 0: built-in
	PrevoteDisabled   bool          `key:"raft_prevote_disabled"`       // elections without a vote beforehand
}

// Autopilot are the settings a new cluster starts with.
type Autopilot struct {
	CleanupDeadServers      bool          `key:"autopilot.cleanup_dead_servers"`      // remove a failed server when a new one joins
	LastContactThreshold    time.Duration `key:"autopilot.last_contact_threshold"`    // a server silent for longer is unhealthy
	MaxTrailingLogs         int           `key:"autopilot.max_trailing_logs"`         // a server further behind is unhealthy
	MinQuorum               int           `key:"autopilot.min_quorum"`                // never remove servers below this number
	ServerStabilizationTime time.Duration `key:"autopilot.server_stabilization_time"` // a new server votes after having been healthy for this long
}

// RPC are the settings of the connections between agents.
type RPC struct {
	HoldTimeout       time.Duration `key:"performance.rpc_hold_timeout"`        // how long a request waits for a leader
	KeepaliveInterval time.Duration `key:"performance.grpc_keepalive_interval"` // silence after which a connection is probed
	KeepaliveTimeout  time.Duration `key:"performance.grpc_keepalive_timeout"`  // a probe without an answer closes the connection
	Streaming         bool          `key:"use_streaming_backend"`               // watch services over a stream
	ServeStreaming    bool          `key:"rpc.enable_streaming"`                // offer such streams
}
