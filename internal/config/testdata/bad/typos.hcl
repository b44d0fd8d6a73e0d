datacentre = "dc1"
dns_config {
  node_tll = "5s"
  soa { min_tl = 3 }
}
ports {
  htttp = 8500
}
wombat_factor = 7
