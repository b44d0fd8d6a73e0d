server = true
data_dir = "/tmp/x"
bind_addr = "127.0.0.1"
ports {
  http = 9000
  dns = 9000
  serf_lan = 8300
  grpc = 70000
  sidecar_min_port = 22000
}
