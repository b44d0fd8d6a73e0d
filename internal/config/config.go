package config

import (
	"log/slog"
	"time"

	"github.com/muster-discovery/muster/internal/model"
)

// Config is the whole configuration of an agent after merging, with all defaults
// filled in. Fields with a key tag are set by that key of a file; the others are
// derived. Secret fields print as redacted.
type Config struct {
	Dev       bool // agent -dev: in memory, every interface on
	Node      Node
	Server    Server
	Storage   Storage
	Lifecycle Lifecycle

	Addresses Addresses
	Ports     Ports
	Listen    Listen
	Advertise Advertise
	Join      Join
	Gossip    Gossip
	Raft      Raft
	Autopilot Autopilot
	RPC       RPC

	DNS     DNS
	HTTP    HTTP
	UI      UI
	Queries Queries
	Checks  Checks
	Limits  Limits

	Log       Log
	Telemetry Telemetry

	ACL     ACL
	TLS     TLS
	Connect Connect

	Services   []*model.ServiceDefinition
	NodeChecks []*model.CheckDefinition
	Watches    []Raw `key:"watches"` // one JSON object each, keys as written
	Entries    []Raw `key:"config_entries.bootstrap"`

	// Sources names the files that were read, in order.
	Sources []string
}

// Raw is a JSON value whose meaning belongs to another package.
type Raw []byte

// Secret is a token or key. It prints as redacted.
type Secret string

func (Secret) String() string { return "(redacted)" }

// GoString keeps the secret out of %#v.
func (Secret) GoString() string { return "(redacted)" }

// LogValue keeps the secret out of the log.
func (Secret) LogValue() slog.Value { return slog.StringValue("(redacted)") }

// MarshalText keeps the secret out of JSON dumps of the configuration.
func (Secret) MarshalText() ([]byte, error) { return []byte("(redacted)"), nil }

// Node says who this agent is.
type Node struct {
	Name              string            `key:"node_name"`
	ID                string            `key:"node_id"` // empty: storage makes and keeps one
	Meta              map[string]string `key:"node_meta"`
	Datacenter        string            `key:"datacenter"`         // lower case
	PrimaryDatacenter string            `key:"primary_datacenter"` // lower case; the own one if not set
	Region            string            `key:"locality.region"`
	Zone              string            `key:"locality.zone"`
	DisableHostNodeID bool              `key:"disable_host_node_id"`
}

// Server says whether this agent is a server, and how a cluster begins.
type Server struct {
	Enabled         bool          `key:"server"`
	Bootstrap       bool          `key:"bootstrap"`
	BootstrapExpect int           `key:"bootstrap_expect"`
	RejoinAgeMax    time.Duration `key:"server_rejoin_age_max"`
}

// Storage is what is kept on disk.
type Storage struct {
	DataDir string `key:"data_dir"` // empty only with Config.Dev
	PIDFile string `key:"pid_file"`
}

// Lifecycle says how the agent ends and what it does while it runs.
type Lifecycle struct {
	LeaveOnTerminate     bool          `key:"leave_on_terminate"`      // client: true, server: false
	SkipLeaveOnInterrupt bool          `key:"skip_leave_on_interrupt"` // client: false, server: true
	RejoinAfterLeave     bool          `key:"rejoin_after_leave"`
	LeaveDrainTime       time.Duration `key:"performance.leave_drain_time"`
	AutoReload           bool          `key:"auto_reload_config"`
	EnableDebug          bool          `key:"enable_debug"`
}

// Join says which agents to look for at start.
type Join struct {
	RetryLAN         []string      `key:"retry_join"`
	RetryWAN         []string      `key:"retry_join_wan"`
	StartLAN         []string      `key:"start_join"`
	StartWAN         []string      `key:"start_join_wan"`
	RetryIntervalLAN time.Duration `key:"retry_interval"`
	RetryIntervalWAN time.Duration `key:"retry_interval_wan"`
	RetryMaxLAN      int           `key:"retry_max"` // 0: forever
	RetryMaxWAN      int           `key:"retry_max_wan"`
	PrimaryGateways  []string      `key:"primary_gateways"`
	GatewaysInterval time.Duration `key:"primary_gateways_interval"`
}

// Log is the agent's log.
type Log struct {
	Level          string        `key:"log_level"` // trace, debug, info, warn, error; lower case
	JSON           bool          `key:"log_json"`
	File           string        `key:"log_file"`
	RotateBytes    int           `key:"log_rotate_bytes"`
	RotateDuration time.Duration `key:"log_rotate_duration"`
	RotateMaxFiles int           `key:"log_rotate_max_files"`
	Syslog         bool          `key:"enable_syslog"`
	SyslogFacility string        `key:"syslog_facility"`
}

// Telemetry says which metrics leave the agent, and how.
type Telemetry struct {
	PrometheusRetention time.Duration `key:"telemetry.prometheus_retention_time"`
	MetricsPrefix       string        `key:"telemetry.metrics_prefix"`
	DisableHostname     bool          `key:"telemetry.disable_hostname"`
	FilterDefault       bool          `key:"telemetry.filter_default"`
	PrefixFilter        []string      `key:"telemetry.prefix_filter"`
	StatsdAddr          string        `key:"telemetry.statsd_address"`
	StatsiteAddr        string        `key:"telemetry.statsite_address"`
	DogstatsdAddr       string        `key:"telemetry.dogstatsd_addr"`
	DogstatsdTags       []string      `key:"telemetry.dogstatsd_tags"`
	HostMetrics         bool          `key:"telemetry.enable_host_metrics"`
	RetryFailed         bool          `key:"telemetry.retry_failed_connection"`
}
