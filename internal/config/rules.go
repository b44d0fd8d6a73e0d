package config

// verdict is what happens to a key that sets nothing.
type verdict uint8

const (
	ignored verdict = iota // accepted silently: it can't make a difference here
	warned                 // accepted with a warning: harmless without it
	refused                // an error unless the value asks for nothing
	pending                // it sets a field that no part of this version reads yet
)

type rule struct {
	verdict verdict
	why     string
}

// reason is why a pending key has no effect.
func (r rule) reason() string {
	if r.why == "" {
		return notYet
	}
	return r.why
}

const (
	enterprise = "an enterprise feature of Consul, which Muster does not have; remove the key"
	circonus   = "Muster sends no metrics to Circonus; remove the key"
	notYet     = "not supported by this version of Muster yet"
	noSyslog   = "Muster does not log to syslog: let the system's journal take standard output, or set log_file"
	noTLS      = "TLS is " + notYet
	noXDS      = "xDS is " + notYet
	oneDC      = "this version serves one datacenter"
	scrape     = "scrape /v1/agent/metrics?format=prometheus"
	noCache    = "Muster has no such cache: lookups are answered from the state itself"
)

// rules has the known keys that set nothing, or nothing yet. A rule for an object
// covers all keys below it.
var rules = map[string]rule{
	// Written by test harnesses and tools; no effect in Consul either.
	"version":                     {ignored, ""},
	"version_prerelease":          {ignored, ""},
	"version_metadata":            {ignored, ""},
	"revision":                    {ignored, ""},
	"build_date":                  {ignored, ""},
	"disable_update_check":        {ignored, ""}, // Muster never calls home
	"disable_anonymous_signature": {ignored, ""},
	"reporting":                   {ignored, ""},
	"protocol":                    {ignored, ""},
	"reap":                        {ignored, ""},
	"experiments":                 {warned, "experiments of Consul have no effect"},

	// Tuning of mechanisms that Muster solves in another way.
	"raft_boltdb":   {warned, "Muster chooses its log store itself"},
	"raft_logstore": {warned, "Muster chooses its log store itself"},
	"telemetry.disable_per_tenancy_usage_metrics": {ignored, ""},
	"telemetry.disable_compat_1.9":                {ignored, ""},
	"sync_coordinate_interval_min":                {warned, "the interval is fixed"},
	"sync_coordinate_rate_target":                 {warned, "the rate is fixed"},
	"ports.proxy_min_port":                        {ignored, ""}, // of managed proxies, gone since Consul 1.6
	"ports.proxy_max_port":                        {ignored, ""},
	"connect.test_ca_leaf_root_change_spread":     {ignored, ""},
	"connect.enable_serverless_plugin":            {warned, "Muster has no serverless plugin"},
	"peering.test_allow_peer_registrations":       {ignored, ""},
	"tls_prefer_server_cipher_suites":             {warned, "Go chooses the order of cipher suites"},

	// Things Muster does not do at all.
	"auto_config":                             {refused, notYet + "; give the settings in files"},
	"cloud":                                   {refused, "Muster does not connect to HCP; remove the key"},
	"connect.ca_config.address":               {refused, "only the built-in CA is supported"},
	"connect.ca_config.token":                 {refused, "only the built-in CA is supported"},
	"connect.ca_config.root_pki_path":         {refused, "only the built-in CA is supported"},
	"connect.ca_config.intermediate_pki_path": {refused, "only the built-in CA is supported"},
	"connect.ca_config.auth_method":           {refused, "only the built-in CA is supported"},
	"connect.ca_config.existing_arn":          {refused, "only the built-in CA is supported"},
	"raft_protocol_version":                   {refused, "the key is raft_protocol"},

	// Enterprise.
	"audit":                               {refused, enterprise},
	"partition":                           {refused, enterprise},
	"namespace":                           {refused, enterprise},
	"segment":                             {refused, enterprise},
	"segments":                            {refused, enterprise},
	"license_path":                        {refused, enterprise},
	"acl.msp_disable_bootstrap":           {refused, enterprise},
	"acl.tokens.managed_service_provider": {refused, enterprise},
	"autopilot.redundancy_zone_tag":       {refused, enterprise},
	"autopilot.upgrade_version_tag":       {refused, enterprise},
	"autopilot.disable_upgrade_migration": {refused, enterprise},
	"dns_config.prefer_namespace":         {refused, enterprise},

	"telemetry.circonus_api_app":                       {refused, circonus},
	"telemetry.circonus_api_token":                     {refused, circonus},
	"telemetry.circonus_api_url":                       {refused, circonus},
	"telemetry.circonus_broker_id":                     {refused, circonus},
	"telemetry.circonus_broker_select_tag":             {refused, circonus},
	"telemetry.circonus_check_display_name":            {refused, circonus},
	"telemetry.circonus_check_force_metric_activation": {refused, circonus},
	"telemetry.circonus_check_id":                      {refused, circonus},
	"telemetry.circonus_check_instance_id":             {refused, circonus},
	"telemetry.circonus_check_search_tag":              {refused, circonus},
	"telemetry.circonus_check_tags":                    {refused, circonus},
	"telemetry.circonus_submission_interval":           {refused, circonus},
	"telemetry.circonus_submission_url":                {refused, circonus},

	// Where Muster has something better.
	"enable_syslog":   {refused, noSyslog},
	"syslog_facility": {ignored, ""}, // without enable_syslog it has no effect in Consul either

	// Parsed and checked, but no part reads them yet; a test compares this list with
	// the readers in package agent. Whoever builds the part removes the row. A row with
	// a reason may also stand where the part is only begun.
	"acl":                                        {pending, "this version does not enforce ACLs: every request is allowed"},
	"default_intention_policy":                   {pending, ""},
	"auto_encrypt":                               {pending, noTLS},
	"tls":                                        {pending, noTLS},
	"ca_file":                                    {pending, noTLS},
	"ca_path":                                    {pending, noTLS},
	"cert_file":                                  {pending, noTLS},
	"key_file":                                   {pending, noTLS},
	"server_name":                                {pending, noTLS},
	"tls_cipher_suites":                          {pending, noTLS},
	"tls_min_version":                            {pending, noTLS},
	"use_auto_cert":                              {pending, noTLS},
	"verify_incoming":                            {pending, noTLS},
	"verify_incoming_https":                      {pending, noTLS},
	"verify_incoming_rpc":                        {pending, noTLS},
	"verify_outgoing":                            {pending, noTLS},
	"verify_server_hostname":                     {pending, noTLS},
	"enable_agent_tls_for_checks":                {pending, noTLS},
	"limits.https_handshake_timeout":             {pending, noTLS},
	"addresses.https":                            {pending, "HTTPS is " + notYet},
	"ports.https":                                {pending, "HTTPS is " + notYet},
	"addresses.grpc_tls":                         {pending, noTLS},
	"ports.grpc_tls":                             {pending, noTLS},
	"xds.update_max_per_second":                  {pending, noXDS},
	"ports.expose_min_port":                      {pending, noXDS},
	"ports.expose_max_port":                      {pending, noXDS},
	"connect.ca_config.private_key":              {pending, ""},
	"connect.ca_config.root_cert":                {pending, ""},
	"connect.ca_config.leaf_cert_ttl":            {pending, ""},
	"connect.ca_config.intermediate_cert_ttl":    {pending, ""},
	"connect.ca_config.root_cert_ttl":            {pending, ""},
	"connect.ca_config.private_key_type":         {pending, ""},
	"connect.ca_config.private_key_bits":         {pending, ""},
	"connect.ca_config.csr_max_per_second":       {pending, ""},
	"connect.ca_config.csr_max_concurrent":       {pending, ""},
	"connect.ca_config.rotation_period":          {pending, ""},
	"connect.enable_mesh_gateway_wan_federation": {pending, oneDC},
	"peering.enabled":                            {pending, oneDC},
	"config_entries":                             {pending, ""},
	"enable_central_service_config":              {pending, ""},
	"retry_join_wan":                             {pending, oneDC},
	"start_join_wan":                             {pending, oneDC},
	"primary_gateways":                           {pending, oneDC},
	"primary_gateways_interval":                  {pending, oneDC},
	"advertise_reconnect_timeout":                {pending, ""},
	"gossip_wan":                                 {pending, oneDC},
	"reconnect_timeout_wan":                      {pending, oneDC},
	"serf_lan_allowed_cidrs":                     {pending, "members are accepted from everywhere"},
	"serf_wan_allowed_cidrs":                     {pending, "members are accepted from everywhere"},
	"disable_coordinates":                        {pending, ""},
	"server_rejoin_age_max":                      {pending, ""},
	"performance.leave_drain_time":               {pending, ""},
	"raft_prevote_disabled":                      {pending, ""},
	"discard_check_output":                       {pending, ""},
	"disable_remote_exec":                        {pending, "Muster executes nothing on behalf of others"},
	"disable_http_unprintable_char_filter":       {pending, "unprintable characters are accepted"},
	"locality":                                   {pending, ""},
	"unix_sockets.user":                          {pending, ""},
	"unix_sockets.group":                         {pending, ""},
	"ui_config":                                  {pending, "the web interface is " + notYet},
	"telemetry.statsd_address":                   {pending, scrape},
	"telemetry.statsite_address":                 {pending, scrape},
	"telemetry.dogstatsd_addr":                   {pending, scrape},
	"telemetry.dogstatsd_tags":                   {pending, scrape},
	"telemetry.retry_failed_connection":          {pending, scrape},
	"telemetry.prometheus_retention_time":        {pending, "metrics are kept as long as the agent runs"},
	"telemetry.enable_host_metrics":              {pending, ""},
	"telemetry.filter_default":                   {pending, "no metric is left out"},
	"telemetry.prefix_filter":                    {pending, "no metric is left out"},
	"http_config.use_cache":                      {pending, noCache},
	"dns_config.use_cache":                       {pending, noCache},
	"dns_config.cache_max_age":                   {pending, noCache},
	"cache":                                      {pending, noCache},
	"use_streaming_backend":                      {pending, noCache},
	"rpc.enable_streaming":                       {pending, noCache},
	"discovery_max_stale":                        {pending, ""},
}

