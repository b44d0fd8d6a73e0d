package agent

import (
	"fmt"
	"maps"
	"net"
	"net/netip"
	"strconv"

	"github.com/muster-discovery/muster/internal/check"
	"github.com/muster-discovery/muster/internal/config"
	"github.com/muster-discovery/muster/internal/dnsapi"
	"github.com/muster-discovery/muster/internal/httpapi"
	"github.com/muster-discovery/muster/internal/local"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/telemetry"
	"github.com/muster-discovery/muster/internal/version"
)

// This file alone translates the file format's settings into the parts' own.

func localConfig(cfg *config.Config, nodeID string, tel *telemetry.Telemetry) local.Config {
	c := local.DefaultConfig()
	c.Node = ownNode(cfg, nodeID)
	c.CheckUpdateInterval = cfg.Checks.UpdateInterval
	c.SidecarMinPort, c.SidecarMaxPort = cfg.Ports.SidecarMin, cfg.Ports.SidecarMax
	c.Transport = &check.Env{MaxOutput: cfg.Checks.OutputMaxSize}
	c.Scripts = scripts(cfg)
	c.Logger, c.Registry = tel.Logger("local"), tel.Registry()
	return c
}

func scripts(cfg *config.Config) local.Scripts {
	switch {
	case cfg.Checks.ScriptsAnywhere:
		return local.ScriptsFromAnywhere
	case cfg.Checks.ScriptsLocal:
		return local.ScriptsFromFiles
	}
	return local.ScriptsOff
}

// ownNode is this agent's node as the catalog shows it.
func ownNode(cfg *config.Config, nodeID string) model.Node {
	meta := map[string]string{"consul-network-segment": "", "consul-version": version.API}
	maps.Copy(meta, cfg.Node.Meta)
	return model.Node{
		ID: nodeID, Name: cfg.Node.Name, Address: cfg.Advertise.LAN, Datacenter: cfg.Node.Datacenter,
		TaggedAddresses: maps.Clone(cfg.Advertise.Tagged), Meta: meta,
	}
}

func dnsConfig(cfg *config.Config, tel *telemetry.Telemetry) dnsapi.Config {
	c := dnsapi.DefaultConfig()
	c.Domain, c.AltDomain = cfg.DNS.Domain, cfg.DNS.AltDomain
	c.Datacenter, c.Node = cfg.Node.Datacenter, cfg.Node.Name
	for _, e := range cfg.Listen.DNS {
		c.Addrs = append(c.Addrs, e.Address)
	}
	c.Settings = dnsSettings(cfg)
	c.Logger, c.Registry = tel.Logger("dns"), tel.Registry()
	return c
}

func dnsSettings(cfg *config.Config) dnsapi.Settings {
	s := dnsapi.DefaultSettings()
	d := cfg.DNS
	s.AllowStale, s.MaxStale = d.AllowStale, d.MaxStale
	s.NodeTTL, s.ServiceTTL = d.NodeTTL, d.ServiceTTL
	s.OnlyPassing, s.EnableTruncate, s.DisableCompression = d.OnlyPassing, d.EnableTruncate, d.DisableCompression
	s.NodeMetaTXT = d.NodeMetaTXT
	s.UDPAnswerLimit, s.ARecordLimit = d.UDPAnswerLimit, d.ARecordLimit
	s.SOA = dnsapi.SOA{
		Refresh: uint32(d.SOA.Refresh), Retry: uint32(d.SOA.Retry),
		Expire: uint32(d.SOA.Expire), MinTTL: uint32(d.SOA.MinTTL),
	}
	s.SRVStable, s.SRVInstance = d.SRVOrder == "stable", d.SRVTarget == "instance"
	s.RateLimit = dnsapi.RateLimit{
		PerSecond: d.RateLimit.PerSecond, Burst: d.RateLimit.Burst, Slip: d.RateLimit.Slip,
		IPv4Bits: d.RateLimit.IPv4Bits, IPv6Bits: d.RateLimit.IPv6Bits,
	}
	exempt := d.RateLimit.Exempt
	if len(exempt) == 0 {
		exempt = []string{"127.0.0.0/8", "::1/128"} // forwarders on this host ask for everyone on it
	}
	for _, text := range exempt {
		if p, err := netip.ParsePrefix(text); err == nil { // config has checked them
			s.RateLimit.Exempt = append(s.RateLimit.Exempt, p.Masked())
		}
	}
	s.Recursors, s.RecursorTimeout = d.Recursors, d.RecursorTimeout
	s.RecursorsRandom = d.RecursorStrategy == "random"
	s.Token = string(cfg.ACL.Tokens.DNS)
	return s
}

func httpConfig(cfg *config.Config, tel *telemetry.Telemetry) (httpapi.Config, error) {
	c := httpapi.DefaultConfig()
	c.Logger = tel.Logger("http")
	c.Datacenter = cfg.Node.Datacenter
	c.ConnectDisabled = !cfg.Connect.Enabled
	c.EnableDebug = cfg.Lifecycle.EnableDebug
	c.TranslateWANAddrs = cfg.Addresses.TranslateWAN
	c.ResponseHeaders = cfg.HTTP.ResponseHeaders
	c.BlockEndpoints = cfg.HTTP.BlockEndpoints
	c.MaxWait = cfg.Queries.MaxTime
	c.Node = cfg.Node.Name
	c.MaxValue, c.MaxTxnBody = int64(cfg.Limits.KVMaxValueSize), int64(cfg.Limits.TxnMaxReqLen)
	c.MaxTxnOps = cfg.Limits.TxnMaxOps
	for _, text := range cfg.HTTP.AllowWriteFrom {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return c, fmt.Errorf("http_config.allow_write_http_from: %q is not a network such as 10.0.0.0/8", text)
		}
		c.AllowWriteFrom = append(c.AllowWriteFrom, p)
	}
	return c, nil
}

func hostPort(host string, port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }

// host is an address without its port.
func host(addr string) string {
	h, _, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	return h
}

// build is the version as members announce it.
func build() string {
	if r := version.Info().Revision; r != "" {
		return version.API + ":" + r
	}
	return version.API
}
