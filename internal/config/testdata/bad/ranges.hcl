datacenter = "west coast"
node_name = "a b"
node_id = "7"
domain = "con sul"
data_dir = ""
bootstrap_expect = 3
log_level = "loud"
encrypt = "c2hvcnQ="
reconnect_timeout = "1h"
default_query_time = "20m"
recursors = ["dns.example"]
performance { raft_multiplier = 11 }
acl { default_policy = "maybe" }
connect { ca_provider = "vault" }
serf_lan_allowed_cidrs = ["10.0.0.0"]
node_meta { "consul-x" = "y" "a b" = "c" }
http_config { block_endpoints = ["v1"] }
