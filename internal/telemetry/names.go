package telemetry

// Names that existing dashboards expect, made from our metrics. Only what has the
// same meaning is listed. A row without a metric behind it is left out of the
// answer until some part registers it.

type form uint8

const (
	asGauge form = iota
	asCounter
	asSample // a histogram of ours; Consul has milliseconds where we have seconds
)

type alias struct {
	ours   string
	theirs string // without the prefix and the host's name
	form   form
	scale  float64
	labels []string // of ours that are kept; series that differ in others are added up
}

const milliseconds = 1000

var aliases = []alias{
	{"go_memstats_alloc_bytes", "runtime.alloc_bytes", asGauge, 1, nil},
	{"go_memstats_sys_bytes", "runtime.sys_bytes", asGauge, 1, nil},
	{"go_memstats_heap_objects", "runtime.heap_objects", asGauge, 1, nil},
	{"go_memstats_mallocs_total", "runtime.malloc_count", asGauge, 1, nil},
	{"go_memstats_frees_total", "runtime.free_count", asGauge, 1, nil},
	{"go_goroutines", "runtime.num_goroutines", asGauge, 1, nil},
	{"go_gc_duration_seconds_sum", "runtime.total_gc_pause_ns", asGauge, 1e9, nil},
	{"go_gc_duration_seconds_count", "runtime.total_gc_runs", asGauge, 1, nil},

	{"muster_raft_commit_seconds", "raft.commitTime", asSample, milliseconds, nil},
	{"muster_raft_apply_seconds", "raft.fsm.apply", asSample, milliseconds, nil},
	{"muster_raft_append_seconds", "raft.boltdb.storeLogs", asSample, milliseconds, nil},
	{"muster_raft_append_bytes_total", "raft.wal.log_entry_bytes_written", asCounter, 1, nil},
	{"muster_limit_exceeded_total", "rpc.rate_limit.exceeded", asCounter, 1, nil},
	{"muster_raft_applied_total", "raft.apply", asCounter, 1, nil},
	{"muster_raft_leader", "server.isLeader", asGauge, 1, nil},
	{"muster_autopilot_healthy", "autopilot.healthy", asGauge, 1, nil},
	{"muster_autopilot_failure_tolerance", "autopilot.failure_tolerance", asGauge, 1, nil},
	{"muster_raft_leader_changes_total", "raft.state.leader", asCounter, 1, nil},
	{"muster_raft_candidacies_total", "raft.state.candidate", asCounter, 1, nil},
	{"muster_raft_last_contact_seconds", "raft.leader.lastContact", asSample, milliseconds, nil},
	{"muster_raft_last_index", "raft.lastIndex", asGauge, 1, nil},
	{"muster_raft_applied_index", "raft.appliedIndex", asGauge, 1, nil},
	{"muster_raft_peers", "raft.peers", asGauge, 1, nil},

	{"muster_gossip_events_total", "serf.events", asCounter, 1, nil},

	{"muster_rpc_calls_total", "rpc.request", asCounter, 1, nil},
	{"muster_rpc_connections_accepted_total", "rpc.accept_conn", asCounter, 1, nil},
	{"muster_lookup_waiters", "rpc.queries_blocking", asGauge, 1, nil},

	{"muster_http_request_seconds", "api.http", asSample, milliseconds, []string{"method", "route"}},
	{"muster_dns_answer_seconds", "dns.domain_query", asSample, milliseconds, nil},

	{"muster_catalog_nodes", "state.nodes", asGauge, 1, nil},
	{"muster_catalog_services", "state.services", asGauge, 1, nil},
	{"muster_catalog_instances", "state.service_instances", asGauge, 1, nil},
	{"muster_kv_entries", "state.kv_entries", asGauge, 1, nil},
	{"muster_ca_root_expiry_seconds", "mesh.active-root-ca.expiry", asGauge, 1, nil},
}

// naming makes Consul's full names.
type naming struct {
	prefix string
	host   string
}

// json is a dotted name. Consul puts the host's name into those of gauges, as each
// agent has its own value.
func (n naming) json(a alias) string {
	if a.form == asGauge && n.host != "" {
		return n.prefix + "." + n.host + "." + a.theirs
	}
	return n.prefix + "." + a.theirs
}

// prom is the name in the Prometheus form, where the scraper adds the host.
func (n naming) prom(a alias) string { return promName(n.prefix + "_" + a.theirs) }

func promName(s string) string {
	b := []byte(s)
	for i, c := range b {
		ok := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || i > 0 && c >= '0' && c <= '9'
		if !ok {
			b[i] = '_'
		}
	}
	return string(b)
}
