data_dir = "/tmp/x"
bind_addr = "127.0.0.1"
service {
  name = "web"
  prot = 80
  check { ttl = "10" }
  meta { a = 1 }
  namespace = "team"
  proxy { upstreams { destination_name = "db" local_bind_prt = 1 } }
}
check {
  name = "x"
  script = "/bin/true"
  intervall = "1s"
}
services = [
  { id = "a", name = "a" },
  { id = "a", name = "b" },
  { id = "c", port = "80" },
]
