package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"runtime"
	"strconv"
	"time"

	"github.com/muster-discovery/muster/internal/gossip"
	"github.com/muster-discovery/muster/internal/httpapi"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/version"
	"github.com/muster-discovery/muster/internal/wire"
)

var _ httpapi.Agent = (*Agent)(nil)

// Leader implements httpapi.Agent.
func (a *Agent) Leader() string { return a.role.leaderAddr() }

// Peers implements httpapi.Agent.
func (a *Agent) Peers() []string { return a.role.peers() }

// RaftServers implements httpapi.Agent.
func (a *Agent) RaftServers() []wire.RaftServer { return a.role.raftServers() }

// Datacenters implements httpapi.Agent: the own one, until others can be reached.
func (a *Agent) Datacenters() []string { return []string{a.cfg.Node.Datacenter} }

// Members implements httpapi.Agent.
func (a *Agent) Members(wan bool) []*wire.Member {
	list := []*wire.Member{}
	for _, m := range a.node.pools.Members(wan) {
		list = append(list, wireMember(m))
	}
	return list
}

func wireMember(m gossip.Member) *wire.Member {
	return &wire.Member{
		Name: m.Name, Addr: m.Addr, Port: m.Port, Tags: m.Tags, Status: int(m.Status),
		ProtocolMin: m.ProtocolMin, ProtocolMax: m.ProtocolMax, ProtocolCur: m.ProtocolCur,
		DelegateMin: m.DelegateMin, DelegateMax: m.DelegateMax, DelegateCur: m.DelegateCur,
	}
}

// Join implements httpapi.Agent.
func (a *Agent) Join(_ context.Context, address string, wan bool) error {
	_, err := a.node.pools.Join([]string{address}, wan)
	return err
}

