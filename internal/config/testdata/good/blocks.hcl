# Pieces of one object, and services as blocks.
data_dir = "/tmp/x"
bind_addr = "127.0.0.1"
ports { http = 9000 }
ports { dns = 9001 }
Datacenter = "East"
domain = "Corp.Example"
retry_join = ["a", "b"]
retry_join = ["c"]
service {
  name = "web"
  port = 80
  tags = ["x", "y"]
  tagged_addresses { wan { address = "192.0.2.1" port = 8080 } }
  check { http = "http://localhost" interval = "10s" }
  connect { sidecar_service { proxy { upstreams { destination_name = "db" local_bind_port = 1 } upstreams { destination_name = "kv" local_bind_port = 2 config { a { b = 1 } } } } } }
}
service { id = "db-1" name = "db" checks = [{ ttl = "1h" }, { name = "t" tcp = "a:1" interval = "5s" }] }
check { id = "n" name = "node" ttl = "1h" status = "warning" }
connect { ca_config { LeafCertTTL = "24h" } }
tls { defaults { ca_file = "ca" verify_incoming = true } https { verify_incoming = false } }
