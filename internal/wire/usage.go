package wire

import "github.com/muster-discovery/muster/internal/model"

// Usage is how much is registered, by datacenter.
type Usage struct {
	Usage map[string]ServiceUsage
}

// ServiceUsage counts what is registered in a datacenter.
type ServiceUsage struct {
	Nodes            int
	Services         int
	ServiceInstances int
	// ConnectServiceInstances are those of the mesh, by kind.
	ConnectServiceInstances map[string]int
	// BillableServiceInstances keeps Consul's name: ordinary instances, without the
	// servers themselves.
	BillableServiceInstances int
}

// NewServiceUsage has a count for each kind.
func NewServiceUsage() ServiceUsage {
	return ServiceUsage{ConnectServiceInstances: map[string]int{
		model.KindAPIGateway: 0, "connect-native": 0, model.KindConnectProxy: 0,
		model.KindIngressGateway: 0, model.KindMeshGateway: 0, model.KindTerminatingGateway: 0,
	}}
}

// Add counts an instance.
func (u *ServiceUsage) Add(s *model.Service) {
	u.ServiceInstances++
	switch {
	case s.Kind != model.KindTypical:
		u.ConnectServiceInstances[s.Kind]++
		return
	case s.Connect.Native:
		u.ConnectServiceInstances["connect-native"]++
	}
	if s.Name != "consul" {
		u.BillableServiceInstances++
	}
}
