package config

import (
	"os"
	"reflect"
	"strings"
)

// finisher fills in what follows from other settings and validates the whole.
type finisher struct {
	*problems
	draft *draft
	set   map[string]Place
}

func (f *finisher) finish() {
	f.names()
	f.server()
	f.tls()
	f.addresses()
	f.validate()
}

// at is where a key was set, or the zero Place if it has its default.
func (f *finisher) at(key string) Place { return f.set[key] }

func (f *finisher) isSet(key string) bool {
	_, ok := f.set[key]
	return ok
}

func (f *finisher) names() {
	c := &f.draft.Config
	if c.Node.Name == "" && !f.isSet("node_name") {
		name, err := os.Hostname()
		if err != nil {
			f.errorf(Place{}, "node_name", "the host has no name (%v); set node_name", err)
		}
		c.Node.Name = name
	}
	c.Node.ID = strings.ToLower(c.Node.ID)
	c.Node.Datacenter = strings.ToLower(c.Node.Datacenter)
	c.Node.PrimaryDatacenter = strings.ToLower(c.Node.PrimaryDatacenter)
	if c.Node.PrimaryDatacenter == "" {
		c.Node.PrimaryDatacenter = c.Node.Datacenter
	}
	c.DNS.Domain = domain(c.DNS.Domain)
	c.DNS.AltDomain = domain(c.DNS.AltDomain)
	c.Log.Level = strings.ToLower(c.Log.Level)
	switch c.Log.Level {
	case "err":
		c.Log.Level = "error"
	case "warning":
		c.Log.Level = "warn"
	}
	c.HTTP.RemoteExec = f.isSet("disable_remote_exec") && !f.draft.DisableRemoteExec
}

// domain is a domain in the form that the rest of Muster works with.
func domain(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToLower(strings.TrimSuffix(s, ".")) + "."
}

func (f *finisher) server() {
	c := &f.draft.Config
	server := c.Server.Enabled
	// A server that goes away comes back as the same voter; a client's services
	// are gone with it.
	if !f.isSet("leave_on_terminate") {
		c.Lifecycle.LeaveOnTerminate = !server
	}
	if !f.isSet("skip_leave_on_interrupt") {
		c.Lifecycle.SkipLeaveOnInterrupt = server
	}
	if server && !f.isSet("ports.grpc_tls") {
		c.Ports.GRPCTLS = 8503
	}
	if c.Dev {
		if c.Storage.DataDir != "" {
			f.warnf(f.at("data_dir"), "data_dir", "no effect: agent -dev keeps everything in memory")
			c.Storage.DataDir = ""
		}
		if !f.isSet("bootstrap") {
			c.Server.Bootstrap = server && c.Server.BootstrapExpect == 0
		}
	}
	if c.Server.BootstrapExpect == 1 && !f.isSet("bootstrap") { // one server, no one to wait for
		c.Server.Bootstrap, c.Server.BootstrapExpect = true, 0
	}
}

// tls mixes tls.defaults, and below it the old top-level keys, into each protocol.
func (f *finisher) tls() {
	d := f.draft
	for _, p := range []struct {
		key string
		to  *TLSProtocol
	}{{"https", &d.TLS.HTTPS}, {"grpc", &d.TLS.GRPC}, {"internal_rpc", &d.TLS.InternalRPC}} {
		to := reflect.ValueOf(p.to).Elem()
		for i := range to.NumField() {
			name := to.Type().Field(i).Tag.Get("key")
			switch {
			case f.isSet("tls." + p.key + "." + name):
			case f.isSet("tls.defaults." + name):
				to.Field(i).Set(reflect.ValueOf(d.TLSDefaults).Field(i))
			default:
				to.Field(i).Set(reflect.ValueOf(d.OldTLS).Field(i))
			}
		}
	}
	if f.isSet("verify_incoming_https") {
		d.TLS.HTTPS.VerifyIncoming = d.VerifyIncomingHTTPS
	}
	if f.isSet("verify_incoming_rpc") {
		d.TLS.InternalRPC.VerifyIncoming = d.VerifyIncomingRPC
	}
}