// oldNames maps deprecated keys to today's.
var oldNames = map[string]string{
	"acl.tokens.master":          "acl.tokens.initial_management",
	"acl.tokens.agent_master":    "acl.tokens.agent_recovery",
	"acl_master_token":           "acl.tokens.initial_management",
	"acl_agent_master_token":     "acl.tokens.agent_recovery",
	"acl_agent_token":            "acl.tokens.agent",
	"acl_token":                  "acl.tokens.default",
	"acl_replication_token":      "acl.tokens.replication",
	"acl_datacenter":             "primary_datacenter",
	"acl_default_policy":         "acl.default_policy",
	"acl_down_policy":            "acl.down_policy",
	"acl_ttl":                    "acl.token_ttl",
	"acl_enable_key_list_policy": "acl.enable_key_list_policy",
	"enable_acl_replication":     "acl.enable_token_replication",
	"non_voting_server":          "read_replica",
	"ui":                         "ui_config.enabled",
	"ui_dir":                     "ui_config.dir",
	"ui_content_path":            "ui_config.content_path",
	"ui_metrics_provider":        "ui_config.metrics_provider",
	"recursor":                   "recursors",
	"serf_lan_bind":              "serf_lan",
	"serf_wan_bind":              "serf_wan",
	"telemetry.statsd_addr":      "telemetry.statsd_address",
	"telemetry.statsite_addr":    "telemetry.statsite_address",
}
