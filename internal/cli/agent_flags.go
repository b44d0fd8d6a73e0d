package cli

import (
	"errors"
	"strconv"
	"strings"

	"github.com/muster-discovery/muster/internal/config"
)

// setting is a flag of the agent that stands for one configuration key.
type setting struct {
	name, key string
	kind      kind
	usage     string // with the value's name in backquotes, unless it is a switch
}

type kind uint8

const (
	text kind = iota
	number
	toggle // a switch; also -x=false
	texts  // may be repeated
	metas  // key:value, may be repeated
)

// settings are Consul's flags in its spelling.
var settings = []setting{
	{"node", "node_name", text, "`Name` of this node. Default: the host's name."},
	{"node-id", "node_id", text, "`UUID` of this node. Default: made at the first start and kept."},
	{"node-meta", "node_meta", metas, "Metadata of this node, as `key:value`. May be repeated."},
	{"disable-host-node-id", "disable_host_node_id", toggle, "Has no effect: ids are always random."},
	{"datacenter", "datacenter", text, "`Name` of the datacenter. Default: dc1."},
	{"server", "server", toggle, "Run as a server: take part in consensus and keep the catalog."},
	{"bootstrap", "bootstrap", toggle, "Become leader without waiting for others. For a single server."},
	{"bootstrap-expect", "bootstrap_expect", number, "`Number` of servers that found the cluster together."},
	{"read-replica", "read_replica", toggle, "As a server, never vote: answer reads, and take no part in elections."},
	{"non-voting-server", "read_replica", toggle, "The older name of -read-replica."},
	{"data-dir", "data_dir", text, "`Folder` for what the agent keeps. Needed unless -dev is given."},
	{"domain", "domain", text, "DNS `domain`. Default: consul."},
	{"alt-domain", "alt_domain", text, "Second DNS `domain`."},
	{"recursor", "recursors", texts, "`Address` of a DNS server for all other names. May be repeated."},

	{"bind", "bind_addr", text, "`Address` for the traffic between agents. Default: 0.0.0.0, all."},
	{"client", "client_addr", text, "`Addresses` for HTTP, DNS and gRPC. Default: 127.0.0.1."},
	{"advertise", "advertise_addr", text, "`Address` that other agents are told. Default: the bind address."},
	{"advertise-wan", "advertise_addr_wan", text, "`Address` that other datacenters are told."},
	{"allow-write-http-from", "http_config.allow_write_http_from", texts, "`Network` from which HTTP writes are accepted, as 10.0.0.0/8. May be repeated."},
	{"http-port", "ports.http", number, "HTTP `port`, -1 for none. Default: 8500."},
	{"https-port", "ports.https", number, "HTTPS `port`. Default: none."},
	{"dns-port", "ports.dns", number, "DNS `port`, -1 for none. Default: 8600."},
	{"grpc-port", "ports.grpc", number, "gRPC `port`. Default: none, 8502 with -dev."},
	{"grpc-tls-port", "ports.grpc_tls", number, "gRPC `port` with TLS. Default: 8503 on servers."},
	{"server-port", "ports.server", number, "`Port` for RPC and Raft between servers. Default: 8300."},
	{"serf-lan-port", "ports.serf_lan", number, "Gossip `port`. Default: 8301."},
	{"serf-wan-port", "ports.serf_wan", number, "Gossip `port` between datacenters, -1 for none. Default: 8302."},
	{"serf-lan-bind", "serf_lan", text, "`Address` for gossip. Default: the bind address."},
	{"serf-wan-bind", "serf_wan", text, "`Address` for gossip between datacenters."},
	{"serf-lan-allowed-cidrs", "serf_lan_allowed_cidrs", texts, "`Network` from which members are accepted. May be repeated."},
	{"serf-wan-allowed-cidrs", "serf_wan_allowed_cidrs", texts, "`Network` from which members of other datacenters are accepted. May be repeated."},

	{"join", "start_join", texts, "`Address` of an agent to join at start. May be repeated."},
	{"retry-join", "retry_join", texts, "The same `address`, tried until it works."},
	{"retry-interval", "retry_interval", text, "`Time` between two tries. Default: 30s."},
	{"retry-max", "retry_max", number, "`Number` of tries, then the agent ends. Default: 0, for ever."},
	{"join-wan", "start_join_wan", texts, "`Address` of a server of another datacenter to join. May be repeated."},
	{"retry-join-wan", "retry_join_wan", texts, "The same `address`, tried until it works."},
	{"retry-interval-wan", "retry_interval_wan", text, "`Time` between two tries. Default: 30s."},
	{"retry-max-wan", "retry_max_wan", number, "`Number` of tries. Default: 0, for ever."},
	{"primary-gateway", "primary_gateways", texts, "`Address` of a mesh gateway of the primary datacenter. May be repeated."},
	{"rejoin", "rejoin_after_leave", toggle, "Join the old cluster again after having left it."},
	{"encrypt", "encrypt", text, "Gossip `key` in base64."},
	{"disable-keyring-file", "disable_keyring_file", toggle, "Do not keep gossip keys on disk."},

	{"enable-script-checks", "enable_script_checks", toggle, "Allow script checks, also over HTTP."},
	{"enable-local-script-checks", "enable_local_script_checks", toggle, "Allow script checks from files only."},
	{"check_output_max_size", "check_output_max_size", number, "Longest output of a check, in `bytes`."},
	{"default-query-time", "default_query_time", text, "How long a blocking query waits if it does not say: a `time`."},
	{"max-query-time", "max_query_time", text, "How long a blocking query may wait: a `time`."},
	{"raft-protocol", "raft_protocol", number, "Raft protocol `version`; only 3 is left."},
	{"auto-reload-config", "auto_reload_config", toggle, "Read the files again when they have changed, within seconds."},
	{"ui", "ui_config.enabled", toggle, "Serve the web interface."},
	{"ui-dir", "ui_config.dir", text, "`Folder` with another web interface."},
	{"ui-content-path", "ui_config.content_path", text, "`Path` of the web interface. Default: /ui/."},
	{"pid-file", "pid_file", text, "`File` to write the process id to."},

	{"log-level", "log_level", text, "`Level` of the log: trace, debug, info, warn, error."},
	{"log-json", "log_json", toggle, "Write the log as JSON."},
	{"log-file", "log_file", text, "`File` for the log, besides standard output. Old ones get their time into the name."},
	{"log-rotate-bytes", "log_rotate_bytes", number, "Begin a new log file after so many `bytes`."},
	{"log-rotate-duration", "log_rotate_duration", text, "Begin a new log file after this `time`."},
	{"log-rotate-max-files", "log_rotate_max_files", number, "`Number` of old log files to keep. Default: 0, all; -1 for none."},
}

