package wire

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/muster-discovery/muster/internal/model"
	"github.com/muster-discovery/muster/internal/view"
)

// The encoders make *Frame values. Fragments are JSON texts of one item.
var (
	// NodesJSON lists nodes.
	NodesJSON = list("nodes", nodeOf, nodeFilterOf, nodeFilter{})
	// HealthServiceJSON lists instances with node and checks.
	HealthServiceJSON = list("health service", healthServiceOf, healthFilterOf, healthFilter{})
	// CatalogServiceJSON lists instances as flat objects.
	CatalogServiceJSON = list("catalog service", catalogServiceOf, catalogServiceFilterOf, catalogServiceFilter{})
	// ChecksJSON lists checks.
	ChecksJSON = list("checks", checkOf, checkFilterOf, checkFilter{})

	// ServicesJSON is the object of service names with their tags.
	ServicesJSON = joined('{', '}', view.Encoder{
		Name: "services",
		Fragment: func(value any) any {
			s := value.(*model.ServiceSummary)
			return append(append(encode(s.Name), ':'), encode(tags(s.Tags))...)
		},
		FilterValue: func(value any) any { return catalogServiceFilterOf(value.(*model.Instance)) },
		FilterZero:  catalogServiceFilter{},
	})

	// NodeJSON is one node with its services as an object, null if there is none.
	NodeJSON = node("node", func(n *model.NodeServices) any {
		if n == nil {
			return nil
		}
		services := make(map[string]*serviceJSON, len(n.Services))
		for _, s := range n.Services {
			services[s.ID] = serviceOf(s)
		}
		return struct {
			Node     *nodeJSON
			Services map[string]*serviceJSON
		}{nodeOf(n.Node), services}
	})

	// NodeServicesJSON is one node with its services as a list, both null if
	// there is no such node.
	NodeServicesJSON = node("node services", func(n *model.NodeServices) any {
		var answer struct {
			Node     *nodeJSON
			Services []*serviceJSON
		}
		if n != nil {
			answer.Node = nodeOf(n.Node)
			answer.Services = make([]*serviceJSON, len(n.Services))
			for k, s := range n.Services {
				answer.Services[k] = serviceOf(s)
			}
		}
		return answer
	})

	// CARootsJSON is the set of mesh roots.
	CARootsJSON = view.NewEncoder(view.Encoder{
		Name: "CA roots",
		Assemble: func(items []*view.Item) any {
			answer := caRootsJSON{Roots: make([]*caRootJSON, len(items))}
			for k, item := range items {
				r := item.Value.(*model.CARoot)
				answer.Roots[k] = caRootOf(r)
				if r.Active {
					answer.ActiveRootID = r.ID
					answer.TrustDomain = r.ExternalTrustDomain + trustDomainSuffix
				}
			}
			return NewFrame(encode(answer))
		},
	})
)

// trustDomainSuffix completes a cluster's id to its SPIFFE trust domain.
const trustDomainSuffix = ".consul"

// Filtered are the encoders that give filters their meaning, by name: so that an
// agent can tell a server what a filter is about.
var Filtered = func() map[string]*view.Encoder {
	m := make(map[string]*view.Encoder)
	for _, e := range []*view.Encoder{NodesJSON, HealthServiceJSON, CatalogServiceJSON, ChecksJSON, ServicesJSON, NodeJSON, NodeServicesJSON} {
		m[e.Name] = e
	}
	return m
}()

// list makes the encoder of a JSON list whose elements are encoded one by one.
func list[T, J, F any](name string, shape func(T) J, filter func(T) F, zero any) *view.Encoder {
	return joined('[', ']', view.Encoder{
		Name:        name,
		Fragment:    func(value any) any { return encode(shape(value.(T))) },
		FilterValue: func(value any) any { return filter(value.(T)) },
		FilterZero:  zero,
	})
}

// node makes an encoder for the single node of a node's topic. Filters apply to
// the services in it.
func node(name string, shape func(*model.NodeServices) any) *view.Encoder {
	return view.NewEncoder(view.Encoder{
		Name: name,
		Assemble: func(items []*view.Item) any {
			var n *model.NodeServices
			if len(items) > 0 {
				n = items[0].Value.(*model.NodeServices)
			}
			return NewFrame(encode(shape(n)))
		},
		FilterValue: func(value any) any {
			if s, ok := value.(*model.Service); ok {
				return serviceFilterOf(s)
			}
			return value // a filter's own shape, from Narrow
		},
		FilterZero: serviceFilter{},
		Narrow:     narrowServices,
	})
}

func narrowServices(value any, match func(any) (bool, error)) (any, bool, error) {
	n := value.(*model.NodeServices)
	kept := &model.NodeServices{Node: n.Node, Services: make([]*model.Service, 0, len(n.Services))}
	for _, s := range n.Services {
		ok, err := match(serviceFilterOf(s))
		if err != nil {
			return nil, false, err
		}
		if ok {
			kept.Services = append(kept.Services, s)
		}
	}
	return kept, true, nil
}

func caRootOf(r *model.CARoot) *caRootJSON {
	return &caRootJSON{
		ID: r.ID, Name: r.Name, SerialNumber: r.SerialNumber, SigningKeyID: r.SigningKeyID,
		ExternalTrustDomain: r.ExternalTrustDomain,
		NotBefore:           r.NotBefore.UTC().Format(time.RFC3339), NotAfter: r.NotAfter.UTC().Format(time.RFC3339),
		RootCert: r.CertPEM, Active: r.Active, PrivateKeyType: r.KeyType, PrivateKeyBits: r.KeyBits,
		CreateIndex: r.Create, ModifyIndex: r.Modify,
	}
}

// joined completes an encoder whose frames are the items' fragments between
// brackets.
func joined(open, closing byte, e view.Encoder) *view.Encoder {
	var made *view.Encoder
	e.Assemble = func(items []*view.Item) any {
		size := 2
		for _, item := range items {
			size += len(item.Fragment(made).([]byte)) + 1
		}
		body := append(make([]byte, 0, size), open)
		for k, item := range items {
			if k > 0 {
				body = append(body, ',')
			}
			body = append(body, item.Fragment(made).([]byte)...)
		}
		return NewFrame(append(body, closing))
	}
	if open == '[' {
		e.Changes = func(upsert, remove []*view.Item) any { return changes(made, upsert, remove) }
	}
	made = view.NewEncoder(e)
	return made
}

// encode panics where encoding/json fails: the shapes here are plain data, so that
// only a mistake in this package can make it fail.
func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("wire: encode %T: %v", v, err))
	}
	return b
}
