package config

import (
	"github.com/muster-discovery/muster/internal/model"
)

// draft is a Config under way: besides it, the keys that only together with others
// make a field of it.
type draft struct {
	Config

	TLSDefaults TLSProtocol `key:"tls.defaults"`
	// The names of the time before the tls block. They stand for tls.defaults,
	// and unlike it they switch HTTPS on at ports.https.
	OldTLS              TLSProtocol `key:""`
	VerifyIncomingHTTPS bool        `key:"verify_incoming_https"`
	VerifyIncomingRPC   bool        `key:"verify_incoming_rpc"`

	DisableRemoteExec bool `key:"disable_remote_exec"`

	services []definition
	checks   []definition
}

// definition is a service or check from a file, in the shape of the HTTP API.
type definition struct {
	at   Place
	key  string
	json []byte
}

// decodeDefinitions hands the definitions to those who own their meaning.
func (d *draft) decodeDefinitions(o *Options, p *problems) {
	for _, def := range d.services {
		if o.DecodeService == nil {
			continue
		}
		svc, err := o.DecodeService(def.json)
		if err != nil {
			p.errorf(def.at, def.key, "%v", err)
			continue
		}
		d.Services = append(d.Services, svc)
	}
	for _, def := range d.checks {
		if o.DecodeCheck == nil {
			continue
		}
		chk, err := o.DecodeCheck(def.json)
		if err != nil {
			p.errorf(def.at, def.key, "%v", err)
			continue
		}
		d.NodeChecks = append(d.NodeChecks, chk)
	}
	d.uniqueServices(p)
}

// uniqueServices finds two definitions of one id, of which the agent could only
// keep the last.
func (d *draft) uniqueServices(p *problems) {
	if len(d.Services) != len(d.services) {
		return // places would not match; there are other mistakes to mend first
	}
	seen := map[string]Place{}
	for i, svc := range d.Services {
		id := serviceID(svc)
		if first, ok := seen[id]; ok {
			p.errorf(d.services[i].at, d.services[i].key, "service id %q is defined at %s, too", id, first)
			continue
		}
		seen[id] = d.services[i].at
	}
}

func serviceID(s *model.ServiceDefinition) string {
	if s.Service.ID != "" {
		return s.Service.ID
	}
	return s.Service.Name
}
