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
	History KVHistory

	Log       Log
	Telemetry Telemetry

	ACL     ACL
	TLS     TLS
	Connect Connect

	Services   []*model.ServiceDefinition
	NodeChecks []*model.CheckDefinition
	Watches    []Raw `key:"watches"`                  // run a handler when something changes; one object each
	Entries    []Raw `key:"config_entries.bootstrap"` // config entries of a new cluster

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
	Name              string            `key:"node_name"`            // default: the host's name
	ID                string            `key:"node_id"`              // a UUID; default: storage makes one and keeps it
	Meta              map[string]string `key:"node_meta"`            // facts about the node, to filter by; up to 64 pairs
	Datacenter        string            `key:"datacenter"`           // name of the datacenter, lower case
	PrimaryDatacenter string            `key:"primary_datacenter"`   // lower case; the own one if not set
	Region            string            `key:"locality.region"`      // where the node is
	Zone              string            `key:"locality.zone"`        // zone of the region
	DisableHostNodeID bool              `key:"disable_host_node_id"` // without effect: ids are always random
}

// Server says whether this agent is a server, and how a cluster begins.
type Server struct {
	Enabled         bool          `key:"server"`                // take part in consensus and keep the catalog
	Bootstrap       bool          `key:"bootstrap"`             // become leader without waiting for others; for a single server
	BootstrapExpect int           `key:"bootstrap_expect"`      // number of servers that found the cluster together
	ReadReplica     bool          `key:"read_replica"`          // never vote: answer reads, and take no part in elections
	RejoinAgeMax    time.Duration `key:"server_rejoin_age_max"` // a server that was away for longer does not come back; at least 6h
}

// Storage is what is kept on disk.
type Storage struct {
	DataDir string `key:"data_dir"`        // folder for what the agent keeps; needed, except with agent -dev
	PIDFile string `key:"pid_file"`        // file with the process id
	Quota   Size   `key:"storage.quota"`   // most that the data dir may take, as 10GiB; default: all of its disk
	Reserve Size   `key:"storage.reserve"` // size of the file that is given up to a full disk, 0 for none; default: 1 % of the disk, 8 to 64 MiB
}

// Lifecycle says how the agent ends and what it does while it runs.
type Lifecycle struct {
	LeaveOnTerminate     bool          `key:"leave_on_terminate"`           // SIGTERM leaves the cluster; default: clients only
	SkipLeaveOnInterrupt bool          `key:"skip_leave_on_interrupt"`      // SIGINT does not leave the cluster; default: servers only
	RejoinAfterLeave     bool          `key:"rejoin_after_leave"`           // join the old cluster again after having left it
	LeaveDrainTime       time.Duration `key:"performance.leave_drain_time"` // how long a server that leaves still answers
	AutoReload           bool          `key:"auto_reload_config"`           // read the files again when they have changed, within seconds
	EnableDebug          bool          `key:"enable_debug"`                 // serve profiles of the process at /debug/pprof
}

// Join says which agents to look for at start.
type Join struct {
	RetryLAN         []string      `key:"retry_join"`                // addresses of agents to join, tried until one answers
	RetryWAN         []string      `key:"retry_join_wan"`            // servers of other datacenters to join, tried until one answers
	StartLAN         []string      `key:"start_join"`                // addresses to join; the start fails without them
	StartWAN         []string      `key:"start_join_wan"`            // servers of other datacenters to join at the start
	RetryIntervalLAN time.Duration `key:"retry_interval"`            // between two tries
	RetryIntervalWAN time.Duration `key:"retry_interval_wan"`        // between two tries
	RetryMaxLAN      int           `key:"retry_max"`                 // tries before the agent gives up and ends; 0: no limit
	RetryMaxWAN      int           `key:"retry_max_wan"`             // tries before the agent gives up and ends; 0: no limit
	PrimaryGateways  []string      `key:"primary_gateways"`          // mesh gateways of the primary datacenter
	GatewaysInterval time.Duration `key:"primary_gateways_interval"` // between two tries to reach them
}

// Log is the agent's log.
type Log struct {
	Level          string        `key:"log_level"`            // trace, debug, info, warn or error
	JSON           bool          `key:"log_json"`             // one JSON object a line
	File           string        `key:"log_file"`             // file for the log besides standard output; a folder gets muster.log
	RotateBytes    int           `key:"log_rotate_bytes"`     // put the log file aside at this size; 0: at any size
	RotateDuration time.Duration `key:"log_rotate_duration"`  // put the log file aside at this age
	RotateMaxFiles int           `key:"log_rotate_max_files"` // how many of those to keep; 0: all, -1: none
}

// Telemetry says which metrics leave the agent, and how.
type Telemetry struct {
	PrometheusRetention time.Duration `key:"telemetry.prometheus_retention_time"` // how long metrics without news are kept
	MetricsPrefix       string        `key:"telemetry.metrics_prefix"`            // first part of the metrics' names in Consul's form
	DisableHostname     bool          `key:"telemetry.disable_hostname"`          // no host name in the names of gauges
	FilterDefault       bool          `key:"telemetry.filter_default"`            // keep metrics that no prefix_filter names
	PrefixFilter        []string      `key:"telemetry.prefix_filter"`             // metrics to keep (+name) and to drop (-name)
	StatsdAddr          string        `key:"telemetry.statsd_address"`            // host:port to send metrics to
	StatsiteAddr        string        `key:"telemetry.statsite_address"`          // host:port to send metrics to
	DogstatsdAddr       string        `key:"telemetry.dogstatsd_addr"`            // host:port to send metrics to
	DogstatsdTags       []string      `key:"telemetry.dogstatsd_tags"`            // tags of all metrics sent there
	HostMetrics         bool          `key:"telemetry.enable_host_metrics"`       // metrics of the host, too
	RetryFailed         bool          `key:"telemetry.retry_failed_connection"`   // start also if a receiver of metrics is not there
}
