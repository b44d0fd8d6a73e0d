package agent

import (
	"cmp"
	"context"
	"slices"

	"github.com/muster-discovery/muster/internal/apply"
	"github.com/muster-discovery/muster/internal/consensus"
	"github.com/muster-discovery/muster/internal/httpapi"
	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/wire"
)

// operator is what operators do to the servers, as HTTP has it.
type operator struct{ s *server }

var _ httpapi.Operator = operator{}

// Autopilot implements httpapi.Operator.
func (o operator) Autopilot(stale bool) (*model.Autopilot, error) {
	if !stale {
		if err := o.s.raft.RequireLeader(); err != nil {
			return nil, err
		}
	}
	c := o.s.store.Snapshot().Autopilot()
	if c == nil {
		return nil, model.Errorf(model.KindUnavailable, "there is no autopilot configuration until a leader has begun")
	}
	return c, nil
}

// SetAutopilot implements httpapi.Operator.
func (o operator) SetAutopilot(ctx context.Context, c apply.Caller, set *model.AutopilotSet) error {
	return o.s.apply.SetAutopilot(ctx, c, set)
}

// AutopilotHealth implements httpapi.Operator.
func (o operator) AutopilotHealth() (*wire.AutopilotHealth, error) {
	state, err := o.s.pilot.State()
	if err != nil {
		return nil, err
	}
	h := &wire.AutopilotHealth{Healthy: state.Healthy, FailureTolerance: state.FailureTolerance, Servers: []wire.ServerHealth{}}
	for _, s := range state.Servers {
		h.Servers = append(h.Servers, wire.ServerHealth{
			ID: s.ID, Name: s.Name, Address: s.Addr, SerfStatus: string(s.Status), Version: s.Version,
			Leader: s.ID == state.Leader, LastContact: wire.ReadableDuration(s.LastContact),
			LastTerm: s.LastTerm, LastIndex: s.LastIndex, Healthy: s.Healthy, Voter: s.Voter(),
			StableSince: s.StableSince.UTC(),
		})
	}
	slices.SortFunc(h.Servers, func(a, b wire.ServerHealth) int { return cmp.Compare(a.ID, b.ID) })
	return h, nil
}

// AutopilotState implements httpapi.Operator.
func (o operator) AutopilotState() (*wire.AutopilotState, error) {
	state, err := o.s.pilot.State()
	if err != nil {
		return nil, err
	}
	w := &wire.AutopilotState{
		Healthy: state.Healthy, FailureTolerance: state.FailureTolerance, OptimisticFailureTolerance: state.FailureTolerance,
		Servers: make(map[string]wire.AutopilotServer), Leader: state.Leader, Voters: state.Voters,
	}
	for id, s := range state.Servers {
		w.Servers[id] = autopilotServer(&s)
		if s.Replica {
			w.ReadReplicas = append(w.ReadReplicas, id)
		}
	}
	slices.Sort(w.ReadReplicas)
	return w, nil
}

// progress is the last index of a server's log as the leader knows it.
func (s *server) progress(id string) (index uint64, ok bool) {
	state, err := s.pilot.State()
	if err != nil {
		return 0, false
	}
	h, ok := state.Servers[id]
	return h.LastIndex, ok
}

func autopilotServer(s *consensus.ServerHealth) wire.AutopilotServer {
	kind := "voter"
	if s.Replica {
		kind = "read-replica"
	}
	return wire.AutopilotServer{
		ID: s.ID, Name: s.Name, Address: s.Addr, NodeStatus: string(s.Status), Version: s.Version,
		LastContact: wire.ReadableDuration(s.LastContact), LastTerm: s.LastTerm, LastIndex: s.LastIndex,
		Healthy: s.Healthy, StableSince: s.StableSince.UTC(), ReadReplica: s.Replica, Status: s.Role,
		Meta: s.Meta, NodeType: kind,
	}
}

// Usage implements httpapi.Operator.
func (o operator) Usage() wire.ServiceUsage {
	u, state := wire.NewServiceUsage(), o.s.store.Snapshot()
	u.Nodes = len(state.Nodes())
	for _, service := range state.Services() {
		u.Services++
		for _, i := range state.Instances(service.Name) {
			u.Add(i.Service)
		}
	}
	return u
}

// RemovePeer implements httpapi.Operator.
func (o operator) RemovePeer(id, address string) error {
	if err := o.s.raft.RequireLeader(); err != nil {
		return err
	}
	for _, p := range o.s.raft.Servers() {
		if p.ID == id || address != "" && p.Addr == address {
			o.s.log.Warn("removing a server by order of an operator", "id", p.ID, "addr", p.Addr)
			return o.s.raft.RemoveServer(p.ID)
		}
	}
	if id != "" {
		return model.Errorf(model.KindInvalid, "id %q was not found in the Raft configuration", id)
	}
	return model.Errorf(model.KindInvalid, "address %q was not found in the Raft configuration", address)
}

// TransferLeadership implements httpapi.Operator.
func (o operator) TransferLeadership(id string) error {
	if err := o.s.raft.RequireLeader(); err != nil {
		return err
	}
	o.s.log.Info("handing over leadership by order of an operator", "id", id)
	if id == "" {
		return o.s.raft.TransferLeadership()
	}
	return o.s.raft.TransferLeadershipTo(id)
}
