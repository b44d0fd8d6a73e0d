package local

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/muster-discovery/muster/internal/model"
)

// minReapAfter is the shortest documented time after which a critical check
// removes its service; shorter ones are raised to it.
const minReapAfter = time.Minute

// completeService fills in what a definition leaves to the agent and returns a
// copy. A sidecar is completed later, since its port depends on the others.
func completeService(def *model.ServiceDefinition) (*model.ServiceDefinition, error) {
	out := *def
	s := &out.Service
	if s.Name == "" {
		return nil, &model.Error{Kind: model.KindInvalid, Field: "Name", Text: "Missing service name"}
	}
	if s.ID == "" {
		s.ID = s.Name
	}
	if s.Weights == (model.Weights{}) {
		s.Weights = model.Weights{Passing: 1, Warning: 1}
	}
	s.TaggedAddresses = taggedAddresses(s)
	s.Indexes = model.Indexes{}
	checks, err := completeChecks(s, def.Checks)
	out.Checks = checks
	return &out, err
}

// taggedAddresses adds the addresses by family that follow from an IP address.
func taggedAddresses(s *model.Service) map[string]model.ServiceAddress {
	ip, err := netip.ParseAddr(s.Address)
	if err != nil {
		return s.TaggedAddresses
	}
	family := "ipv4"
	if ip.Is6() && !ip.Is4In6() {
		family = "ipv6"
	}
	out := map[string]model.ServiceAddress{}
	for _, name := range []string{"lan_" + family, "wan_" + family} {
		out[name] = model.ServiceAddress{Address: s.Address, Port: s.Port}
	}
	for name, a := range s.TaggedAddresses {
		out[name] = a
	}
	return out
}

// completeChecks gives the checks inside a service's definition their ids and
// names.
func completeChecks(s *model.Service, defs []*model.CheckDefinition) ([]*model.CheckDefinition, error) {
	if len(defs) == 0 {
		return nil, nil
	}
	out := make([]*model.CheckDefinition, 0, len(defs))
	for i, d := range defs {
		c := *d
		c.ServiceID = s.ID
		if c.ID == "" {
			c.ID = "service:" + s.ID
			if len(defs) > 1 {
				c.ID = fmt.Sprintf("service:%s:%d", s.ID, i+1)
			}
		}
		if c.Name == "" {
			c.Name = fmt.Sprintf("Service '%s' check", s.Name)
		}
		done, err := completeCheck(&c)
		if err != nil {
			return nil, err
		}
		out = append(out, done)
	}
	return out, nil
}

// completeCheck validates what this package depends on and returns a copy.
func completeCheck(def *model.CheckDefinition) (*model.CheckDefinition, error) {
	c := *def
	if c.Name == "" {
		return nil, &model.Error{Kind: model.KindInvalid, Field: "Name", Text: "Missing check name"}
	}
	if c.ID == "" {
		c.ID = c.Name
	}
	if c.ID == model.CheckSerfHealth || c.ID == model.CheckNodeMaintenance || strings.HasPrefix(c.ID, model.CheckServiceMaintenancePrefix) {
		return nil, &model.Error{Kind: model.KindInvalid, Field: "CheckID", Text: fmt.Sprintf("Check ID %q is reserved", c.ID)}
	}
	if c.DeregisterCriticalServiceAfter > 0 {
		c.DeregisterCriticalServiceAfter = max(c.DeregisterCriticalServiceAfter, minReapAfter)
	}
	return &c, nil
}
