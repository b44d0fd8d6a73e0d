package leader

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/muster-discovery/muster/internal/gossip"
	"github.com/muster-discovery/muster/internal/model"
)

// Texts of the serfHealth check, as clients know them.
const (
	healthName   = "Serf Health Status"
	healthAlive  = "Agent alive and reachable"
	healthFailed = "Agent not live or unreachable"
)

// serverService is the name under which servers find themselves in the catalog.
const serverService = "consul"

// reconcile brings every member into the catalog and removes agents that gossip
// has forgotten. One member's failure does not keep the others waiting.
func (l *Leader) reconcile(ctx context.Context) error {
	// A restored snapshot may be of a time before there was one.
	faults := []error{l.ensureAutopilot(ctx)}
	known := make(map[string]bool)
	members := l.cfg.Members()
	contested := l.contested(members)
	for _, m := range members {
		known[strings.ToLower(m.Name)] = true
		if _, ok := contested[m.Name]; ok {
			continue
		}
		if err := l.reconcileMember(ctx, m); err != nil {
			faults = append(faults, fmt.Errorf("member %q: %w", m.Name, err))
		}
	}
	for _, n := range l.cfg.Catalog.Nodes() {
		if known[strings.ToLower(n.Name)] || !l.isAgent(n.Name) {
			continue
		}
		if err := l.remove(ctx, n.Name); err != nil {
			faults = append(faults, fmt.Errorf("forgotten node %q: %w", n.Name, err))
		}
	}
	return errors.Join(faults...)
}

// isAgent tells nodes that gossip put into the catalog from those that somebody
// registered from outside: only the former carry serfHealth.
func (l *Leader) isAgent(node string) bool {
	return l.health(node) != nil
}

func (l *Leader) health(node string) *model.Check {
	for _, c := range l.cfg.Catalog.NodeChecks(node) {
		if c.ID == model.CheckSerfHealth {
			return c
		}
	}
	return nil
}

func (l *Leader) reconcileMember(ctx context.Context, m gossip.Member) error {
	switch m.Status {
	case gossip.StatusAlive:
		return l.alive(ctx, m)
	case gossip.StatusFailed:
		return l.failed(ctx, m)
	case gossip.StatusLeft:
		if err := l.removeServer(m); err != nil {
			return err
		}
		return l.remove(ctx, m.Name)
	}
	return nil // leaving: its next state is left or failed
}

func (l *Leader) alive(ctx context.Context, m gossip.Member) error {
	if err := l.takeOver(ctx, m); err != nil {
		return err
	}
	if err := l.ensureServer(m); err != nil {
		return err
	}
	r := l.registration(m, model.StatusPassing, healthAlive)
	r.Service = serverInstance(m)
	if l.current(r) {
		return nil
	}
	l.cfg.Logger.Info("member joined, marking health alive", "node", m.Name)
	return l.cfg.Writer.Register(ctx, r)
}

func (l *Leader) failed(ctx context.Context, m gossip.Member) error {
	if l.cfg.Catalog.Node(m.Name) == nil {
		return nil
	}
	r := l.registration(m, model.StatusCritical, healthFailed)
	r.SkipNodeUpdate = true
	if l.current(r) {
		return nil
	}
	l.cfg.Logger.Info("member failed, marking health critical", "node", m.Name)
	return l.cfg.Writer.Register(ctx, r)
}

func (l *Leader) remove(ctx context.Context, node string) error {
	if l.isSelf(node) {
		// A leader that is on its way out still leads: whoever comes after it
		// removes it.
		return nil
	}
	if l.cfg.Catalog.Node(node) == nil {
		return nil
	}
	l.cfg.Logger.Info("deregistering member", "node", node)
	return l.cfg.Writer.Deregister(ctx, &model.Deregistration{Datacenter: l.cfg.Datacenter, Node: node})
}

func (l *Leader) isSelf(node string) bool { return strings.EqualFold(node, l.cfg.Self) }

func (l *Leader) registration(m gossip.Member, status, output string) *model.Registration {
	r := &model.Registration{
		Datacenter: l.cfg.Datacenter,
		Node:       model.Node{ID: m.Tags["id"], Name: m.Name, Address: m.Addr, Datacenter: l.cfg.Datacenter},
		Checks: []*model.Check{{
			Node: m.Name, ID: model.CheckSerfHealth, Name: healthName,
			Status: status, Output: output,
		}},
	}
	if n := l.cfg.Catalog.Node(m.Name); n != nil && n.ID == r.Node.ID && n.Address == r.Node.Address {
		// The agent itself adds tagged addresses and meta: leave them alone.
		r.SkipNodeUpdate = true
	}
	return r
}

// current tells whether the catalog already says what the registration would
// write, so that a reconciliation without news costs no write.
func (l *Leader) current(r *model.Registration) bool {
	if !r.SkipNodeUpdate {
		return false
	}
	want := r.Checks[0]
	have := l.health(r.Node.Name)
	if have == nil || have.Status != want.Status || have.Output != want.Output {
		return false
	}
	if r.Service == nil {
		return true
	}
	ns := l.cfg.Catalog.NodeServices(r.Node.Name)
	if ns == nil {
		return false
	}
	for _, s := range ns.Services {
		if s.ID == r.Service.ID {
			return s.Port == r.Service.Port && maps.Equal(s.Meta, r.Service.Meta)
		}
	}
	return false
}

// serverInstance is the instance of the servers' service that a member stands
// for; nil if it is not a server.
func serverInstance(m gossip.Member) *model.Service {
	if m.Tags["role"] != "consul" {
		return nil
	}
	port, err := strconv.Atoi(m.Tags["port"])
	if err != nil {
		return nil // gossip admits no server without its port; don't stop on one
	}
	version, _, _ := strings.Cut(m.Tags["build"], ":")
	nonvoter := strconv.FormatBool(m.Replica())
	meta := map[string]string{
		"non_voter":             nonvoter,
		"read_replica":          nonvoter,
		"raft_version":          m.Tags["raft_vsn"],
		"serf_protocol_current": strconv.Itoa(int(m.ProtocolCur)),
		"serf_protocol_min":     strconv.Itoa(int(m.ProtocolMin)),
		"serf_protocol_max":     strconv.Itoa(int(m.ProtocolMax)),
		"version":               version,
	}
	if p := m.Tags["grpc_port"]; p != "" {
		meta["grpc_port"] = p
	}
	if p := m.Tags["grpc_tls_port"]; p != "" {
		meta["grpc_tls_port"] = p
	}
	return &model.Service{
		Node: m.Name, ID: serverService, Name: serverService, Port: port,
		Tags: []string{}, Meta: meta, Weights: model.Weights{Passing: 1, Warning: 1},
	}
}
