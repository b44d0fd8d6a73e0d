package config

import (
	"encoding/base64"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

var (
	datacenterName = regexp.MustCompile(`^[a-z0-9_-]{1,64}$`)
	nodeName       = regexp.MustCompile(`^[^\s/\\?#%"'<>\x00-\x1f\x7f]{1,255}$`)
	dnsLabel       = regexp.MustCompile(`^[A-Za-z0-9-]{1,63}$`)
	domainName     = regexp.MustCompile(`^([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)+$`)
	metaKey        = regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`)
)

// validate checks values that are right in form against each other and against
// what Muster can do.
func (f *finisher) validate() {
	f.checkNames()
	f.checkNodeMeta()
	f.checkServer()
	f.checkEncrypt()
	f.checkPorts()
	f.checkChoices()
	f.checkRanges()
	f.checkLists()
}

// bad reports a mistake at the place where key was set.
func (f *finisher) bad(key, format string, args ...any) {
	f.errorf(f.at(key), key, format, args...)
}

func (f *finisher) checkNames() {
	c := &f.draft.Config
	if !datacenterName.MatchString(c.Node.Datacenter) {
		f.bad("datacenter", "%q: only letters, digits, - and _, at most 64 of them", c.Node.Datacenter)
	}
	if f.isSet("primary_datacenter") && !datacenterName.MatchString(c.Node.PrimaryDatacenter) {
		f.bad("primary_datacenter", "%q: only letters, digits, - and _, at most 64 of them", c.Node.PrimaryDatacenter)
	}
	switch {
	case c.Node.Name == "":
		if f.isSet("node_name") {
			f.bad("node_name", "must not be empty")
		}
	case !nodeName.MatchString(c.Node.Name):
		f.bad("node_name", "%q: no spaces, slashes or quotes, at most 255 characters", c.Node.Name)
	case !dnsLabel.MatchString(c.Node.Name):
		f.warnf(f.at("node_name"), "node_name", "%q can't be found by DNS: letters, digits and - only, at most 63", c.Node.Name)
	}
	if c.Node.ID != "" {
		if _, err := uuid.Parse(c.Node.ID); err != nil || len(c.Node.ID) != 36 {
			f.bad("node_id", "%q is not a UUID", c.Node.ID)
		}
	}
	if !domainName.MatchString(c.DNS.Domain) || len(c.DNS.Domain) > 253 {
		f.bad("domain", "%q is not a domain name", c.DNS.Domain)
	}
	if alt := c.DNS.AltDomain; alt != "" {
		if !domainName.MatchString(alt) || len(alt) > 253 {
			f.bad("alt_domain", "%q is not a domain name", alt)
		}
	}
}

func (f *finisher) checkNodeMeta() {
	meta := f.draft.Node.Meta
	if len(meta) > 64 {
		f.bad("node_meta", "%d pairs; at most 64 are allowed", len(meta))
	}
	for _, k := range sortedKeys(meta) {
		switch {
		case !metaKey.MatchString(k):
			f.bad("node_meta", "key %q: only letters, digits, - and _, at most 128 of them", k)
		case strings.HasPrefix(strings.ToLower(k), "consul-"):
			f.bad("node_meta", "key %q: the prefix consul- is reserved", k)
		case len(meta[k]) > 512:
			f.bad("node_meta", "the value of %q is longer than 512 bytes", k)
		}
	}
}

func (f *finisher) checkServer() {
	c := &f.draft.Config
	s := c.Server
	if c.Storage.DataDir == "" && !c.Dev {
		f.bad("data_dir", "must be set, by data_dir or -data-dir, unless the agent runs with -dev")
	}
	if s.BootstrapExpect < 0 {
		f.bad("bootstrap_expect", "must not be negative")
	}
	if s.Bootstrap && s.BootstrapExpect > 0 {
		f.bad("bootstrap_expect", "bootstrap and bootstrap_expect exclude each other: use bootstrap_expect alone")
	}
	if !s.Enabled && s.Bootstrap {
		f.bad("bootstrap", "only a server can bootstrap; set server = true")
	}
	if !s.Enabled && s.BootstrapExpect > 0 {
		f.bad("bootstrap_expect", "only a server can bootstrap; set server = true")
	}
	if s.BootstrapExpect > 0 && s.BootstrapExpect%2 == 0 {
		f.warnf(f.at("bootstrap_expect"), "bootstrap_expect", "an even number of servers (%d) survives no more failures than one server less", s.BootstrapExpect)
	}
	if s.RejoinAgeMax < 6*time.Hour {
		f.bad("server_rejoin_age_max", "must be at least 6h")
	}
}

func (f *finisher) checkEncrypt() {
	key := string(f.draft.Gossip.EncryptKey)
	if key == "" {
		return
	}
	raw, err := base64.StdEncoding.DecodeString(key)
	if n := len(raw); err != nil || n != 16 && n != 24 && n != 32 {
		f.bad("encrypt", "want 16, 24 or 32 bytes in base64")
	}
}

// choices are the keys with a closed set of values.
func (f *finisher) checkChoices() {
	c := &f.draft.Config
	for _, k := range []struct {
		key, value string
		allowed    []string
	}{
		{"log_level", c.Log.Level, []string{"trace", "debug", "info", "warn", "error"}},
		{"acl.default_policy", c.ACL.DefaultPolicy, []string{"allow", "deny"}},
		{"acl.down_policy", c.ACL.DownPolicy, []string{"allow", "deny", "extend-cache", "async-cache"}},
		{"default_intention_policy", c.ACL.IntentionPolicy, []string{"", "allow", "deny"}},
		{"dns_config.recursor_strategy", c.DNS.RecursorStrategy, []string{"sequential", "random"}},
		{"dns_config.srv_order", c.DNS.SRVOrder, []string{"shuffle", "stable"}},
		{"dns_config.srv_target", c.DNS.SRVTarget, []string{"address", "instance"}},
		{"limits.request_limits.mode", c.Limits.RequestMode, []string{"disabled", "permissive", "enforcing"}},
		{"connect.ca_config.private_key_type", c.Connect.PrivateKeyType, []string{"ec", "rsa"}},
		{"tls.https.tls_min_version", c.TLS.HTTPS.MinVersion, tlsVersions},
		{"tls.grpc.tls_min_version", c.TLS.GRPC.MinVersion, tlsVersions},
		{"tls.internal_rpc.tls_min_version", c.TLS.InternalRPC.MinVersion, tlsVersions},
	} {
		if !slices.Contains(k.allowed, k.value) {
			f.bad(k.key, "%q: want one of %s", k.value, strings.Join(k.allowed, ", "))
		}
	}
	if c.Connect.CAProvider != "consul" {
		f.bad("connect.ca_provider", "%q: only the built-in provider \"consul\" is supported", c.Connect.CAProvider)
	}
	if id := c.Connect.ClusterID; id != "" {
		if _, err := uuid.Parse(id); err != nil {
			f.bad("connect.ca_config.cluster_id", "%q is not a UUID", id)
		}
	}
}

var tlsVersions = []string{"", "TLS_AUTO", "TLSv1_0", "TLSv1_1", "TLSv1_2", "TLSv1_3", "tls10", "tls11", "tls12", "tls13"}

// checkRanges bounds numbers and durations.
func (f *finisher) checkRanges() {
	c := &f.draft.Config
	for _, k := range []struct {
		key           string
		value, lo, hi int
	}{
		{"performance.raft_multiplier", c.Raft.Multiplier, 1, 10},
		{"raft_protocol", c.Raft.Protocol, 3, 3},
		{"dns_config.a_record_limit", c.DNS.ARecordLimit, 0, 1 << 16},
		{"dns_config.udp_answer_limit", c.DNS.UDPAnswerLimit, 0, 1 << 16},
		{"dns_config.rate_limit.responses_per_second", c.DNS.RateLimit.PerSecond, 0, 1 << 30},
		{"dns_config.rate_limit.burst", c.DNS.RateLimit.Burst, 0, 1 << 30},
		{"dns_config.rate_limit.slip", c.DNS.RateLimit.Slip, 0, 1 << 30},
		{"dns_config.rate_limit.ipv4_prefix_length", c.DNS.RateLimit.IPv4Bits, 1, 32},
		{"dns_config.rate_limit.ipv6_prefix_length", c.DNS.RateLimit.IPv6Bits, 1, 128},
		{"check_output_max_size", c.Checks.OutputMaxSize, 1, 1 << 30},
		{"limits.kv_max_value_size", c.Limits.KVMaxValueSize, 1, 1 << 30},
		{"kv_history.revisions", c.History.Revisions, 0, 1000},
		{"limits.txn_max_req_len", c.Limits.TxnMaxReqLen, 1, 1 << 30},
		{"limits.txn_max_ops", c.Limits.TxnMaxOps, 1, 1 << 20},
		{"limits.http_max_conns_per_client", c.Limits.HTTPConnsPerClient, 0, 1 << 30},
		{"limits.rpc_max_conns_per_client", c.Limits.RPCConnsPerClient, 0, 1 << 30},
		{"dns_config.soa.min_ttl", c.DNS.SOA.MinTTL, 0, 1<<31 - 1},
		{"dns_config.soa.refresh", c.DNS.SOA.Refresh, 0, 1<<31 - 1},
		{"dns_config.soa.retry", c.DNS.SOA.Retry, 0, 1<<31 - 1},
		{"dns_config.soa.expire", c.DNS.SOA.Expire, 0, 1<<31 - 1},
		{"retry_max", c.Join.RetryMaxLAN, 0, 1 << 30},
		{"retry_max_wan", c.Join.RetryMaxWAN, 0, 1 << 30},
		{"raft_snapshot_threshold", c.Raft.SnapshotThreshold, 0, 1 << 30},
		{"raft_trailing_logs", c.Raft.TrailingLogs, 0, 1 << 30},
	} {
		if k.value < k.lo || k.value > k.hi {
			f.bad(k.key, "%d: want %d to %d", k.value, k.lo, k.hi)
		}
	}
	for _, k := range []struct {
		key   string
		value time.Duration
		min   time.Duration
	}{
		{"default_query_time", c.Queries.DefaultTime, time.Millisecond},
		{"max_query_time", c.Queries.MaxTime, time.Millisecond},
		{"session_ttl_min", c.Queries.SessionTTLMin, time.Millisecond},
		{"retry_interval", c.Join.RetryIntervalLAN, time.Millisecond},
		{"retry_interval_wan", c.Join.RetryIntervalWAN, time.Millisecond},
		{"dns_config.recursor_timeout", c.DNS.RecursorTimeout, time.Millisecond},
		{"limits.https_handshake_timeout", c.Limits.HTTPSHandshakeTimeout, time.Millisecond},
		{"limits.rpc_handshake_timeout", c.Limits.RPCHandshakeTimeout, time.Millisecond},
		// Members that are forgotten sooner would come and go with the network.
		{"reconnect_timeout", c.Gossip.ReconnectTimeoutLAN, 8 * time.Hour},
		{"reconnect_timeout_wan", c.Gossip.ReconnectTimeoutWAN, 8 * time.Hour},
		{"check_update_interval", c.Checks.UpdateInterval, 0},
		{"dns_config.node_ttl", c.DNS.NodeTTL, 0},
		{"dns_config.max_stale", c.DNS.MaxStale, 0},
		{"discovery_max_stale", c.Queries.DiscoveryMaxStale, 0},
	} {
		if k.value < k.min {
			f.bad(k.key, "%s: must be at least %s", k.value, k.min)
		}
	}
	for _, k := range []struct {
		key  string
		size Size
	}{{"storage.quota", c.Storage.Quota}, {"storage.reserve", c.Storage.Reserve}, {"kv_history.max_bytes", c.History.MaxBytes}} {
		if _, err := k.size.Bytes(); err != nil {
			f.bad(k.key, "%v", err)
		}
	}
	for name, ttl := range c.DNS.ServiceTTL {
		if ttl < 0 {
			f.bad("dns_config.service_ttl", "%s: must not be negative", name)
		}
	}
	if c.Queries.DefaultTime > c.Queries.MaxTime && !f.isSet("default_query_time") {
		c.Queries.DefaultTime = c.Queries.MaxTime
	}
	if c.Queries.DefaultTime > c.Queries.MaxTime {
		f.bad("default_query_time", "%s is longer than max_query_time %s", c.Queries.DefaultTime, c.Queries.MaxTime)
	}
}
