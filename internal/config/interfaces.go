package config

import "time"

// DNS is the DNS interface.
type DNS struct {
	Domain             string                   `key:"domain"`                                     // of all names; kept in lower case with the final dot
	AltDomain          string                   `key:"alt_domain"`                                 // a second domain with the same names
	Recursors          []string                 `key:"recursors"`                                  // DNS servers for all other names, as ip or ip:port
	RecursorStrategy   string                   `key:"dns_config.recursor_strategy"`               // sequential or random
	RecursorTimeout    time.Duration            `key:"dns_config.recursor_timeout"`                // for each recursor
	AllowStale         bool                     `key:"dns_config.allow_stale"`                     // any server answers, not only the leader
	MaxStale           time.Duration            `key:"dns_config.max_stale"`                       // unless its data is older than this
	NodeTTL            time.Duration            `key:"dns_config.node_ttl"`                        // TTL of answers about nodes
	ServiceTTL         map[string]time.Duration `key:"dns_config.service_ttl"`                     // TTL by service; names, prefixes with *, and * for the rest
	ARecordLimit       int                      `key:"dns_config.a_record_limit"`                  // most addresses in one answer; 0: no limit
	UDPAnswerLimit     int                      `key:"dns_config.udp_answer_limit"`                // most records in an answer over UDP; 0: as fit
	EnableTruncate     bool                     `key:"dns_config.enable_truncate"`                 // set the TC bit when an answer was cut
	OnlyPassing        bool                     `key:"dns_config.only_passing"`                    // leave out instances with warnings
	DisableCompression bool                     `key:"dns_config.disable_compression"`             // no compression of names
	NodeMetaTXT        bool                     `key:"dns_config.enable_additional_node_meta_txt"` // node metadata as TXT records
	UseCache           bool                     `key:"dns_config.use_cache"`                       // answer from the agent's cache
	CacheMaxAge        time.Duration            `key:"dns_config.cache_max_age"`                   // unless it is older than this
	SRVOrder           string                   `key:"dns_config.srv_order"`                       // shuffle, or stable: by node and id, so that cut answers have the same part
	SRVTarget          string                   `key:"dns_config.srv_target"`                      // address: names of nodes and addresses; instance: one name for each instance
	SOA                SOA
	RateLimit          DNSRateLimit
}

// DNSRateLimit bounds the answers to one source by UDP.
type DNSRateLimit struct {
	PerSecond int      `key:"dns_config.rate_limit.responses_per_second"` // most answers by UDP to one source; 0: no limit
	Burst     int      `key:"dns_config.rate_limit.burst"`                // most answers at once after a silence; 0: as in a second
	Slip      int      `key:"dns_config.rate_limit.slip"`                 // every which answer over the limit is sent empty with TC; 0: none
	IPv4Bits  int      `key:"dns_config.rate_limit.ipv4_prefix_length"`   // bits of an IPv4 address that make a source
	IPv6Bits  int      `key:"dns_config.rate_limit.ipv6_prefix_length"`   // bits of an IPv6 address that make a source
	Exempt    []string `key:"dns_config.rate_limit.exempt"`               // networks without a limit; default: loopback
}

// SOA are the figures of the zone's SOA record, in seconds.
type SOA struct {
	MinTTL  int `key:"dns_config.soa.min_ttl"` // seconds that clients may remember that a name does not exist
	Refresh int `key:"dns_config.soa.refresh"` // for secondary servers
	Retry   int `key:"dns_config.soa.retry"`   // for secondary servers
	Expire  int `key:"dns_config.soa.expire"`  // for secondary servers
}

// HTTP is the HTTP interface.
type HTTP struct {
	ResponseHeaders map[string]string `key:"http_config.response_headers"`         // headers of every answer
	BlockEndpoints  []string          `key:"http_config.block_endpoints"`          // path prefixes that are answered with 403
	AllowWriteFrom  []string          `key:"http_config.allow_write_http_from"`    // networks from which writes are accepted; default: all
	UseCache        bool              `key:"http_config.use_cache"`                // honor ?cached
	MaxHeaderBytes  int               `key:"http_config.max_header_bytes"`         // longest header of a request; 0: 1 MiB
	AllowAnyPath    bool              `key:"disable_http_unprintable_char_filter"` // accept paths with unprintable characters
	RemoteExec      bool              // the reverse of disable_remote_exec
}

