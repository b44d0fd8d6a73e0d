package wire

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/muster-discovery/muster/internal/model"
)

// proxyConfig is the whole configuration of a mesh proxy. The struct decodes
// requests and gives the shape of catalog answers; agents answer with a shape of
// their own, see agentProxy.
type proxyConfig struct {
	EnvoyExtensions        []envoyExtension  `json:",omitempty"`
	DestinationServiceName string            `json:",omitempty"`
	DestinationServiceID   string            `json:",omitempty"`
	LocalServiceAddress    string            `json:",omitempty"`
	LocalServicePort       int               `json:",omitempty"`
	LocalServiceSocketPath string            `json:",omitempty"`
	Mode                   string            // always there in catalog answers
	Config                 map[string]any    `json:",omitempty" bexpr:"-"`
	Upstreams              []upstream        `json:",omitempty"`
	MeshGateway            meshGateway       // {} when empty
	Expose                 exposeConfig      // {} when empty
	TransparentProxy       *transparentProxy `json:",omitempty"`
	MutualTLSMode          string            `json:",omitempty"`
	AccessLogs             *accessLogs       `json:",omitempty"`
}

type envoyExtension struct {
	Name          string
	Required      bool
	Arguments     map[string]any `bexpr:"-"`
	ConsulVersion string
	EnvoyVersion  string
}

type upstream struct {
	DestinationType      string // always there in catalog answers
	DestinationPartition string `json:",omitempty"`
	DestinationNamespace string `json:",omitempty"`
	DestinationPeer      string `json:",omitempty"`
	DestinationName      string
	Datacenter           string         // always there in catalog answers
	LocalBindAddress     string         `json:",omitempty"`
	LocalBindPort        int            `json:",omitempty"`
	LocalBindSocketPath  string         `json:",omitempty"`
	LocalBindSocketMode  string         `json:",omitempty"`
	Config               map[string]any `json:",omitempty" bexpr:"-"`
	MeshGateway          meshGateway
	CentrallyConfigured  bool `json:",omitempty" bexpr:"-"`
}

type meshGateway struct {
	Mode string `json:",omitempty"`
}

type exposeConfig struct {
	Checks bool         `json:",omitempty"`
	Paths  []exposePath `json:",omitempty"`
}

type exposePath struct {
	ListenerPort    int    `json:",omitempty"`
	Path            string `json:",omitempty"`
	LocalPathPort   int    `json:",omitempty"`
	Protocol        string `json:",omitempty"`
	ParsedFromCheck bool
}

type transparentProxy struct {
	OutboundListenerPort int  `json:",omitempty"`
	DialedDirectly       bool `json:",omitempty"`
}

type accessLogs struct {
	Enabled             bool   `json:",omitempty"`
	DisableListenerLogs bool   `json:",omitempty"`
	Type                string `json:",omitempty"`
	Path                string `json:",omitempty"`
	JSONFormat          string `json:",omitempty"`
	TextFormat          string `json:",omitempty"`
}

// proxyModel is the proxy in the form the state keeps; nil for a configuration in
// which nothing is set.
func (p *proxyConfig) proxyModel() (*model.Proxy, error) {
	raw, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("encode proxy configuration: %w", err)
	}
	if string(raw) == emptyProxy {
		return nil, nil
	}
	return &model.Proxy{
		DestinationServiceName: p.DestinationServiceName,
		DestinationServiceID:   p.DestinationServiceID,
		LocalServiceAddress:    p.LocalServiceAddress,
		LocalServicePort:       p.LocalServicePort,
		Raw:                    raw,
	}, nil
}

// emptyProxy is what catalog answers say of instances without a proxy.
const emptyProxy = `{"Mode":"","MeshGateway":{},"Expose":{}}`

// proxyJSON is the proxy in catalog answers. Raw was made by proxyModel, so it has
// that shape already.
func proxyJSON(p *model.Proxy) json.RawMessage {
	if p == nil || len(p.Raw) == 0 {
		return json.RawMessage(emptyProxy)
	}
	return p.Raw
}

// proxyOf reads a kept proxy back; an empty configuration if there is none.
func proxyOf(p *model.Proxy) *proxyConfig {
	var c proxyConfig
	if p == nil || len(p.Raw) == 0 {
		return &c
	}
	dec := json.NewDecoder(bytes.NewReader(p.Raw))
	dec.UseNumber() // free-form configuration keeps its numbers as they came
	if dec.Decode(&c) != nil {
		// Raw can only be broken by a mistake of ours; the fields beside it
		// are right in any case.
		c = proxyConfig{
			DestinationServiceName: p.DestinationServiceName,
			DestinationServiceID:   p.DestinationServiceID,
			LocalServiceAddress:    p.LocalServiceAddress,
			LocalServicePort:       p.LocalServicePort,
		}
	}
	return &c
}
