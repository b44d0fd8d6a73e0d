package discovery

import (
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/muster-discovery/muster/internal/model"
	v1 "github.com/muster-discovery/muster/proto/muster/discovery/v1"
)

// Encode makes the message of an instance. Nothing of it is lost, also not whether
// a map is nil or empty, with these exceptions: texts that are not UTF-8 are
// mended as JSON's encoder does, so that answers made from either say the same, and
// an empty list of checks is a nil one afterwards.
func Encode(i *model.Instance) *v1.Instance {
	out := &v1.Instance{Node: encodeNode(i.Node), Service: encodeService(i.Service)}
	if len(i.Checks) > 0 {
		out.Checks = make([]*v1.Check, len(i.Checks))
		for k, c := range i.Checks {
			out.Checks[k] = encodeCheck(c)
		}
	}
	return out
}

func encodeNode(n *model.Node) *v1.Node {
	return &v1.Node{
		Id: Text(n.ID), Name: Text(n.Name), Address: Text(n.Address), Datacenter: Text(n.Datacenter),
		TaggedAddresses: pairs(n.TaggedAddresses), Meta: pairs(n.Meta), Indexes: indexes(n.Indexes),
	}
}

func encodeService(s *model.Service) *v1.Service {
	out := &v1.Service{
		Node: Text(s.Node), Id: Text(s.ID), Name: Text(s.Name), Kind: Text(s.Kind), Tags: list(s.Tags),
		Address: Text(s.Address), Port: int64(s.Port), SocketPath: Text(s.SocketPath), Meta: pairs(s.Meta),
		EnableTagOverride: s.EnableTagOverride, ConnectNative: s.Connect.Native, PeerName: Text(s.PeerName),
		RegisteredAt: stamp(s.RegisteredAt), Indexes: indexes(s.Indexes),
	}
	if s.Weights != (model.Weights{}) {
		out.Weights = &v1.Weights{Passing: int64(s.Weights.Passing), Warning: int64(s.Weights.Warning)}
	}
	if s.TaggedAddresses != nil {
		out.TaggedAddresses = &v1.TaggedAddresses{Pairs: make(map[string]*v1.ServiceAddress, len(s.TaggedAddresses))}
		for k, a := range s.TaggedAddresses {
			out.TaggedAddresses.Pairs[Text(k)] = &v1.ServiceAddress{Address: Text(a.Address), Port: int64(a.Port)}
		}
	}
	if p := s.Proxy; p != nil {
		out.Proxy = &v1.Proxy{
			DestinationServiceName: Text(p.DestinationServiceName), DestinationServiceId: Text(p.DestinationServiceID),
			LocalServiceAddress: Text(p.LocalServiceAddress), LocalServicePort: int64(p.LocalServicePort), Raw: p.Raw,
		}
	}
	if s.Locality != nil {
		out.Locality = &v1.Locality{Region: Text(s.Locality.Region), Zone: Text(s.Locality.Zone)}
	}
	return out
}

func encodeCheck(c *model.Check) *v1.Check {
	return &v1.Check{
		Node: Text(c.Node), Id: Text(c.ID), Name: Text(c.Name), Status: Text(c.Status), Notes: Text(c.Notes),
		Output: Text(c.Output), ServiceId: Text(c.ServiceID), ServiceName: Text(c.ServiceName),
		ServiceTags: list(c.ServiceTags), Type: Text(c.Type), Interval: Text(c.Interval), Timeout: Text(c.Timeout),
		ExposedPort: int64(c.ExposedPort), Definition: c.Definition,
		StatusSince: stamp(c.StatusSince), Indexes: indexes(c.Indexes),
	}
}

// Text mends what is not UTF-8, which protobuf refuses: each byte that does not
// belong becomes the replacement character.
func Text(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}

func pairs(m map[string]string) *v1.Strings {
	if m == nil {
		return nil
	}
	out := &v1.Strings{Pairs: make(map[string]string, len(m))}
	for k, v := range m {
		out.Pairs[Text(k)] = Text(v)
	}
	return out
}

func list(l []string) *v1.List {
	if l == nil {
		return nil
	}
	out := &v1.List{Items: make([]string, len(l))}
	for k, v := range l {
		out.Items[k] = Text(v)
	}
	return out
}

func stamp(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

func indexes(x model.Indexes) *v1.Indexes {
	if x == (model.Indexes{}) {
		return nil
	}
	return &v1.Indexes{Create: x.Create, Modify: x.Modify}
}