// UI is the web interface.
type UI struct {
	Enabled        bool              `key:"ui_config.enabled"`                       // serve the web interface
	Dir            string            `key:"ui_config.dir"`                           // folder with another web interface
	ContentPath    string            `key:"ui_config.content_path"`                  // path of the web interface
	DashboardURLs  map[string]string `key:"ui_config.dashboard_url_templates"`       // links to dashboards, by name
	Provider       string            `key:"ui_config.metrics_provider"`              // where the pages get figures from
	ProviderFiles  []string          `key:"ui_config.metrics_provider_files"`        // scripts that know a provider
	ProviderJSON   string            `key:"ui_config.metrics_provider_options_json"` // its options
	ProxyBaseURL   string            `key:"ui_config.metrics_proxy.base_url"`        // address behind the metrics proxy
	ProxyHeaders   []Raw             `key:"ui_config.metrics_proxy.add_headers"`     // headers of its requests
	ProxyAllowlist []string          `key:"ui_config.metrics_proxy.path_allowlist"`  // paths it may ask for
}

// KVHistory is how much of the past of keys is kept, in memory and in snapshots. All
// servers keep what the leader's setting says, so give all of them the same.
type KVHistory struct {
	Revisions int  `key:"kv_history.revisions"` // revisions of a key, the present one included, at most 1000; 0: none
	MaxBytes  Size `key:"kv_history.max_bytes"` // what all past revisions together may take; the longest past go first
}

// Queries bounds blocking queries, sessions and staleness.
type Queries struct {
	DefaultTime       time.Duration `key:"default_query_time"`          // how long a blocking query waits if it does not say
	MaxTime           time.Duration `key:"max_query_time"`              // how long one may wait
	SessionTTLMin     time.Duration `key:"session_ttl_min"`             // shortest TTL of a session
	DiscoveryMaxStale time.Duration `key:"discovery_max_stale"`         // any server answers lookups whose data is not older; 0: only the leader
	CacheFetchRate    float64       `key:"cache.entry_fetch_rate"`      // fetches a second for each entry of the cache; 0: no limit
	CacheFetchBurst   int           `key:"cache.entry_fetch_max_burst"` // fetches at once
}

// Checks says how this agent probes and what it may run.
type Checks struct {
	UpdateInterval     time.Duration `key:"check_update_interval"`         // output of a check whose state stays is passed on this late
	ScriptsAnywhere    bool          `key:"enable_script_checks"`          // allow script checks, also over HTTP
	ScriptsLocal       bool          `key:"enable_local_script_checks"`    // allow script checks from files only
	DiscardOutput      bool          `key:"discard_check_output"`          // do not keep the output of checks
	OutputMaxSize      int           `key:"check_output_max_size"`         // longest output of a check, in bytes
	AgentTLS           bool          `key:"enable_agent_tls_for_checks"`   // probe with the agent's certificate
	CentralServiceConf bool          `key:"enable_central_service_config"` // mix service-defaults into services
}

// Limits protect the agent from its callers.
type Limits struct {
	HTTPConnsPerClient    int           `key:"limits.http_max_conns_per_client"` // connections of one address to the HTTP and gRPC ports; 0: no limit
	HTTPSHandshakeTimeout time.Duration `key:"limits.https_handshake_timeout"`   // TLS handshake of HTTPS
	RPCHandshakeTimeout   time.Duration `key:"limits.rpc_handshake_timeout"`     // until a connection to the server port has said what it is
	RPCClientTimeout      time.Duration `key:"limits.rpc_client_timeout"`        // how long a client agent waits for an answer of a server
	RPCConnsPerClient     int           `key:"limits.rpc_max_conns_per_client"`  // connections of one address to the server port; 0: no limit
	RPCRate               float64       `key:"limits.rpc_rate"`                  // requests a second of a client agent to the servers; -1: no limit
	RPCBurst              int           `key:"limits.rpc_max_burst"`             // of them at once, after a silence
	KVMaxValueSize        int           `key:"limits.kv_max_value_size"`         // longest value, in bytes
	TxnMaxReqLen          int           `key:"limits.txn_max_req_len"`           // longest transaction, in bytes
	TxnMaxOps             int           `key:"limits.txn_max_ops"`               // most operations of one transaction
	RequestMode           string        `key:"limits.request_limits.mode"`       // over the rates: disabled, permissive (count and log) or enforcing
	RequestReadRate       float64       `key:"limits.request_limits.read_rate"`  // reads a second of a server; -1: no limit
	RequestWriteRate      float64       `key:"limits.request_limits.write_rate"` // writes a second of a server; -1: no limit
}
