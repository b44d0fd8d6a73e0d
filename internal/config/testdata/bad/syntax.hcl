data_dir = "/tmp/x"
ports {
  http = 
}
