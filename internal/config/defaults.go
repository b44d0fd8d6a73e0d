package config

import "time"

// Default is the configuration of an agent without any setting. Its figures are
// Consul's, so that a file written for it means the same here.
func Default() *Config {
	c := &Config{}
	c.Node.Datacenter = "dc1"
	c.Server.RejoinAgeMax = 168 * time.Hour
	c.Lifecycle.LeaveDrainTime = 5 * time.Second
	c.Addresses.Bind = "0.0.0.0"
	c.Addresses.Client = "127.0.0.1"
	c.Ports = Ports{
		DNS: 8600, HTTP: 8500, HTTPS: -1, GRPC: -1, GRPCTLS: -1, // 8503 on servers
		SerfLAN: 8301, SerfWAN: 8302, Server: 8300,
		SidecarMin: 21000, SidecarMax: 21255, ExposeMin: 21500, ExposeMax: 21755,
	}
	c.Join.RetryIntervalLAN = 30 * time.Second
	c.Join.RetryIntervalWAN = 30 * time.Second
	c.Join.GatewaysInterval = 30 * time.Second
	c.Gossip = defaultGossip()
	// A voter's heartbeat is 1 s times this. Consul's own default of 5 is for
	// the smallest machines and costs 5 times the time without a leader.
	c.Raft.Multiplier = 1
	c.Raft.Protocol = 3
	c.Autopilot = Autopilot{
		CleanupDeadServers: true, LastContactThreshold: 200 * time.Millisecond,
		MaxTrailingLogs: 250, ServerStabilizationTime: 10 * time.Second,
	}
	c.RPC = RPC{HoldTimeout: 7 * time.Second, KeepaliveInterval: 30 * time.Second, KeepaliveTimeout: 20 * time.Second, Streaming: true, ServeStreaming: true}
	c.DNS = defaultDNS()
	c.HTTP.UseCache = true
	c.UI.ContentPath = "/ui/"
	c.Queries = Queries{DefaultTime: 300 * time.Second, MaxTime: 600 * time.Second, SessionTTLMin: 10 * time.Second, CacheFetchBurst: 2}
	c.Checks = Checks{UpdateInterval: 5 * time.Minute, OutputMaxSize: 4096, CentralServiceConf: true}
	c.Limits = Limits{
		HTTPConnsPerClient: 200, HTTPSHandshakeTimeout: 5 * time.Second,
		RPCHandshakeTimeout: 5 * time.Second, RPCClientTimeout: 60 * time.Second,
		RPCConnsPerClient: 100, RPCRate: -1, RPCBurst: 1000,
		KVMaxValueSize: 512 << 10, TxnMaxReqLen: 512 << 10, TxnMaxOps: 128,
		RequestMode: "disabled", RequestReadRate: -1, RequestWriteRate: -1,
	}
	c.History = KVHistory{Revisions: 10, MaxBytes: "64MiB"}
	c.Log = Log{Level: "info", RotateDuration: 24 * time.Hour}
	c.Telemetry = Telemetry{MetricsPrefix: "consul", FilterDefault: true}
	c.ACL = ACL{
		DefaultPolicy: "allow", DownPolicy: "extend-cache",
		PolicyTTL: 30 * time.Second, TokenTTL: 30 * time.Second,
	}
	c.Connect = Connect{
		Enabled: true, CAProvider: "consul", Peering: true,
		LeafTTL: 72 * time.Hour, IntermediateTTL: 8760 * time.Hour, RootTTL: 87600 * time.Hour,
		PrivateKeyType: "ec", PrivateKeyBits: 256, CSRMaxPerSecond: 50,
		RotationPeriod: 2160 * time.Hour, XDSUpdatesPerSec: 250,
	}
	return c
}

// DevDefaults is the configuration behind agent -dev: one server in memory, on
// loopback, with every interface on and short timeouts.
func DevDefaults() *Config {
	c := Default()
	c.Dev = true
	c.Server.Enabled = true
	c.Server.Bootstrap = true
	c.Addresses.Bind = "127.0.0.1"
	c.Ports.GRPC = 8502
	c.Log.Level = "debug"
	c.UI.Enabled = true
	c.Lifecycle.EnableDebug = true
	c.Gossip.DisableKeyringFile = true
	c.Gossip.LANInterval = 100 * time.Millisecond
	c.Gossip.LANProbeInterval = 100 * time.Millisecond
	c.Gossip.LANProbeTimeout = 100 * time.Millisecond
	c.Gossip.LANSuspicionMultiplier = 3
	c.Gossip.WANInterval = 100 * time.Millisecond
	c.Gossip.WANProbeInterval = 100 * time.Millisecond
	c.Gossip.WANProbeTimeout = 100 * time.Millisecond
	c.Gossip.WANSuspicionMultiplier = 3
	return c
}

func defaultGossip() Gossip {
	return Gossip{
		EncryptVerifyIncoming: true, EncryptVerifyOutgoing: true,
		ReconnectTimeoutLAN: 72 * time.Hour, ReconnectTimeoutWAN: 72 * time.Hour,
		LANNodes: 3, LANInterval: 200 * time.Millisecond,
		// A killed machine is noticed in about 5 s; see package gossip.
		LANProbeInterval: 750 * time.Millisecond, LANProbeTimeout: 375 * time.Millisecond,
		LANSuspicionMultiplier: 4, LANRetransmit: 4,
		WANNodes: 3, WANInterval: 500 * time.Millisecond,
		WANProbeInterval: 5 * time.Second, WANProbeTimeout: 3 * time.Second,
		WANSuspicionMultiplier: 6, WANRetransmit: 4,
	}
}

func defaultDNS() DNS {
	return DNS{
		Domain:           "consul.",
		RecursorStrategy: "sequential", RecursorTimeout: 2 * time.Second,
		AllowStale: true, MaxStale: 87600 * time.Hour,
		UDPAnswerLimit: 3, NodeMetaTXT: true,
		SRVOrder: "shuffle", SRVTarget: "address",
		SOA: SOA{Refresh: 3600, Retry: 600, Expire: 86400},
		// Providers hand a host a /64 as they hand it one IPv4 address.
		RateLimit: DNSRateLimit{Slip: 2, IPv4Bits: 32, IPv6Bits: 64},
	}
}