// Leave implements httpapi.Agent: the agent leaves the cluster, and ends once ctx
// has.
func (a *Agent) Leave(ctx context.Context) error {
	r := leaveRequest{result: make(chan error, 1), over: ctx.Done()}
	select {
	case a.leave <- r:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-r.result:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ForceLeave implements httpapi.Agent.
func (a *Agent) ForceLeave(_ context.Context, node string, prune, wan bool) error {
	for _, m := range a.node.pools.Members(wan) {
		if sameNode(m.Name, node) || sameNode(m.Name, node+"."+a.cfg.Node.Datacenter) {
			return a.node.pools.ForceLeave(node, prune)
		}
	}
	return model.Errorf(model.KindNotFound, "agent: No node found with name '%s'", node)
}

// Reload implements httpapi.Agent. What can't change while the agent runs keeps
// its old value until a restart.
func (a *Agent) Reload(ctx context.Context) error {
	if a.reload == nil {
		return errors.New("this agent was started without files to read again")
	}
	cfg, err := a.reload()
	if err != nil {
		return model.Errorf(model.KindInvalid, "reload the configuration: %v", err)
	}
	if err := a.tel.SetLevel(cfg.Log.Level); err != nil {
		return err
	}
	if a.dns != nil {
		a.dns.Reload(dnsSettings(cfg))
	}
	a.node.limits.Reload(limitConfig(cfg))
	a.local.SetNode(ownNode(cfg, a.nodeID))
	if err := a.local.SetFileDefinitions(ctx, cfg.Services, cfg.NodeChecks); err != nil {
		return fmt.Errorf("services and checks of the configuration: %w", err)
	}
	if err := a.applyWatches(cfg); err != nil {
		return err
	}
	a.log.Info("configuration reloaded")
	return nil
}

// Version implements httpapi.Agent.
func (a *Agent) Version() wire.AgentVersion {
	b := version.Info()
	return wire.AgentVersion{SHA: b.Revision, BuildDate: b.Date, HumanVersion: version.API, FIPS: ""}
}

// Metrics implements httpapi.Agent.
func (a *Agent) Metrics(context.Context) (any, error) {
	data, err := a.tel.JSON()
	return json.RawMessage(data), err
}

// WriteMetrics implements httpapi.Agent.
func (a *Agent) WriteMetrics(_ context.Context, w io.Writer) error { return a.tel.WriteProm(w) }

// Host implements httpapi.Agent.
func (a *Agent) Host(context.Context) (any, error) { return hostInfo() }

// Monitor implements httpapi.Agent.
func (a *Agent) Monitor(level slog.Level, json bool) (<-chan []byte, func()) {
	return a.tel.Tap(level, json)
}

// Self implements httpapi.Agent.
func (a *Agent) Self(context.Context) (*wire.AgentSelf, error) {
	b := version.Info()
	return &wire.AgentSelf{
		Config: wire.AgentConfig{
			Datacenter: a.cfg.Node.Datacenter, PrimaryDatacenter: a.cfg.Node.PrimaryDatacenter,
			NodeName: a.cfg.Node.Name, NodeID: a.nodeID, Revision: b.Revision,
			Server: a.cfg.Server.Enabled, Version: version.API, BuildDate: b.Date,
		},
		DebugConfig: a.debugConfig(),
		Member:      *wireMember(a.node.pools.LocalMember()),
		Stats:       a.stats(),
		Meta:        ownNode(a.cfg, a.nodeID).Meta,
		XDS: map[string]any{
			"SupportedProxies": map[string][]string{},
			"Ports":            map[string]int{"Plaintext": a.cfg.Ports.GRPC, "TLS": a.cfg.Ports.GRPCTLS},
		},
	}, nil
}

// stats are figures for people, under the names that they know.
func (a *Agent) stats() map[string]map[string]string {
	b := version.Info()
	itoa := strconv.Itoa
	stats := map[string]map[string]string{
		"agent": {
			"checks": itoa(len(a.local.Checks())), "services": itoa(len(a.local.Services())),
			"uptime": time.Since(a.start).Round(time.Second).String(),
		},
		"build":    {"version": version.API, "muster_version": version.Muster, "revision": b.Revision},
		"serf_lan": a.node.pools.Stats(false),
		"runtime": {
			"arch": runtime.GOARCH, "os": runtime.GOOS, "version": runtime.Version(),
			"cpu_count": itoa(runtime.NumCPU()), "max_procs": itoa(runtime.GOMAXPROCS(0)),
			"goroutines": itoa(runtime.NumGoroutine()),
		},
	}
	maps.Copy(stats, a.role.figures())
	stats["consul"]["known_datacenters"] = itoa(len(a.Datacenters()))
	return stats
}

// debugConfig is the part of the configuration that tools look at. Secrets are
// types of their own that print as redacted; none is listed here.
func (a *Agent) debugConfig() map[string]any {
	c := a.cfg
	return map[string]any{
		"ACLsEnabled": c.ACL.Enabled, "ACLDefaultPolicy": c.ACL.DefaultPolicy,
		"AdvertiseAddrLAN": c.Advertise.LAN, "AdvertiseAddrWAN": c.Advertise.WAN,
		"Bootstrap": c.Server.Bootstrap && !c.Dev, "BootstrapExpect": c.Server.BootstrapExpect,
		"CheckUpdateInterval": c.Checks.UpdateInterval.String(), "ConnectEnabled": c.Connect.Enabled,
		"DataDir": c.Storage.DataDir, "Datacenter": c.Node.Datacenter, "PrimaryDatacenter": c.Node.PrimaryDatacenter,
		"DevMode": c.Dev, "DNSDomain": c.DNS.Domain, "DNSAltDomain": c.DNS.AltDomain, "DNSPort": c.Ports.DNS,
		"DNSAllowStale": c.DNS.AllowStale, "DNSNodeTTL": c.DNS.NodeTTL.String(), "DNSOnlyPassing": c.DNS.OnlyPassing,
		"EnableDebug": c.Lifecycle.EnableDebug, "EncryptKey": hidden(c.Gossip.EncryptKey),
		"HTTPPort": c.Ports.HTTP, "HTTPSPort": c.Ports.HTTPS, "GRPCPort": c.Ports.GRPC, "GRPCTLSPort": c.Ports.GRPCTLS,
		"LeaveOnTerm": c.Lifecycle.LeaveOnTerminate, "SkipLeaveOnInt": c.Lifecycle.SkipLeaveOnInterrupt,
		"Logging": map[string]any{"LogLevel": c.Log.Level, "LogJSON": c.Log.JSON},
		"NodeID":  a.nodeID, "NodeMeta": c.Node.Meta, "NodeName": c.Node.Name,
		"RaftProtocol": 3, "RPCAdvertiseAddr": "tcp://" + serverAddr(c),
		"SerfAdvertiseAddrLAN": "tcp://" + hostPort(c.Advertise.LAN, c.Ports.SerfLAN),
		"SerfAdvertiseAddrWAN": "tcp://" + hostPort(c.Advertise.WAN, c.Ports.SerfWAN),
		"SerfPortLAN":          c.Ports.SerfLAN, "SerfPortWAN": c.Ports.SerfWAN, "ServerMode": c.Server.Enabled, "ServerPort": c.Ports.Server,
		"TaggedAddresses": c.Advertise.Tagged, "Version": version.API, "Revision": version.Info().Revision,
	}
}

// hidden tells whether a secret is set, and no more.
func hidden[T ~string](secret T) string {
	if secret == "" {
		return ""
	}
	return "hidden"
}
