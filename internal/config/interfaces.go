package config

import "time"

// DNS is the DNS interface.
type DNS struct {
	Domain             string                   `key:"domain"`     // lower case, with the final dot
	AltDomain          string                   `key:"alt_domain"` // the same; empty if none
	Recursors          []string                 `key:"recursors"`  // host:port
	RecursorStrategy   string                   `key:"dns_config.recursor_strategy"`
	RecursorTimeout    time.Duration            `key:"dns_config.recursor_timeout"`
	AllowStale         bool                     `key:"dns_config.allow_stale"`
	MaxStale           time.Duration            `key:"dns_config.max_stale"`
	NodeTTL            time.Duration            `key:"dns_config.node_ttl"`
	ServiceTTL         map[string]time.Duration `key:"dns_config.service_ttl"` // names, prefixes with *, and *
	ARecordLimit       int                      `key:"dns_config.a_record_limit"`
	UDPAnswerLimit     int                      `key:"dns_config.udp_answer_limit"`
	EnableTruncate     bool                     `key:"dns_config.enable_truncate"`
	OnlyPassing        bool                     `key:"dns_config.only_passing"`
	DisableCompression bool                     `key:"dns_config.disable_compression"`
	NodeMetaTXT        bool                     `key:"dns_config.enable_additional_node_meta_txt"`
	UseCache           bool                     `key:"dns_config.use_cache"`
	CacheMaxAge        time.Duration            `key:"dns_config.cache_max_age"`
	SOA                SOA
}

// SOA are the figures of the zone's SOA record, in seconds.
type SOA struct {
	MinTTL  int `key:"dns_config.soa.min_ttl"`
	Refresh int `key:"dns_config.soa.refresh"`
	Retry   int `key:"dns_config.soa.retry"`
	Expire  int `key:"dns_config.soa.expire"`
}

// HTTP is the HTTP interface.
type HTTP struct {
	ResponseHeaders map[string]string `key:"http_config.response_headers"`
	BlockEndpoints  []string          `key:"http_config.block_endpoints"`
	AllowWriteFrom  []string          `key:"http_config.allow_write_http_from"`
	UseCache        bool              `key:"http_config.use_cache"`
	MaxHeaderBytes  int               `key:"http_config.max_header_bytes"`
	AllowAnyPath    bool              `key:"disable_http_unprintable_char_filter"`
	RemoteExec      bool              // the reverse of disable_remote_exec
}

// UI is the web interface.
type UI struct {
	Enabled        bool              `key:"ui_config.enabled"`
	Dir            string            `key:"ui_config.dir"`
	ContentPath    string            `key:"ui_config.content_path"`
	DashboardURLs  map[string]string `key:"ui_config.dashboard_url_templates"`
	Provider       string            `key:"ui_config.metrics_provider"`
	ProviderFiles  []string          `key:"ui_config.metrics_provider_files"`
	ProviderJSON   string            `key:"ui_config.metrics_provider_options_json"`
	ProxyBaseURL   string            `key:"ui_config.metrics_proxy.base_url"`
	ProxyHeaders   []Raw             `key:"ui_config.metrics_proxy.add_headers"`
	ProxyAllowlist []string          `key:"ui_config.metrics_proxy.path_allowlist"`
}

// Queries bounds blocking queries, sessions and staleness.
type Queries struct {
	DefaultTime       time.Duration `key:"default_query_time"`
	MaxTime           time.Duration `key:"max_query_time"`
	SessionTTLMin     time.Duration `key:"session_ttl_min"`
	DiscoveryMaxStale time.Duration `key:"discovery_max_stale"`
	CacheFetchRate    float64       `key:"cache.entry_fetch_rate"` // 0: no limit
	CacheFetchBurst   int           `key:"cache.entry_fetch_max_burst"`
}

// Checks says how this agent probes and what it may run.
type Checks struct {
	UpdateInterval     time.Duration `key:"check_update_interval"` // output-only changes wait this long
	ScriptsAnywhere    bool          `key:"enable_script_checks"`
	ScriptsLocal       bool          `key:"enable_local_script_checks"` // from files only
	DiscardOutput      bool          `key:"discard_check_output"`
	OutputMaxSize      int           `key:"check_output_max_size"`
	AgentTLS           bool          `key:"enable_agent_tls_for_checks"`
	CentralServiceConf bool          `key:"enable_central_service_config"`
}

// Limits protect the agent from its callers.
type Limits struct {
	HTTPConnsPerClient    int           `key:"limits.http_max_conns_per_client"`
	HTTPSHandshakeTimeout time.Duration `key:"limits.https_handshake_timeout"`
	RPCHandshakeTimeout   time.Duration `key:"limits.rpc_handshake_timeout"`
	RPCClientTimeout      time.Duration `key:"limits.rpc_client_timeout"`
	RPCConnsPerClient     int           `key:"limits.rpc_max_conns_per_client"`
	RPCRate               float64       `key:"limits.rpc_rate"` // -1: no limit
	RPCBurst              int           `key:"limits.rpc_max_burst"`
	KVMaxValueSize        int           `key:"limits.kv_max_value_size"`
	TxnMaxReqLen          int           `key:"limits.txn_max_req_len"`
	RequestMode           string        `key:"limits.request_limits.mode"`
	RequestReadRate       float64       `key:"limits.request_limits.read_rate"`
	RequestWriteRate      float64       `key:"limits.request_limits.write_rate"`
}
