package discovery

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/muster-discovery/muster/internal/model"
	v1 "github.com/muster-discovery/muster/proto/muster/discovery/v1"
)

// Decode makes an instance of a message. What the message lacks is zero; node and
// service are never nil. It keeps the message's texts and bytes, so the message
// must not be changed afterwards.
func Decode(in *v1.Instance) *model.Instance {
	out := &model.Instance{Node: decodeNode(in.GetNode()), Service: decodeService(in.GetService())}
	if len(in.GetChecks()) > 0 {
		out.Checks = make([]*model.Check, len(in.GetChecks()))
		for k, c := range in.GetChecks() {
			out.Checks[k] = decodeCheck(c)
		}
	}
	return out
}

func decodeNode(n *v1.Node) *model.Node {
	return &model.Node{
		ID: n.GetId(), Name: n.GetName(), Address: n.GetAddress(), Datacenter: n.GetDatacenter(),
		TaggedAddresses: unpair(n.GetTaggedAddresses()), Meta: unpair(n.GetMeta()), Indexes: unindex(n.GetIndexes()),
	}
}

func decodeService(s *v1.Service) *model.Service {
	out := &model.Service{
		Node: s.GetNode(), ID: s.GetId(), Name: s.GetName(), Kind: s.GetKind(), Tags: unlist(s.GetTags()),
		Address: s.GetAddress(), Port: int(s.GetPort()), SocketPath: s.GetSocketPath(), Meta: unpair(s.GetMeta()),
		EnableTagOverride: s.GetEnableTagOverride(), Connect: model.Connect{Native: s.GetConnectNative()},
		PeerName: s.GetPeerName(), RegisteredAt: unstamp(s.GetRegisteredAt()), Indexes: unindex(s.GetIndexes()),
		Weights: model.Weights{Passing: int(s.GetWeights().GetPassing()), Warning: int(s.GetWeights().GetWarning())},
	}
	if t := s.GetTaggedAddresses(); t != nil {
		out.TaggedAddresses = make(map[string]model.ServiceAddress, len(t.GetPairs()))
		for k, a := range t.GetPairs() {
			out.TaggedAddresses[k] = model.ServiceAddress{Address: a.GetAddress(), Port: int(a.GetPort())}
		}
	}
	if p := s.GetProxy(); p != nil {
		out.Proxy = &model.Proxy{
			DestinationServiceName: p.GetDestinationServiceName(), DestinationServiceID: p.GetDestinationServiceId(),
			LocalServiceAddress: p.GetLocalServiceAddress(), LocalServicePort: int(p.GetLocalServicePort()), Raw: p.GetRaw(),
		}
	}
	if l := s.GetLocality(); l != nil {
		out.Locality = &model.Locality{Region: l.GetRegion(), Zone: l.GetZone()}
	}
	return out
}

func decodeCheck(c *v1.Check) *model.Check {
	return &model.Check{
		Node: c.GetNode(), ID: c.GetId(), Name: c.GetName(), Status: c.GetStatus(), Notes: c.GetNotes(),
		Output: c.GetOutput(), ServiceID: c.GetServiceId(), ServiceName: c.GetServiceName(),
		ServiceTags: unlist(c.GetServiceTags()), Type: c.GetType(), Interval: c.GetInterval(), Timeout: c.GetTimeout(),
		ExposedPort: int(c.GetExposedPort()), Definition: c.GetDefinition(),
		StatusSince: unstamp(c.GetStatusSince()), Indexes: unindex(c.GetIndexes()),
	}
}

func unpair(m *v1.Strings) map[string]string {
	if m == nil {
		return nil
	}
	if m.Pairs == nil {
		return map[string]string{}
	}
	return m.Pairs
}

func unlist(l *v1.List) []string {
	if l == nil {
		return nil
	}
	if l.Items == nil {
		return []string{}
	}
	return l.Items
}

func unstamp(t *timestamppb.Timestamp) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.AsTime()
}

func unindex(x *v1.Indexes) model.Indexes {
	return model.Indexes{Create: x.GetCreate(), Modify: x.GetModify()}
}