// gone are flags of Consul that Muster refuses, or takes without effect if the
// reason is empty.
var gone = map[string]string{
	"protocol":                 "",
	"segment":                  "an enterprise feature of Consul, which Muster does not have",
	"disable-compat-1.9":       "",
	"disable-update-check":     "",
	"http-max-header-bytes":    "use http_config.max_header_bytes in a file",
	"syslog":                   "Muster does not log to syslog: let the system's journal take standard output, or use -log-file",
	"default-intention-policy": "use default_intention_policy in a file",
}

// settingValue collects what a flag was given.
type settingValue struct {
	setting
	given bool
	value any
}

func (v *settingValue) String() string   { return "" }
func (v *settingValue) IsBoolFlag() bool { return v.kind == toggle }

func (v *settingValue) Set(s string) error {
	v.given = true
	switch v.kind {
	case text:
		v.value = s
	case number:
		n, err := strconv.Atoi(s)
		if err != nil {
			return errors.New("want a whole number")
		}
		v.value = n
	case toggle:
		b, err := strconv.ParseBool(s)
		if err != nil {
			return errors.New("want true or false")
		}
		v.value = b
	case texts:
		l, _ := v.value.([]string)
		v.value = append(l, s)
	case metas:
		k, val, ok := strings.Cut(s, ":")
		if !ok || k == "" {
			return errors.New("want key:value")
		}
		m, _ := v.value.(map[string]string)
		if m == nil {
			m = map[string]string{}
		}
		m[k] = val
		v.value = m
	}
	return nil
}

// goneValue refuses a flag, or takes it silently.
type goneValue struct{ why string }

func (goneValue) String() string   { return "" }
func (goneValue) IsBoolFlag() bool { return true }

func (v goneValue) Set(string) error {
	if v.why == "" {
		return nil
	}
	return errors.New(v.why)
}

// pathList keeps -config-file and -config-dir in the order they were given.
type pathList struct{ paths *[]string }

func (pathList) String() string { return "" }

func (p pathList) Set(s string) error {
	*p.paths = append(*p.paths, s)
	return nil
}

// agentOptions declares the agent's flags; the result is valid after parsing.
func agentOptions(f *flags) func() config.Options {
	o := config.Options{}
	f.BoolVar(&o.Dev, "dev", false, "Run one server in memory with every interface on. For trying out.")
	f.Var(pathList{&o.Paths}, "config-file", "Configuration `file`, .hcl or .json. May be repeated; later ones win.")
	f.Var(pathList{&o.Paths}, "config-dir", "`Folder` whose .hcl and .json files are read in the order of their names. May be repeated.")
	f.StringVar(&o.Format, "config-format", "", "`Format` of files with other names: hcl or json.")
	f.Var((*list)(&o.HCL), "hcl", "Piece of `HCL` configuration. May be repeated.")
	values := make([]*settingValue, len(settings))
	for i, s := range settings {
		values[i] = &settingValue{setting: s}
		f.Var(values[i], s.name, s.usage)
	}
	for name, why := range gone {
		f.Var(goneValue{why}, name, "")
		f.hidden[name] = true
	}
	return func() config.Options {
		for _, v := range values {
			if v.given {
				o.Flags = append(o.Flags, config.Setting{Flag: "-" + v.name, Key: v.key, Value: v.value})
			}
		}
		return o
	}
}
